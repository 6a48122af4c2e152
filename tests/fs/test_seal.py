# SPDX-License-Identifier: MIT
"""Committed content does not change (P5), whatever a writer does that still holds it open or mapped."""

import ctypes
import fcntl
import itertools
import mmap
import os

import pytest
from fenceharness import spawn
from fencelib.workspace import INLINE, check, libc, opened, pattern, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

SIZES = (100, 4096, INLINE, INLINE + 1, 100000, 3 << 20)
PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16
PROT_READ, PROT_WRITE = 1, 2

libc.mmap.restype = ctypes.c_void_p


# ---------------------------------------------------------------------------- ways to hold a file


class Held:
    """A file that stays writable: through descriptors, a mapping, or both."""

    def __init__(self, fds=(), mapped=None):
        self.fds = list(fds)
        self.mapped = mapped

    def disturb(self, size: int):
        """Changes all it can. A refusal is as good: the daemon has the right to say ESTALE to a write."""
        for fd in self.fds:
            for change in (
                lambda fd=fd: os.pwrite(fd, b"disturbed", 0),
                lambda fd=fd: os.write(fd, b"appended"),
                lambda fd=fd: libc.fallocate(
                    fd, PUNCH_HOLE | KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(size)
                ),
                lambda fd=fd: libc.fallocate(fd, ZERO_RANGE, ctypes.c_int64(0), ctypes.c_int64(size)),
                lambda fd=fd: os.ftruncate(fd, size // 2),
                lambda fd=fd: os.ftruncate(fd, size + 4096),
                lambda fd=fd: os.pwrite(fd, b"disturbed again", size // 3),
                lambda fd=fd: os.fsync(fd),
            ):
                try:
                    change()
                except OSError as error:
                    assert error.errno in (116, 5, 9), error  # ESTALE, EIO of pages that had no way, EBADF
        if self.mapped is not None:
            self.scribble(size)

    def scribble(self, size: int):
        for offset in {0, size // 2, size - 1}:
            self.mapped[offset] = 0x21
        try:
            self.mapped.flush()
        except OSError as error:
            assert error.errno in (116, 5), error

    def close(self):
        if self.mapped is not None:
            self.mapped.close()
        for fd in self.fds:
            try:
                os.close(fd)
            except OSError as error:
                assert error.errno in (116, 5), error


class RawMapping:
    """A shared mapping made for reading only, and writable by mprotect(2) later."""

    def __init__(self, fd: int, size: int):
        self.size = size
        where = libc.mmap(None, ctypes.c_size_t(size), PROT_READ, 1, fd, ctypes.c_int64(0))
        assert where != ctypes.c_void_p(-1).value
        self.where = where
        self.writable = False

    def __setitem__(self, offset: int, value: int):
        if not self.writable:
            both = PROT_READ | PROT_WRITE
            check(libc.mprotect(ctypes.c_void_p(self.where), ctypes.c_size_t(self.size), both))
            self.writable = True
        ctypes.memset(self.where + offset, value, 1)

    def flush(self):
        check(libc.msync(ctypes.c_void_p(self.where), ctypes.c_size_t(self.size), 4))

    def close(self):
        libc.munmap(ctypes.c_void_p(self.where), ctypes.c_size_t(self.size))


def by_descriptor(path, size) -> Held:
    return Held([os.open(path, os.O_RDWR)])


def by_appending_descriptor(path, size) -> Held:
    return Held([os.open(path, os.O_WRONLY | os.O_APPEND)])


def by_duplicate(path, size) -> Held:
    fd = os.open(path, os.O_RDWR)
    copy = os.dup(fd)
    os.close(fd)  # FLUSH has come, RELEASE has not
    return Held([copy])


def by_reopened(path, size) -> Held:
    with opened(path, os.O_RDWR) as fd:
        return Held([os.open(f"/proc/self/fd/{fd}", os.O_RDWR)])


def by_mapping(path, size) -> Held:
    with opened(path, os.O_RDWR) as fd:
        return Held(mapped=mmap.mmap(fd, size))


def by_dirty_mapping(path, size) -> Held:
    """Written to before, and again with the very bytes that are there: its pages are dirty, not yet written back."""
    with opened(path, os.O_RDWR) as fd:
        mapped = mmap.mmap(fd, size)
    mapped[:] = mapped[:]
    return Held(mapped=mapped)


def by_mapping_for_reading(path, size) -> Held:
    with opened(path, os.O_RDWR) as fd:
        return Held(mapped=RawMapping(fd, size))


def by_both(path, size) -> Held:
    fd = os.open(path, os.O_RDWR)
    return Held([fd], mmap.mmap(fd, size))


HOLDERS = {
    f.__name__: f
    for f in (
        by_descriptor,
        by_appending_descriptor,
        by_duplicate,
        by_reopened,
        by_mapping,
        by_dirty_mapping,
        by_mapping_for_reading,
        by_both,
    )
}


def name_of(holder: str, size: int) -> str:
    return f"{holder}-{size}"


def hold_all(top) -> dict:
    return {
        name_of(holder, size): (make(top / name_of(holder, size), size), size)
        for (holder, make), size in itertools.product(HOLDERS.items(), SIZES)
    }


def disturb_all(held: dict):
    for one, size in held.values():
        one.disturb(size)


def expect_content(mnt, store):
    """By name, by the blobs themselves, and (after a remount) by what is on the disk."""
    for _ in range(2):
        for holder, size in itertools.product(HOLDERS, SIZES):
            name = name_of(holder, size)
            assert (mnt / "w" / name).read_bytes() == pattern(size, len(holder)), name
        mnt.remount()
    blobs = sorted(path.stat().st_size for path in store.blobs())
    assert blobs == sorted(size for size in SIZES if size > INLINE for _ in HOLDERS), blobs
    for path in store.blobs():
        data = path.read_bytes()
        assert any(data == pattern(len(data), len(holder)) for holder in HOLDERS), path


def write_all(top):
    for holder, size in itertools.product(HOLDERS, SIZES):
        (top / name_of(holder, size)).write_bytes(pattern(size, len(holder)))


# -------------------------------------------------------------------------------------------- tests


@pytest.mark.timeout(120)
def test_writer_in_the_same_process(mnt, store):
    with workspace(mnt) as ws:
        write_all(ws.path)
        held = hold_all(ws.path)
        ws.commit()
        disturb_all(held)
        for one, _ in held.values():
            one.close()
    mnt.allow_log("ESTALE")
    expect_content(mnt, store)


def background(me, top):
    held = hold_all(top)
    me.pause("holding")
    disturb_all(held)
    me.pause("disturbed")
    disturb_all(held)
    for one, _ in held.values():
        one.close()


@pytest.mark.timeout(120)
def test_writer_in_a_background_child(mnt, store):
    with workspace(mnt) as ws:
        write_all(ws.path)
        child = spawn(background, ws.path).wait_mark("holding")
        ws.commit()
        child.resume()
        child.wait_mark("disturbed")
        for holder, size in itertools.product(HOLDERS, SIZES):
            name = name_of(holder, size)
            assert (mnt / "w" / name).read_bytes() == pattern(size, len(holder)), name
        child.resume()
        child.result()
    expect_content(mnt, store)


@pytest.mark.timeout(120)
def test_writer_of_changed_files(mnt, store):
    """The same with files that were committed before and got a copy for the session's first write."""
    with workspace(mnt) as ws:
        write_all(ws.path)
        ws.commit()
    with workspace(mnt) as ws:
        held = hold_all(ws.path)
        for name in held:
            os.chmod(ws / name, 0o600)
        ws.commit()
        disturb_all(held)
        for one, _ in held.values():
            one.close()
    for holder, size in itertools.product(HOLDERS, SIZES):
        name = name_of(holder, size)
        assert (mnt / "w" / name).read_bytes() == pattern(size, len(holder)), name


def scribbler(me, path, size: int):
    """Writes all the time, by write(2) and through a mapping, over the commit and beyond."""
    fd = os.open(path, os.O_RDWR)
    mapped = mmap.mmap(fd, size)
    me.mark("writing")
    for i in itertools.count():
        mapped[i * 4099 % size] = i & 0xFF
        try:
            os.pwrite(fd, pattern(512, i), i * 7919 % (size - 512))
        except OSError as error:
            assert error.errno == 116, error


@pytest.mark.parametrize("size", [INLINE, 60000, 2 << 20])
def test_writer_that_never_stops(mnt, store, size):
    """What is published is one moment of the file, with the hash that is on record for it."""
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(bytes(size))
        child = spawn(scribbler, ws / "f", size).wait_mark("writing")
        ws.commit()
        with opened(mnt / "w/f") as fd:
            first = os.pread(fd, size + 1, 0)
            digest = os.getxattr(mnt / "w/f", "user.fence.hash")
            for _ in range(20):
                assert os.pread(fd, size + 1, 0) == first
        child.kill()
        assert len(first) == size
        assert (mnt / "w/f").read_bytes() == first
    mnt.remount()
    assert (mnt / "w/f").read_bytes() == first
    assert os.getxattr(mnt / "w/f", "user.fence.hash") == digest
    with workspace(mnt) as ws:  # the same bytes have the same hash: the one on record is that of these
        (ws / "g").write_bytes(first)
        ws.commit()
    assert os.getxattr(mnt / "w/g", "user.fence.hash") == digest


@pytest.mark.parametrize("size", [1000, 60000])
def test_writes_before_the_commit_are_in_it(mnt, size):
    """Whatever way they came, and with the file still open: nothing is lost by sealing."""
    with workspace(mnt) as ws:
        fd = os.open(ws / "f", os.O_RDWR | os.O_CREAT)
        os.write(fd, pattern(size))
        mapped = mmap.mmap(fd, size)
        mapped[10:14] = b"mmap"
        os.pwrite(fd, b"pwrite", 500)
        ws.commit()
        want = bytearray(pattern(size))
        want[10:14] = b"mmap"
        want[500:506] = b"pwrite"
        assert (mnt / "w/f").read_bytes() == want
        mapped[10:14] = b"late"
        assert (mnt / "w/f").read_bytes() == want
        mapped.close()
        try:
            os.close(fd)
        except OSError as error:
            assert error.errno in (116, 5), error


def test_mapping_written_before_the_commit_without_descriptor(mnt):
    with workspace(mnt) as ws:
        for size in (1000, INLINE + 1, 200000):
            (ws / f"f{size}").write_bytes(bytes(size))
        maps = []
        for size in (1000, INLINE + 1, 200000):
            with opened(ws / f"f{size}", os.O_RDWR) as fd:
                maps.append((size, mmap.mmap(fd, size)))
        for size, mapped in maps:
            mapped[size - 5 : size] = b"dirty"
        ws.commit()
        for size, _ in maps:
            assert (mnt / "w" / f"f{size}").read_bytes() == bytes(size - 5) + b"dirty"
        for _, mapped in maps:
            mapped.close()


def test_writer_is_told(mnt):
    """Without passthrough, a write after the end of the session is refused: ESTALE."""
    with workspace(mnt) as ws:
        fd = os.open(ws / "f", os.O_RDWR | os.O_CREAT)
        os.write(fd, pattern(50000))
        ws.commit()
        try:
            os.pwrite(fd, b"late", 0)
            assert "passthrough=on" in mnt.options, "a write that nobody will see succeeded"
        except OSError as error:
            assert error.errno == 116, error
        try:
            fcntl.fcntl(fd, fcntl.F_GETFL)
            os.close(fd)
        except OSError as error:
            assert error.errno == 116, error
    assert (mnt / "w/f").read_bytes() == pattern(50000)
