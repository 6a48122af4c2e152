# SPDX-License-Identifier: MIT
"""mount.fencefs where mount(8) looks for it, and what tests ask of mounts that it made."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from fenceharness import *
from fenceharness import kernel
from fenceharness.namespace import enter_own_mounts
from fenceharness.paths import private_dir

HELPER = helper_program()
HELPERS = {Path("/sbin/mount.fencefs"): HELPER, Path("/sbin/mount.fuse.fencefs"): HELPER}


@contextlib.contextmanager
def installed(links=HELPERS):
    """mount(8) looks for helpers in /sbin only: there they are, for this test's process and what it starts.

    It sees them through overlays in a mount namespace of its own, whatever else is installed there.
    """
    enter_own_mounts()
    directories = {Path(os.path.realpath(name.parent)) for name in links}
    over = [_overlay(directory) for directory in directories]
    try:
        for name, target in links.items():
            name.unlink(missing_ok=True)
            name.symlink_to(target)
        yield
    finally:
        for directory, scratch in zip(directories, over, strict=True):
            run("umount", "--lazy", directory)
            shutil.rmtree(scratch)


def _overlay(directory: Path) -> Path:
    """@directory can be changed from now on; what was changed lies in the directory that is returned."""
    scratch = Path(tempfile.mkdtemp(prefix="over-", dir=private_dir()))
    (scratch / "upper").mkdir()
    (scratch / "work").mkdir()
    os.chmod(scratch / "upper", 0o755)
    options = f"lowerdir={directory},upperdir={scratch}/upper,workdir={scratch}/work"
    run("mount", "-t", "overlay", "overlay", "-o", options, directory)
    return scratch


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
