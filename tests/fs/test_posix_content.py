# SPDX-License-Identifier: MIT
"""Content of files in a session: written in every way there is, and the same after the commit."""

import array
import ctypes
import fcntl
import mmap
import os
import signal

import pytest
from fenceharness import spawn
from fencelib.workspace import INLINE, SIZES, check, fails, libc, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE, INSERT_RANGE, UNSHARE_RANGE = 1, 2, 8, 16, 32, 64
MIB = 1 << 20


def fallocate(fd: int, mode: int, offset: int, length: int):
    check(libc.fallocate(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(length)))


def test_sizes(mnt):
    """What is written is what is read: here, after the commit, in the next session, after a remount."""
    content = {f"f{size}": pattern(size, size) for size in SIZES}
    publish(mnt, content)
    for name, data in content.items():
        assert (mnt / "w" / name).read_bytes() == data, name
        assert os.stat(mnt / "w" / name).st_size == len(data)
    with workspace(mnt) as ws:
        for name, data in content.items():
            assert (ws / name).read_bytes() == data, name
    mnt.remount()
    for name, data in content.items():
        assert (mnt / "w" / name).read_bytes() == data, name


def test_crossing_the_inline_size(mnt):
    """Content that grows out of the database and shrinks into it again."""
    for size in (10, INLINE + 1, INLINE, 200000, 0, INLINE - 1, 65536, 1):
        with workspace(mnt) as ws:
            with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
                os.ftruncate(fd, size)
                os.pwrite(fd, pattern(size, size), 0)
            ws.commit()
        assert (mnt / "w/f").read_bytes() == pattern(size, size)


def test_writes_at_offsets(mnt):
    with workspace(mnt) as ws:
        model = bytearray()
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            for i, (offset, size) in enumerate(
                [(0, 10), (5, 10), (4090, 20), (100000, 1), (8192, 4096), (3, 0), (99990, 300), (1, 131073)]
            ):
                data = pattern(size, i)
                assert os.pwrite(fd, data, offset) == size
                if size and len(model) < offset + size:
                    model.extend(bytes(offset + size - len(model)))
                model[offset : offset + size] = data
                assert os.fstat(fd).st_size == len(model)
                assert os.pread(fd, 1 << 20, 0) == model
            assert os.pread(fd, 10, len(model)) == b""
            assert os.pread(fd, 10, len(model) + 100000) == b""
            assert os.pread(fd, 100, len(model) - 7) == model[-7:]
            with fails("EINVAL"):
                os.pwrite(fd, b"x", -1)
        ws.commit()
    assert (mnt / "w/f").read_bytes() == model


def test_vectors(mnt):
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            assert os.writev(fd, [b"abc", b"", b"d" * 5000, b"e"]) == 5004
            assert os.pwritev(fd, [b"X", b"Y"], 1) == 2
            parts = [bytearray(3), bytearray(5001)]
            assert os.preadv(fd, parts, 0) == 5004
            assert parts[0] + parts[1] == b"aXY" + b"d" * 5000 + b"e"
        ws.commit()
    assert (mnt / "w/f").read_bytes() == b"aXY" + b"d" * 5000 + b"e"


def test_truncate(mnt):
    publish(mnt, {f"f{size}": pattern(size) for size in SIZES})
    with workspace(mnt) as ws:
        for size in SIZES:
            for new in (size + 5000, size, size // 2, 20000, 0):
                data = (ws / f"f{size}").read_bytes()[:new].ljust(new, b"\0")
                if new % 2:
                    os.truncate(ws / f"f{size}", new)
                else:
                    with opened(ws / f"f{size}", os.O_WRONLY) as fd:
                        os.ftruncate(fd, new)
                        assert os.fstat(fd).st_size == new
                assert (ws / f"f{size}").read_bytes() == data
            os.truncate(ws / f"f{size}", 17)
        with fails("EISDIR"):
            os.truncate(ws.path, 0)
        with fails("ENOENT"):
            os.truncate(ws / "none", 0)
        ws.commit()
    for size in SIZES:
        assert (mnt / "w" / f"f{size}").read_bytes() == bytes(17)


def test_truncate_of_an_unmodified_file_by_name(mnt):
    """No descriptor at all: the kernel must find the session's own copy by itself."""
    for size in (100, 100000):
        publish(mnt, {"f": pattern(size)})
        for new in (0, 50, 100, 200000):
            with workspace(mnt) as ws:
                os.truncate(ws / "f", new)
                assert (ws / "f").read_bytes() == pattern(size)[:new].ljust(new, b"\0")
                assert (mnt / "w/f").read_bytes() == pattern(size)


def test_mmap_shared(mnt):
    publish(mnt, {"small": pattern(10000), "large": pattern(100000)})
    with workspace(mnt) as ws:
        (ws / "staged").write_bytes(pattern(50000))
        for name in ("small", "large", "staged"):
            content = bytearray((ws / name).read_bytes())
            with opened(ws / name, os.O_RDWR) as fd, mmap.mmap(fd, 0) as view:
                assert view[:] == content
                view[4090:4100] = content[4090:4100] = b"0123456789"
                view[-1:] = content[-1:] = b"Z"
                assert os.pread(fd, 1 << 20, 0) == content, name
                os.pwrite(fd, b"written", 100)
                content[100:107] = b"written"
                assert view[100:107] == b"written", name
                with opened(ws / name) as reader, mmap.mmap(reader, 0, prot=mmap.PROT_READ) as other:
                    view[0:1] = content[0:1] = b"A"
                    assert other[0:1] == b"A"
                view.flush()
            assert (ws / name).read_bytes() == content
        ws.commit()
        assert (mnt / "w/large").read_bytes()[4090:4100] == b"0123456789"
        assert (mnt / "w/staged").read_bytes()[-1:] == b"Z"


def test_mmap_outlives_the_descriptor(mnt):
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.ftruncate(fd, 50000)
            view = mmap.mmap(fd, 50000)
        view[30000:30005] = b"later"
        view.close()
        assert (ws / "f").read_bytes()[30000:30005] == b"later"
        ws.commit()
    assert (mnt / "w/f").read_bytes()[30000:30005] == b"later"


def test_mmap_private(mnt):
    publish(mnt, {"f": pattern(50000)})
    with workspace(mnt) as ws:
        for path in (ws / "f", mnt / "w/f"):
            with opened(path) as fd, mmap.mmap(fd, 0, access=mmap.ACCESS_COPY) as view:
                view[10:14] = b"mine"
                assert view[10:14] == b"mine"
                assert os.pread(fd, 4, 10) == pattern(50000)[10:14]
        with opened(ws / "f", os.O_RDWR) as fd, mmap.mmap(fd, 0, access=mmap.ACCESS_COPY) as view:
            view[10:14] = b"mine"
        assert (ws / "f").read_bytes() == pattern(50000)


def test_mmap_needs_the_right_descriptor(mnt):
    publish(mnt, {"f": pattern(50000)})
    with opened(mnt / "w/f") as fd, fails("EACCES"):
        mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_WRONLY) as fd, fails("EACCES"):
            mmap.mmap(fd, 50000, mmap.MAP_SHARED, mmap.PROT_READ)


def test_mmap_beyond_the_end(mnt):
    """SIGBUS, as everywhere; and zeros up to the end of the last page."""

    def touch(me, path):
        with opened(path, os.O_RDWR) as fd:
            view = mmap.mmap(fd, 8192)
            assert view[4999:5001] == b"xx"
            os.ftruncate(fd, 100)
            assert view[98:110] == b"xx" + bytes(10)
            me.mark("read the page")
            view[5000]

    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"x" * 8192)
        child = spawn(touch, ws / "f").wait_mark("read the page")
        assert child.wait() == -signal.SIGBUS


def test_mmap_grows_with_the_file(mnt):
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.ftruncate(fd, 4096)
            view = mmap.mmap(fd, 4096)
            view[0:3] = b"abc"
            os.ftruncate(fd, 3 * 4096)
            view.resize(3 * 4096)
            view[9000:9003] = b"def"
            view.close()
        ws.commit()
    data = (mnt / "w/f").read_bytes()
    assert data[0:3] == b"abc" and data[9000:9003] == b"def" and len(data) == 3 * 4096


def test_fsync(mnt):
    publish(mnt, {"f": pattern(50000)})
    with workspace(mnt) as ws:
        for flags in (os.O_RDONLY, os.O_RDWR):
            with opened(ws / "f", flags) as fd:
                os.fsync(fd)
                os.fdatasync(fd)
        with opened(ws / "g", os.O_RDWR | os.O_CREAT) as fd:
            os.write(fd, pattern(100000))
            os.fsync(fd)
            os.fdatasync(fd)
            check(libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), 7))
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            assert os.pread(fd, 100000, 0) == pattern(100000)
        with opened(ws.path, os.O_RDONLY) as fd:
            os.fsync(fd)
    with opened(mnt / "w/f") as fd:
        os.fsync(fd)
    with opened(mnt / "w") as fd:
        os.fsync(fd)


def test_fallocate(mnt):
    publish(mnt, {"f": pattern(100000)})
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR) as fd:
            model = bytearray(pattern(100000))
            fallocate(fd, 0, 90000, 30000)
            model.extend(bytes(20000))
            assert os.fstat(fd).st_size == 120000 and os.pread(fd, MIB, 0) == model
            fallocate(fd, KEEP_SIZE, 120000, MIB)
            assert os.fstat(fd).st_size == 120000
            fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 5000, 40000)
            model[5000:45000] = bytes(40000)
            assert os.pread(fd, MIB, 0) == model
            fallocate(fd, ZERO_RANGE, 60000, 10)
            model[60000:60010] = bytes(10)
            fallocate(fd, ZERO_RANGE, 119990, 100)
            model[119990:] = bytes(100)
            assert os.pread(fd, MIB, 0) == model and os.fstat(fd).st_size == 120090
            os.posix_fallocate(fd, 0, 130000)
            model.extend(bytes(130000 - len(model)))
            for mode in (COLLAPSE_RANGE, INSERT_RANGE, UNSHARE_RANGE, PUNCH_HOLE):
                with fails("EOPNOTSUPP"):
                    fallocate(fd, mode, 0, 4096)
            with fails("EINVAL"):
                fallocate(fd, 0, 0, 0)
        with opened(ws / "f") as fd, fails("EBADF"):
            fallocate(fd, 0, 0, 10)
        ws.commit()
    assert (mnt / "w/f").read_bytes() == model


def test_punching_frees_space(mnt, store):
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.write(fd, pattern(4 * MIB))
            full = os.fstat(fd).st_blocks
            fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 3 * MIB)
            assert os.fstat(fd).st_blocks < full // 2
        ws.commit()
    assert sum(path.stat().st_blocks for path in store.blobs()) < full // 2
    assert (mnt / "w/f").read_bytes() == bytes(3 * MIB) + pattern(4 * MIB)[3 * MIB :]


def test_holes_are_found(mnt):
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.ftruncate(fd, 4 * MIB)
            os.pwrite(fd, b"x" * 4096, MIB)
            os.pwrite(fd, b"y" * 4096, 3 * MIB)
        for path in (ws / "f", mnt / "w/f"):
            with opened(path) as fd:
                assert os.lseek(fd, 0, os.SEEK_DATA) == MIB
                assert os.lseek(fd, MIB, os.SEEK_DATA) == MIB
                assert os.lseek(fd, MIB, os.SEEK_HOLE) == MIB + 4096
                assert os.lseek(fd, 2 * MIB, os.SEEK_DATA) == 3 * MIB
                assert os.lseek(fd, 3 * MIB + 4096, os.SEEK_HOLE) == 3 * MIB + 4096
                with fails("ENXIO"):
                    os.lseek(fd, 3 * MIB + 4096, os.SEEK_DATA)
                with fails("ENXIO"):
                    os.lseek(fd, 4 * MIB, os.SEEK_HOLE)
                assert os.lseek(fd, 0, os.SEEK_END) == 4 * MIB
                with fails("EINVAL"):
                    os.lseek(fd, -1, os.SEEK_SET)
            if path == ws / "f":
                ws.commit()


def test_holes_of_small_files(mnt):
    """Content in the database is one piece of data."""
    publish(mnt, {"f": pattern(1000), "empty": b""})
    for path in (mnt / "w/f",):
        with opened(path) as fd:
            assert os.lseek(fd, 10, os.SEEK_DATA) == 10
            assert os.lseek(fd, 10, os.SEEK_HOLE) == 1000
            for whence in (os.SEEK_DATA, os.SEEK_HOLE):
                with fails("ENXIO"):
                    os.lseek(fd, 1000, whence)
    with opened(mnt / "w/empty") as fd, fails("ENXIO"):
        os.lseek(fd, 0, os.SEEK_DATA)


def test_copy_file_range(mnt):
    publish(mnt, {"small": pattern(1000), "large": pattern(300000)})
    with workspace(mnt) as ws:
        (ws / "staged").write_bytes(pattern(40000, 3))
        model = {}
        for name in ("small", "large", "staged"):
            content = (ws / name).read_bytes()
            with opened(ws / name) as source, opened(ws / f"copy-{name}", os.O_RDWR | os.O_CREAT) as fd:
                done = 0
                while step := os.copy_file_range(source, fd, 1 << 20, done, done + 100):
                    done += step
                assert done == len(content)
                assert os.pread(fd, MIB, 0) == bytes(100) + content, name
                assert os.copy_file_range(source, fd, 50, 10, 20) == 50
                model[name] = bytearray(bytes(100) + content)
                model[name][20:70] = content[10:60]
                assert os.pread(fd, MIB, 0) == model[name]
                with fails("EBADF"):
                    os.copy_file_range(fd, source, 10, 0, 0)
        with opened(ws / "staged", os.O_RDWR) as fd:
            assert os.copy_file_range(fd, fd, 1000, 0, 39500) == 1000
            with fails("EINVAL"):
                os.copy_file_range(fd, fd, 1000, 0, 500)
            assert os.pread(fd, MIB, 0) == pattern(40000, 3)[:39500] + pattern(40000, 3)[:1000]
        with opened(mnt / "w/large") as source, opened(ws / "live", os.O_WRONLY | os.O_CREAT) as fd:
            assert os.copy_file_range(source, fd, 300000, 0, 0) == 300000
        ws.commit()
    for name, content in model.items():
        assert (mnt / "w" / f"copy-{name}").read_bytes() == content
    assert (mnt / "w/live").read_bytes() == pattern(300000)


def test_sendfile_and_splice(mnt, tmp):
    (tmp / "source").write_bytes(pattern(200000))
    with workspace(mnt) as ws:
        with opened(tmp / "source") as source, opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            done = 0
            while step := os.sendfile(fd, source, done, 200000):
                done += step
        read_end, write_end = os.pipe()
        with opened(ws / "f") as fd, opened(ws / "g", os.O_WRONLY | os.O_CREAT) as to:
            done = 0
            while step := os.splice(fd, write_end, 65536, offset_src=done):
                left = step
                while left:
                    left -= os.splice(read_end, to, left, offset_dst=done + step - left)
                done += step
        os.close(read_end)
        os.close(write_end)
        ws.commit()
    assert (mnt / "w/f").read_bytes() == (mnt / "w/g").read_bytes() == pattern(200000)


def test_ioctl_and_availability(mnt):
    """FIONREAD as the kernel answers it; an unknown ioctl has the errno that programs expect of it."""
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"x" * 100)
        with opened(ws / "f") as fd:
            count = array.array("i", [0])
            fcntl.ioctl(fd, 0x541B, count)
            assert count[0] == 100
            with fails("ENOTTY"):
                fcntl.ioctl(fd, 0x5401, bytearray(64))  # TCGETS: isatty(3)
            assert not os.isatty(fd)


def test_big_file(mnt):
    """Beyond 4 GiB, sparse."""
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.pwrite(fd, b"start", 0)
            os.pwrite(fd, b"middle", 5 << 30)
            os.ftruncate(fd, 6 << 30)
            assert os.pread(fd, 6, 5 << 30) == b"middle"
        assert os.stat(ws / "f").st_size == 6 << 30
        assert os.stat(ws / "f").st_blocks < 1000


def test_mtime_follows_writes(mnt):
    publish(mnt, {"small": pattern(100), "large": pattern(100000)})
    with workspace(mnt) as ws:
        (ws / "staged").write_bytes(pattern(50000))
        for name in ("small", "large", "staged"):
            for change in ("write", "truncate", "mmap", "punch"):
                with opened(ws / name, os.O_RDWR) as fd:
                    os.utime(ws / name, ns=(10**18, 10**18))
                    assert os.stat(ws / name).st_mtime_ns == 10**18
                    if change == "write":
                        os.pwrite(fd, b"x", 0)
                    elif change == "truncate":
                        os.ftruncate(fd, os.fstat(fd).st_size - 1)
                    elif change == "punch":
                        fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 10)
                    else:
                        with mmap.mmap(fd, 0) as view:
                            view[0:1] = b"y"
                            view.flush()
                assert os.stat(ws / name).st_mtime_ns > 10**18, (name, change)
