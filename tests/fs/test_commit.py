# SPDX-License-Identifier: MIT
"""A commit as readers see it: whole (P3), at once after `ok`, and never under an open file (P4)."""

import contextlib
import ctypes
import mmap
import os
import random
import zlib

import pytest
from fenceharness import spawn
from fencelib.workspace import INLINE, check, fails, libc, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

FILES = 20
GENERATION = 12
# Of 20 files, two are too large for the database.
SIZES = (40, 3000, 500, INLINE, 100, 2000, 60, INLINE + 1, 1000, 5000)


# ------------------------------------------------------------------------- 1,000 commits of 20 files


def marked(number: int, file: int) -> bytes:
    """The content of @file in commit @number: it says its number, its length and its checksum."""
    size = SIZES[(number + file) % len(SIZES)]
    body = pattern(size - 32, number + file)
    return b"%08d %08d %08x      " % (number, size, zlib.crc32(body)) + body


def number_in(data: bytes) -> int:
    """The commit that wrote @data, which must be whole."""
    number, size, digest = data[:8], data[9:17], data[18:26]
    assert len(data) >= 32 and len(data) == int(size), f"short: {len(data)} of {size}"
    assert zlib.crc32(data[32:]) == int(digest, 16), "mixed content"
    return int(number)


def names_of(number: int) -> set[bytes]:
    """What commit @number leaves in the directory of names: more than one getdents(2) returns."""
    return {b"%08d-%02d-" % (number, i) + b"x" * 150 for i in range(GENERATION)}


def list_in_steps(path) -> set[bytes]:
    """The names in @path, by getdents64 with a small buffer."""
    names = set()
    buffer = ctypes.create_string_buffer(600)
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        while size := check(libc.syscall(217, fd, buffer, len(buffer))):
            at = 0
            while at < size:
                length = int.from_bytes(buffer.raw[at + 16 : at + 18], "little")
                name = buffer.raw[at + 19 : at + length].split(b"\0", 1)[0]
                if name not in (b".", b".."):
                    assert name not in names
                    names.add(name)
                at += length
    return names


def read_all(fd: int) -> bytes:
    data = b""
    while part := os.read(fd, 1 << 20):
        data += part
    return data


def read_forever(me, top, stop_fd: int, seed: int):
    """Markers read one after the other never go back, in whatever order the files are read."""
    os.nice(10)  # or two readers leave the writer little of two cores
    rng = random.Random(seed)
    latest = reads = changes = 0
    os.set_blocking(stop_fd, False)
    while True:
        order = list(range(FILES))
        rng.shuffle(order)
        for file in order:
            with opened(top / f"f{file:02}") as fd:
                data = read_all(fd)
                assert os.fstat(fd).st_size == len(data)
            number = number_in(data)
            assert number >= latest, f"{number} after {latest}, in file {file}"
            changes += number > latest
            latest = number
            reads += 1
        if seed % 2:
            names = list_in_steps(top / "names")
            number = int(min(names)[:8])
            assert names == names_of(number), f"a listing of more than one revision: {sorted(names)}"
            assert number >= latest, f"listing of {number} after {latest}"
            latest = number
        with contextlib.suppress(BlockingIOError):
            if os.read(stop_fd, 1) == b"":
                return reads, changes, latest


def write_commit(ctl, mnt, number: int):
    reply = ctl.expect_ok("open", path="w/", token=1)
    top = mnt / reply["path"]
    for file in range(FILES):
        with opened(top / f"f{file:02}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
            os.write(fd, marked(number, file))
    with contextlib.suppress(FileExistsError):
        os.mkdir(top / "names")
    for old, new in zip(sorted(names_of(number - 1)), sorted(names_of(number))):
        if number:
            os.rename(os.fsencode(top / "names") + b"/" + old, os.fsencode(top / "names") + b"/" + new)
        else:
            os.close(os.open(os.fsencode(top / "names") + b"/" + new, os.O_CREAT | os.O_WRONLY))
    ctl.expect_ok("commit", session=reply["session"])


@pytest.mark.timeout(300)
def test_readers_beside_a_thousand_commits(mnt):
    commits = 1000 if "passthrough=on" in mnt.options else 300
    with mnt.ctl() as ctl:
        write_commit(ctl, mnt, 0)
        read_end, write_end = os.pipe()
        readers = [
            spawn(read_forever, mnt / "w", read_end, seed, keep_fds=[read_end]) for seed in range(2)
        ]
        for number in range(1, commits):
            write_commit(ctl, mnt, number)
            if number % 50 == 0:  # and `ok` means that everybody sees it
                assert number_in((mnt / "w/f07").read_bytes()) == number
                assert list_in_steps(mnt / "w/names") == names_of(number)
        os.close(write_end)
        for reader in readers:
            reads, changes, latest = reader.result()
            print(f"{reads} reads, {changes} revisions seen, last {latest}")
            assert changes > 20, "the reader has not run beside the commits"


# --------------------------------------------------------------------------------- what is open stays


@pytest.mark.parametrize("size", [100, INLINE, INLINE + 1, 300000])
def test_open_files_keep_their_version(mnt, size):
    """Descriptors and mappings of several versions, through commits that write, move and remove."""
    held = []
    for number in range(6):
        publish(mnt, {"f": pattern(size + number, number)})
        fd = os.open(mnt / "w/f", os.O_RDONLY)
        unread = os.open(mnt / "w/f", os.O_RDONLY)
        held.append((number, fd, unread, mmap.mmap(fd, 0, prot=mmap.PROT_READ)))
    with workspace(mnt) as ws:
        os.rename(ws / "f", ws / "g")
        ws.commit()
    with workspace(mnt) as ws:
        (ws / "g").unlink()
        ws.commit()
    with fails("ENOENT"):
        os.stat(mnt / "w/g")
    for number, fd, unread, mapped in held:
        want = pattern(size + number, number)
        assert os.pread(fd, 400000, 0) == want
        assert os.pread(unread, 400000, 0) == want
        assert mapped[:] == want
        assert os.fstat(fd).st_size == len(want)
        with opened(f"/proc/self/fd/{fd}") as again:
            assert os.pread(again, 400000, 0) == want
        mapped.close()
        os.close(fd)
        os.close(unread)


def test_reading_goes_on_over_a_commit(mnt):
    """One file, read in small steps with a commit between any two of them."""
    publish(mnt, {"f": pattern(100000, 0)})
    with opened(mnt / "w/f") as fd:
        data = b""
        for number in range(1, 21):
            data += os.read(fd, 5000)
            publish(mnt, {"f": pattern(100000, number)})
        assert data == pattern(100000, 0)


def test_open_file_in_a_session_keeps_its_version(mnt):
    """A session reads what others commit, by name; what it has open stays."""
    publish(mnt, {"f": pattern(20000, 0)}, "other/")
    with workspace(mnt) as ws:
        with opened(ws.view / "other/f") as fd:
            publish(mnt, {"f": pattern(20000, 1)}, "other/")
            assert os.pread(fd, 30000, 0) == pattern(20000, 0)
            assert (ws.view / "other/f").read_bytes() == pattern(20000, 1)


def test_open_directory_follows_commits(mnt):
    """A directory is no file: what is opened beneath it is what is there now."""
    publish(mnt, {"d": None, "d/f": b"0"})
    with opened(mnt / "w/d", os.O_PATH) as fd:
        for number in range(1, 10):
            publish(mnt, {"d/f": b"%d" % number}, "w")
            with opened("f", dir_fd=fd) as file:
                assert os.read(file, 10) == b"%d" % number


# --------------------------------------------------------------------------------- what is new is seen


def follow(me, top, steps: int):
    """Another process, with everything cached; it looks right after it was told of an `ok`."""
    seen = []
    for number in range(steps):
        me.pause("ready")
        with opened(top / "f") as fd:
            data = os.read(fd, 100)
        found = os.stat(top / "f")
        seen.append((number, data, found.st_size, os.readlink(top / "l"), os.path.exists(top / f"n{number}")))
        assert not os.path.exists(top / f"n{number + 1}")  # cached: it is not there
        assert sorted(os.listdir(top)) == sorted(["f", "l"] + [f"n{i}" for i in range(number + 1)])
        assert os.getxattr(top / "f", "user.number") == b"%d" % number
    return seen


def test_commit_is_seen_at_once(mnt):
    steps = 200
    child = spawn(follow, mnt / "w", steps)
    for number in range(steps):
        child.wait_mark("ready")
        with workspace(mnt) as ws:
            (ws / "f").write_bytes(b"%d" % number * (1 + number % 7))
            os.setxattr(ws / "f", "user.number", b"%d" % number)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(ws / "l")
            os.symlink(f"target {number}", ws / "l")
            (ws / f"n{number}").write_bytes(b"")
            ws.commit()
        child.resume()
        assert (mnt / "w/f").read_bytes() == b"%d" % number * (1 + number % 7)
        assert os.readlink(mnt / "w/l") == f"target {number}"
    for number, data, size, target, exists in child.result():
        want = b"%d" % number * (1 + number % 7)
        assert (data, size, target, exists) == (want, len(want), f"target {number}", True)


def look_for(me, paths: list):
    """Caches that nothing is at @paths, then looks again when told; then the other way round."""
    for path in paths:
        for _ in range(3):
            with fails("ENOENT"):
                os.stat(path)
    me.pause("absent")
    for path in paths:
        assert os.lstat(path)
    me.pause("present")
    for path in paths:
        with fails("ENOENT"):
            os.stat(path)


def test_negative_lookups(mnt):
    """Cached without limit, in every view, and dropped when the name appears."""
    publish(mnt, {"d": None})
    with workspace(mnt, "unrelated/") as other, workspace(mnt, "w", 5) as own:
        tops = [mnt.path, other.view, own.view]
        names = ["w/f", "w/d/f", "w/new", "w/new/f"]
        paths = [top / name for top in tops for name in names]
        child = spawn(look_for, paths).wait_mark("absent")
        for path in paths:
            with fails("ENOENT"):
                os.stat(path)
        publish(mnt, {"f": b"", "d/f": b"", "new": None, "new/f": b""}, "w", 5)
        child.resume()
        child.wait_mark("present")
        for path in paths:
            assert os.stat(path)
        with workspace(mnt, "w", 5) as ws:
            for name in ("f", "d/f", "new/f"):
                os.unlink(ws / name)
            os.rmdir(ws / "new")
            ws.commit()
        child.resume()
        child.result()
        for path in paths:
            with fails("ENOENT"):
                os.stat(path)


def test_kinds_change(mnt):
    """A name that is a file, then a directory, then a symlink, each cached before it changes."""
    for step in range(9):
        with workspace(mnt) as ws:
            if os.path.islink(ws / "x") or os.path.isfile(ws / "x"):
                os.unlink(ws / "x")
            elif os.path.isdir(ws / "x"):
                os.unlink(ws / "x/inside")
                os.rmdir(ws / "x")
            if step % 3 == 0:
                (ws / "x").write_bytes(b"file")
            elif step % 3 == 1:
                (ws / "x").mkdir()
                (ws / "x/inside").write_bytes(b"inside")
            else:
                (ws / "x").symlink_to("target")
            ws.commit()
        if step % 3 == 0:
            assert (mnt / "w/x").read_bytes() == b"file"
            with fails("ENOTDIR"):
                os.stat(mnt / "w/x/inside")
        elif step % 3 == 1:
            assert (mnt / "w/x/inside").read_bytes() == b"inside"
            assert os.listdir(mnt / "w/x") == ["inside"]
        else:
            assert os.readlink(mnt / "w/x") == "target"
            with fails("ENOENT"):
                os.stat(mnt / "w/x/inside")


def test_moved_directories(mnt):
    """A directory moves with all that is cached beneath it, and open directories go along."""
    publish(mnt, {"a": None, "a/b": None, "a/b/f": b"f", "z": None})
    with opened(mnt / "w/a/b", os.O_PATH) as fd:
        with fails("ENOENT"):
            os.stat(mnt / "w/z/b/f")
        assert os.stat(mnt / "w/a/b/f")
        with workspace(mnt) as ws:
            os.rename(ws / "a/b", ws / "z/b")
            ws.commit()
        assert (mnt / "w/z/b/f").read_bytes() == b"f"
        with fails("ENOENT"):
            os.stat(mnt / "w/a/b/f")
        assert os.stat("f", dir_fd=fd).st_size == 1
        assert os.readlink(f"/proc/self/fd/{fd}") == str(mnt / "w/z/b")
        with workspace(mnt) as ws:
            (ws / "z/b/f").write_bytes(b"changed")
            ws.commit()
        with opened("f", dir_fd=fd) as file:
            assert os.read(file, 10) == b"changed"


def test_attributes_are_seen_at_once(mnt):
    publish(mnt, {"f": b"f", "d": None})
    for step in range(50):
        with workspace(mnt) as ws:
            for name in ("f", "d"):
                os.chmod(ws / name, 0o700 + step)
                os.chown(ws / name, step, step + 1)
                os.utime(ws / name, ns=(step, step))
            ws.commit()
        for name in ("f", "d"):
            found = os.stat(mnt / "w" / name)
            assert found.st_mode & 0o777 == 0o700 + step, (step, name)
            assert (found.st_uid, found.st_gid, found.st_mtime_ns) == (step, step + 1, step)


def open_forever(me, path, stop_fd: int):
    """Each open gets one whole version, and never one that is older than one seen before."""
    latest = count = 0
    os.set_blocking(stop_fd, False)
    while True:
        with opened(path) as fd, mmap.mmap(fd, 0, prot=mmap.PROT_READ) as mapped:
            data = read_all(fd)
            assert mapped[:] == data
        number = number_in(data)
        assert number >= latest, f"{number} after {latest}"
        latest = number
        count += 1
        with contextlib.suppress(BlockingIOError):
            if os.read(stop_fd, 1) == b"":
                return count


def test_every_open_is_one_version(mnt):
    publish(mnt, {"f": marked(0, 0)})
    read_end, write_end = os.pipe()
    readers = [spawn(open_forever, mnt / "w/f", read_end, keep_fds=[read_end]) for _ in range(2)]
    for number in range(1, 300):
        publish(mnt, {"f": marked(number, 0)})
        assert number_in((mnt / "w/f").read_bytes()) == number
    os.close(write_end)
    for reader in readers:
        assert reader.result() > 50
