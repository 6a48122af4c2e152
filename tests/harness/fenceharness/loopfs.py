# SPDX-License-Identifier: MIT
"""A small file system of its own, loop-mounted: to fill up, to shut down, to lose power."""

import contextlib
import itertools
import os
from pathlib import Path

from . import kernel
from .paths import private_dir
from .process import run, wait_until

_numbers = itertools.count(1)

MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
}


class LoopFs:
    """A mounted image; see loop_fs()."""

    def __init__(self, fstype: str, size: str, options: str, mkfs):
        base = private_dir() / f"loop{next(_numbers)}"
        self.fstype = fstype
        self.options = options
        self.image = base.with_suffix(".img")
        self.path = base
        self.device = None
        self.path.mkdir()
        run("truncate", "-s", size, self.image)
        run(*MKFS[fstype], *mkfs, self.image)
        self.device = run("losetup", "--find", "--show", self.image).stdout.strip()
        self.mount()

    def __truediv__(self, name) -> Path:
        return self.path / name

    def __fspath__(self) -> str:
        return str(self.path)

    def mount(self):
        options = ["-o", self.options] if self.options else []
        run("mount", "-t", self.fstype, *options, self.device, self.path)
        self.path.chmod(0o755)

    def unmount(self):
        """Back when it is unmounted everywhere: a mount namespace that began meanwhile has a copy for a moment."""
        run("umount", self.path)
        known = Path("/sys/fs") / self.fstype / Path(self.device).name
        wait_until(lambda: not known.exists(), f"the end of the file system on {self.device}")

    def remount(self):
        """Unmounts and mounts again: after shutdown(), the journal is replayed."""
        self.unmount()
        self.mount()

    def shutdown(self, flush: bool = False):
        """Power loss: what is not on the disk now never gets there. @flush: the log still does."""
        run("xfs_io", "-x", "-c", "shutdown -f" if flush else "shutdown", self.path)

    def check(self):
        """The file system's own check, of the unmounted image."""
        run(*(["e2fsck", "-f", "-n"] if self.fstype == "ext4" else ["xfs_repair", "-n"]), self.device)

    def free_bytes(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def fill(self, leave: int = 0):
        """Takes all space but about @leave bytes; free() gives it back."""
        with open(self.path / ".fill", "ab") as file, contextlib.suppress(OSError):
            step = 16 << 20
            while step >= 4096:
                size = os.fstat(file.fileno()).st_size
                if self.free_bytes() - step < leave:
                    step //= 2
                    continue
                try:
                    os.posix_fallocate(file.fileno(), size, step)
                except OSError:
                    step //= 2
            if not leave:
                while os.write(file.fileno(), b"\0" * 512):
                    os.fsync(file.fileno())

    def free(self):
        (self.path / ".fill").unlink(missing_ok=True)
        run("sync", "-f", self.path)

    def close(self):
        for mount in reversed(kernel.mounts_beneath(self.path)):
            kernel.unmount_lazily(mount)
        if self.device:
            run("losetup", "--detach", self.device, rc=None)
            self.device = None


@contextlib.contextmanager
def loop_fs(fstype: str, size: str = "512M", options: str = "", mkfs=()):
    """with loop_fs("ext4", "64M") as disk: Store(disk / "store")"""
    disk = LoopFs(fstype, size, options, mkfs)
    try:
        yield disk
    finally:
        disk.close()
