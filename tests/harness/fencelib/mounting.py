# SPDX-License-Identifier: MIT
"""mount.fencefs where mount(8) looks for it, and what tests ask of mounts that it made."""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel

HELPER = helper_program()
HELPERS = {Path("/sbin/mount.fencefs"): HELPER, Path("/sbin/mount.fuse.fencefs"): HELPER}


@contextlib.contextmanager
def installed(links=HELPERS):
    """mount(8) looks for helpers in /sbin only. One test at a time, of all files."""
    lock = os.open("/sbin", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in {**HELPERS, **links}:
            if os.path.lexists(name):
                pytest.skip(f"{name} is there already")
        try:
            for name, target in links.items():
                name.symlink_to(target)
            yield
        finally:
            for name in links:
                name.unlink(missing_ok=True)
    finally:
        os.close(lock)


def new_store(tmp, name="store"):
    fence("init", tmp / name)
    (tmp / "mnt").mkdir(exist_ok=True)
    return tmp / name, tmp / "mnt"


def daemon_pid(store) -> int:
    """Who serves @store."""
    return int((Path(store) / "lock").read_text().split()[0])


def guard_of(pid: int) -> int:
    (found,) = [child for child in kernel.children(pid) if kernel.command(child) == "fence-guard"]
    return found


def is_dead(point) -> bool:
    """statfs always asks the daemon; stat may be answered from a cache."""
    try:
        os.statvfs(point)
        return False
    except OSError as error:
        return error.errno == errno.ENOTCONN


def kill_daemon(store, point):
    """kill -9; back when the mount is dead."""
    os.kill(daemon_pid(store), signal.SIGKILL)
    wait_until(lambda: is_dead(point), "the mount to be dead")


def escaped(path) -> str:
    """As fstab(5) has it."""
    text = str(path).replace("\\", "\\134")
    return text.replace(" ", "\\040").replace("\t", "\\011").replace("\n", "\\012")


def write_fstab(tmp, *lines) -> Path:
    """@lines: (spec, directory, type, options)."""
    tab = tmp / "fstab"
    tab.write_text("".join(f"{escaped(s)} {escaped(d)} {t} {o} 0 0\n" for s, d, t, o in lines))
    return tab


def mount(*args, rc=0, **more) -> subprocess.CompletedProcess:
    return run("mount", *args, rc=rc, **more)
