# SPDX-License-Identifier: MIT
"""A session as a place to work in, and how a call is expected to fail. No tests here."""

import contextlib
import ctypes
import errno
import os
import random
from pathlib import Path

from fenceharness import Ctl, Mount

# Most content is kept in the database up to INLINE bytes, and in a file of its own above.
INLINE = 16384
SIZES = (0, 1, 4095, 4096, 4097, INLINE - 1, INLINE, INLINE + 1, 131072, 1000001)

NOISE = random.Random(1).randbytes(65521)

libc = ctypes.CDLL(None, use_errno=True)


class Workspace:
    """An open session: `ws / "name"` is a path beneath its claimed path."""

    def __init__(self, mnt: Mount, path: str, ctl: Ctl, reply):
        self.mnt = mnt
        self.ctl = ctl
        self.ident = reply["session"]
        self.view = mnt.session(self.ident)
        self.path = self.view / path
        self.live = mnt / path

    def __truediv__(self, name) -> Path:
        return self.path / os.fsdecode(name)

    def __fspath__(self) -> str:
        return str(self.path)

    def commit(self, **fields):
        return self.ctl.expect_ok("commit", session=self.ident, **fields)

    def abort(self):
        return self.ctl.expect_ok("abort", session=self.ident)


@contextlib.contextmanager
def workspace(mnt: Mount, path: str = "w/", token: int = 1, **fields):
    """with workspace(mnt) as ws: a session on @path (a directory where it ends in "/"); it ends with the block."""
    with mnt.ctl() as ctl:
        reply = ctl.expect_ok("open", path=path, token=token, **fields)
        yield Workspace(mnt, path.rstrip("/"), ctl, reply)


def publish(mnt: Mount, files: dict, path: str = "w/", token: int = 1):
    """Commits @files, {name: bytes, str (a symlink's target) or None (a directory)}, beneath @path."""
    with workspace(mnt, path, token) as ws:
        for name, content in files.items():
            if content is None:
                (ws / name).mkdir()
            elif isinstance(content, str):
                (ws / name).symlink_to(content)
            else:
                (ws / name).write_bytes(content)
        ws.commit()


@contextlib.contextmanager
def fails(name: str):
    """with fails("EROFS"): the block must raise OSError with just that errno."""
    try:
        yield
    except OSError as error:
        assert error.errno == getattr(errno, name), f"failed with {error}, expected {name}"
    else:
        raise AssertionError(f"succeeded, expected {name}")


def check(result: int) -> int:
    """The result of a call of libc, or OSError."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def pattern(size: int, seed: int = 0) -> bytes:
    """@size bytes that differ from place to place and from seed to seed."""
    start = seed * 4099 % len(NOISE)
    return (NOISE * ((start + size) // len(NOISE) + 1))[start : start + size]


@contextlib.contextmanager
def opened(path, flags: int = os.O_RDONLY, mode: int = 0o666, dir_fd: int | None = None):
    """with opened(path, os.O_RDWR) as fd: …"""
    fd = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)
