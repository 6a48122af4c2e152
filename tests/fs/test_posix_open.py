# SPDX-License-Identifier: MIT
"""open(2) in a session: every flag, what an open descriptor keeps, reopening."""

import mmap
import os
import stat

import pytest
from fenceharness import run, spawn
from fencelib.workspace import INLINE, fails, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

ACCESS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)
ONCE_THERE = (0, 100, INLINE, INLINE + 1, 300000)


def test_mode_is_the_one_asked_for(mnt, ctl):
    features = ctl.expect_ok("hello").get("features", "").split(",")
    assert ("passthrough" in features) == ("passthrough=on" in mnt.options), features


def test_create(mnt):
    with workspace(mnt) as ws:
        with fails("ENOENT"):
            os.open(ws / "f", os.O_RDWR)
        with opened(ws / "f", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o640) as fd:
            assert os.write(fd, b"abc") == 3
        assert stat.S_IMODE(os.stat(ws / "f").st_mode) == 0o640
        with fails("EEXIST"):
            os.open(ws / "f", os.O_CREAT | os.O_WRONLY | os.O_EXCL)
        with opened(ws / "f", os.O_CREAT | os.O_RDONLY, 0o777) as fd:
            assert os.read(fd, 10) == b"abc"
        assert stat.S_IMODE(os.stat(ws / "f").st_mode) == 0o640
        with opened(ws / "new", os.O_CREAT | os.O_RDONLY, 0o600) as fd:
            assert os.read(fd, 10) == b""
        with fails("ENOENT"):
            os.open(ws / "no/f", os.O_CREAT | os.O_WRONLY)
        with fails("ENOTDIR"):
            os.open(ws / "f/g", os.O_CREAT | os.O_WRONLY)


def test_create_obeys_the_umask(mnt):
    old = os.umask(0o027)
    try:
        with workspace(mnt) as ws:
            os.close(os.open(ws / "f", os.O_CREAT | os.O_WRONLY, 0o666))
            os.mkdir(ws / "d", 0o777)
            assert stat.S_IMODE(os.stat(ws / "f").st_mode) == 0o640
            assert stat.S_IMODE(os.stat(ws / "d").st_mode) == 0o750
            ws.commit()
        assert stat.S_IMODE(os.stat(mnt / "w/f").st_mode) == 0o640
        assert stat.S_IMODE(os.stat(mnt / "w/d").st_mode) == 0o750
    finally:
        os.umask(old)


def test_create_without_permission_to_write(mnt):
    """The descriptor that creates a file may write it, whatever its mode."""
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_CREAT | os.O_RDWR, 0o400) as fd:
            assert os.write(fd, b"abc") == 3
        ws.commit()
    assert (mnt / "w/f").read_bytes() == b"abc"


def test_create_through_symlinks(mnt):
    with workspace(mnt) as ws:
        (ws / "link").symlink_to("target")
        with fails("EEXIST"):
            os.open(ws / "link", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        with fails("ELOOP"):
            os.open(ws / "link", os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY)
        (ws / "link").write_bytes(b"x")
        assert (ws / "target").read_bytes() == b"x"
        (ws / "self").symlink_to("self")
        with fails("ELOOP"):
            os.open(ws / "self", os.O_RDONLY)


def test_access_modes(mnt):
    publish(mnt, {"small": b"abc", "large": pattern(100000)})
    with workspace(mnt) as ws:
        for name in ("small", "large", "staged"):
            (ws / "staged").write_bytes(b"abc")
            with opened(ws / name, os.O_RDONLY) as fd, fails("EBADF"):
                os.write(fd, b"x")
            with opened(ws / name, os.O_RDONLY) as fd, fails("EINVAL"):
                os.ftruncate(fd, 0)
            with opened(ws / name, os.O_WRONLY) as fd:
                with fails("EBADF"):
                    os.read(fd, 1)
                assert os.write(fd, b"X") == 1
            with opened(ws / name, os.O_RDWR) as fd:
                assert os.read(fd, 3) == b"X" + pattern(100000)[1:3] if name == "large" else b"Xbc"
                assert os.pwrite(fd, b"Y", 0) == 1
                assert os.pread(fd, 1, 0) == b"Y"


def test_truncating_open(mnt):
    files = {f"{mode}-{size}": pattern(size) for mode in ACCESS for size in ONCE_THERE}
    publish(mnt, files)
    with workspace(mnt) as ws:
        for mode in ACCESS:
            for size in ONCE_THERE:
                path = ws / f"{mode}-{size}"
                for _ in range(2):  # unmodified; staged
                    os.close(os.open(path, mode | os.O_TRUNC))
                    assert os.stat(path).st_size == 0, path
                    assert path.read_bytes() == b""
                    path.write_bytes(b"again")
                with opened(path, mode | os.O_TRUNC | os.O_CREAT) as fd:
                    assert os.fstat(fd).st_size == 0
        ws.commit()
    for name in files:
        assert (mnt / "w" / name).read_bytes() == b"", name


def test_truncating_open_moves_mtime(mnt):
    publish(mnt, {"f": pattern(20000)})
    with workspace(mnt) as ws:
        os.utime(ws / "f", ns=(0, 0))
        os.close(os.open(ws / "f", os.O_WRONLY | os.O_TRUNC))
        assert os.stat(ws / "f").st_mtime > 0


def test_append(mnt):
    for size in (0, 10, 20000):
        publish(mnt, {f"f{size}": pattern(size)})
    with workspace(mnt) as ws:
        for size in (0, 10, 20000):
            with opened(ws / f"f{size}", os.O_RDWR | os.O_APPEND) as fd:
                os.lseek(fd, 0, os.SEEK_SET)
                assert os.write(fd, b"one") == 3
                assert os.lseek(fd, 0, os.SEEK_CUR) == size + 3
                os.lseek(fd, 0, os.SEEK_SET)
                assert os.write(fd, b"two") == 3
                assert os.read(fd, 9) == b""
            assert (ws / f"f{size}").read_bytes() == pattern(size) + b"onetwo"
        ws.commit()
    assert (mnt / "w/f20000").read_bytes() == pattern(20000) + b"onetwo"


def test_append_from_two_processes(mnt):
    """Each record is whole and none is lost."""

    def append(_me, path, letter):
        with opened(path, os.O_WRONLY | os.O_APPEND) as fd:
            for _ in range(500):
                os.write(fd, letter * 100)

    with workspace(mnt) as ws:
        (ws / "log").write_bytes(b"")
        children = [spawn(append, ws / "log", letter) for letter in (b"a", b"b")]
        for child in children:
            child.result()
        data = (ws / "log").read_bytes()
        records = [data[i : i + 100] for i in range(0, len(data), 100)]
        assert sorted(set(records)) == [b"a" * 100, b"b" * 100] and len(records) == 1000


def test_directories_and_kinds(mnt):
    with workspace(mnt) as ws:
        (ws / "d").mkdir()
        (ws / "f").write_bytes(b"abc")
        (ws / "l").symlink_to("f")
        os.close(os.open(ws / "d", os.O_RDONLY | os.O_DIRECTORY))
        with fails("ENOTDIR"):
            os.open(ws / "f", os.O_RDONLY | os.O_DIRECTORY)
        for mode in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT):
            with fails("EISDIR"):
                os.open(ws / "d", mode)
        with opened(ws / "d", os.O_RDONLY) as fd, fails("EISDIR"):
            os.read(fd, 1)
        with fails("ELOOP"):
            os.open(ws / "l", os.O_RDONLY | os.O_NOFOLLOW)
        with opened(ws / "l", os.O_PATH | os.O_NOFOLLOW) as fd:
            assert stat.S_ISLNK(os.fstat(fd).st_mode)
        with opened(ws / "f", os.O_PATH) as fd:
            with fails("EBADF"):
                os.read(fd, 1)
            assert os.fstat(fd).st_size == 3
        with opened(ws / "d", os.O_PATH) as fd:
            os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        assert os.listdir(ws / "d") == ["x"]


def test_flags_that_change_nothing(mnt):
    flags = (os.O_SYNC, os.O_DSYNC, os.O_NOATIME, os.O_NONBLOCK, os.O_NOCTTY, os.O_CLOEXEC, os.O_LARGEFILE)
    for flag in flags:
        with workspace(mnt) as ws:
            with opened(ws / "f", os.O_RDWR | os.O_CREAT | os.O_TRUNC | flag) as fd:
                os.write(fd, pattern(5000))
                assert os.pread(fd, 5000, 0) == pattern(5000)
            ws.commit()
        with opened(mnt / "w/f", os.O_RDONLY | flag) as fd:
            assert os.read(fd, 6000) == pattern(5000)


def test_direct_io(mnt):
    size = 1 << 20
    with workspace(mnt) as ws:
        buffer = mmap.mmap(-1, size)
        buffer[:] = pattern(size)
        with opened(ws / "f", os.O_RDWR | os.O_CREAT | os.O_DIRECT) as fd:
            assert os.writev(fd, [buffer]) == size
            back = mmap.mmap(-1, size)
            assert os.preadv(fd, [back], 0) == size
            assert back[:] == buffer[:]
        assert (ws / "f").read_bytes() == pattern(size)
        ws.commit()
    with opened(mnt / "w/f", os.O_RDONLY | os.O_DIRECT) as fd:
        back = mmap.mmap(-1, size)
        assert os.preadv(fd, [back], 0) == size
        assert back[:] == pattern(size)


def test_tmpfile_is_refused(mnt):
    """So that programs take a name of their own instead."""
    with workspace(mnt) as ws:
        ws.path.mkdir(exist_ok=True)
        for directory in (ws.path, mnt.path):
            with fails("EOPNOTSUPP"):
                os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)


def test_unlinked_file_stays_open(mnt):
    publish(mnt, {"small": b"abc", "large": pattern(100000)})
    with workspace(mnt) as ws:
        (ws / "staged").write_bytes(b"abc")
        for name, content in (("small", b"abc"), ("large", pattern(100000)), ("staged", b"abc")):
            with opened(ws / name, os.O_RDWR) as fd, opened(ws / name) as reader:
                os.unlink(ws / name)
                with fails("ENOENT"):
                    os.stat(ws / name)
                assert os.pread(fd, 200000, 0) == content
                os.pwrite(fd, b"more", len(content))
                os.ftruncate(fd, len(content) + 2)
                assert os.pread(reader, 200000, 0) == content + b"mo"
                os.fchmod(fd, 0o600)
                os.utime(fd, ns=(5, 7))
                found = os.fstat(fd)
                assert found.st_size == len(content) + 2 and found.st_mtime_ns == 7
                (ws / name).write_bytes(b"another")
                assert os.pread(fd, 200000, 0) == content + b"mo"
            assert (ws / name).read_bytes() == b"another"
        ws.commit()
    assert (mnt / "w/large").read_bytes() == b"another"


def test_unlinked_unmodified_file_stays_readable(mnt):
    publish(mnt, {"f": pattern(50000)})
    with workspace(mnt) as ws:
        with opened(ws / "f") as fd:
            os.unlink(ws / "f")
            assert os.pread(fd, 60000, 0) == pattern(50000)
            assert os.fstat(fd).st_size == 50000


def test_reopen_through_proc(mnt):
    publish(mnt, {"once": pattern(30000)})
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as fd:
            os.write(fd, b"hello")
            with opened(f"/proc/self/fd/{fd}", os.O_RDWR) as again:
                assert os.read(again, 10) == b"hello"
                os.write(again, b" there")
            os.unlink(ws / "f")
            with opened(f"/proc/self/fd/{fd}", os.O_RDWR) as again:
                assert os.read(again, 20) == b"hello there"
                os.write(again, b"!")
            with opened(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC) as again:
                os.write(again, b"new")
            assert os.pread(fd, 20, 0) == b"new"
        with opened(ws / "once") as fd, opened(f"/proc/self/fd/{fd}") as again:
            assert os.read(again, 40000) == pattern(30000)
        with opened(ws / "d", os.O_RDWR | os.O_CREAT) as fd, opened(ws / "d", os.O_PATH) as where:
            with opened(f"/proc/self/fd/{where}", os.O_WRONLY) as again:
                os.write(again, b"by O_PATH")
            assert os.read(fd, 20) == b"by O_PATH"


def test_reopen_unmodified_for_writing_through_proc(mnt):
    """
    The first write gives a file a node of its own, which only its name leads to: a descriptor of the
    unmodified file stands for that version, and says so.
    """
    publish(mnt, {"f": pattern(30000)})
    with workspace(mnt) as ws:
        with opened(ws / "f") as fd:
            with fails("ESTALE"):
                os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
            assert os.pread(fd, 40000, 0) == pattern(30000)
        (ws / "f").write_bytes(b"by name")
        assert (ws / "f").read_bytes() == b"by name"


def test_reader_keeps_content_over_first_write(mnt):
    """P4 within a session: what was opened before the session's first write does not change."""
    files = {f"f{size}": pattern(size) for size in ONCE_THERE[1:]}
    publish(mnt, files)
    with workspace(mnt) as ws:
        for name, content in files.items():
            with opened(ws / name) as old:
                before = mmap.mmap(old, 0, mmap.MAP_SHARED, mmap.PROT_READ)
                number = os.fstat(old).st_ino
                with opened(ws / name, os.O_RDWR) as fd:
                    os.pwrite(fd, b"changed", 0)
                    os.pwrite(fd, b"tail", len(content))
                    assert os.pread(old, 400000, 0) == content, name
                    assert before[:] == content
                    with opened(ws / name) as new:
                        assert os.pread(new, 7, 0) == b"changed"
                    assert os.stat(ws / name).st_ino == number
                assert os.pread(old, 400000, 0) == content
                assert os.fstat(old).st_size == len(content)
        ws.commit()
    for name, content in files.items():
        want = (b"changed" + content[7:]) + b"tail"
        assert (mnt / "w" / name).read_bytes() == want


def test_staged_file_has_one_content(mnt):
    """After the first write all descriptors of a name see each other's writes at once."""
    with workspace(mnt) as ws:
        with opened(ws / "f", os.O_RDWR | os.O_CREAT) as a, opened(ws / "f", os.O_RDWR) as b:
            with opened(ws / "f") as reader:
                for i in range(100):
                    os.pwrite(a if i % 2 else b, b"%04d" % i, i * 4)
                    assert os.pread(reader, 4, i * 4) == b"%04d" % i
                    assert os.fstat(b).st_size == i * 4 + 4


def test_programs_run(mnt):
    for where in ("session", "live"):
        with workspace(mnt) as ws:
            ws.path.mkdir(exist_ok=True)
            run("cp", "/bin/true", ws / "program")
            (ws / "script").write_text(f"#!/bin/sh\n{ws / 'program'} && echo {where}\n")
            os.chmod(ws / "script", 0o755)
            assert run(ws / "script").stdout == f"{where}\n"
            run(ws / "program")
            os.chmod(ws / "script", 0o644)
            with fails("EACCES"):
                os.execv(ws / "script", ["script"])
            ws.commit()
        run(mnt / "w/program")
