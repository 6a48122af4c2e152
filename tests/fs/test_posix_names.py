# SPDX-License-Identifier: MIT
"""Names in a session: made, moved, removed, listed, odd ones and very many."""

import ctypes
import os
import socket
import stat

import pytest
from fenceharness import run
from fencelib.workspace import check, fails, libc, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
AT_FDCWD = -100


def rename2(source, target, flags: int):
    check(libc.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flags))


def tree(top) -> dict:
    """{path: content, link target or None for a directory} of all beneath @top."""
    found = {}
    for directory, names, files in os.walk(os.fsencode(top)):
        for name in names + files:
            path = os.path.join(directory, name)
            key = os.path.relpath(path, os.fsencode(top))
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[key] = os.fsdecode(os.readlink(path))
            elif stat.S_ISDIR(mode):
                found[key] = None
            else:
                with open(path, "rb") as file:
                    found[key] = file.read()
    return found


def test_mkdir_rmdir(mnt):
    with workspace(mnt) as ws:
        (ws / "d").mkdir()
        (ws / "f").write_bytes(b"")
        with fails("EEXIST"):
            os.mkdir(ws / "d")
        with fails("EEXIST"):
            os.mkdir(ws / "f")
        with fails("ENOENT"):
            os.mkdir(ws / "no/d")
        with fails("ENOTDIR"):
            os.mkdir(ws / "f/d")
        (ws / "d/x").write_bytes(b"")
        with fails("ENOTEMPTY"):
            os.rmdir(ws / "d")
        with fails("ENOTDIR"):
            os.rmdir(ws / "f")
        with fails("EISDIR"):
            os.unlink(ws / "d")
        with fails("ENOENT"):
            os.rmdir(ws / "none")
        with fails("EINVAL"):
            os.rmdir(str(ws / "d") + "/.")
        (ws / "d/x").unlink()
        (ws / "d").rmdir()
        with fails("ENOENT"):
            os.stat(ws / "d")
        (ws / "d").mkdir()  # again, of the same name
        assert os.listdir(ws / "d") == []
        ws.commit()
    assert tree(mnt / "w") == {b"d": None, b"f": b""}


def test_remove_committed(mnt):
    publish(mnt, {"d": None, "d/a": b"a", "d/e": None, "f": b"f", "l": "f"})
    with workspace(mnt) as ws:
        with fails("ENOTEMPTY"):
            os.rmdir(ws / "d")
        os.unlink(ws / "d/a")
        with fails("ENOENT"):
            os.unlink(ws / "d/a")
        with fails("ENOTEMPTY"):
            os.rmdir(ws / "d")
        os.rmdir(ws / "d/e")
        os.rmdir(ws / "d")
        os.unlink(ws / "l")
        assert tree(ws) == {b"f": b"f"}
        (ws / "d").write_bytes(b"a file now")
        (ws / "l").mkdir()
        ws.commit()
    assert tree(mnt / "w") == {b"d": b"a file now", b"f": b"f", b"l": None}


def test_rename_over(mnt):
    publish(mnt, {"old": pattern(30000), "target": b"replaced", "d": None})
    with workspace(mnt) as ws:
        (ws / "new").write_bytes(b"new")
        with opened(ws / "target") as fd:
            os.rename(ws / "new", ws / "target")
            assert os.pread(fd, 10, 0) == b"replaced"
        assert (ws / "target").read_bytes() == b"new"
        os.rename(ws / "old", ws / "target")
        assert (ws / "target").read_bytes() == pattern(30000)
        os.rename(ws / "target", ws / "d/moved")
        with fails("ENOENT"):
            os.rename(ws / "target", ws / "x")
        os.rename(ws / "d/moved", ws / "d/moved")
        assert tree(ws) == {b"d": None, b"d/moved": pattern(30000)}
        ws.commit()
    assert tree(mnt / "w") == {b"d": None, b"d/moved": pattern(30000)}


def test_rename_kinds(mnt):
    publish(mnt, {"d": None, "d/x": b"", "f": b"f"})
    with workspace(mnt) as ws:
        (ws / "e").mkdir()
        (ws / "l").symlink_to("f")
        with fails("EISDIR"):
            os.rename(ws / "f", ws / "e")
        with fails("ENOTDIR"):
            os.rename(ws / "e", ws / "f")
        with fails("ENOTDIR"):
            os.rename(ws / "e", ws / "l")
        with fails("ENOTEMPTY"):
            os.rename(ws / "e", ws / "d")
        with fails("EINVAL"):
            os.rename(ws / "d", ws / "d/sub")
        with fails("ENOTEMPTY"):
            os.rename(ws / "d/x", ws / "d")
        os.rename(ws / "d", ws / "e")  # over an empty directory
        assert tree(ws) == {b"e": None, b"e/x": b"", b"f": b"f", b"l": "f"}
        os.rename(ws / "l", ws / "f")  # the link itself
        assert os.readlink(ws / "f") == "f"
        ws.commit()
    assert tree(mnt / "w") == {b"e": None, b"e/x": b"", b"f": "f"}


def test_rename_noreplace(mnt):
    publish(mnt, {"a": b"a", "b": b"b"})
    with workspace(mnt) as ws:
        (ws / "c").write_bytes(b"c")
        for target in ("b", "c", "a"):
            with fails("EEXIST"):
                rename2(ws / "a", ws / target, NOREPLACE)
        rename2(ws / "a", ws / "d", NOREPLACE)
        rename2(ws / "c", ws / "a", NOREPLACE)
        with fails("EINVAL"):
            rename2(ws / "a", ws / "z", WHITEOUT)
        ws.commit()
    assert tree(mnt / "w") == {b"a": b"c", b"b": b"b", b"d": b"a"}


def test_rename_exchange(mnt):
    publish(mnt, {"a": b"a", "d": None, "d/x": b"x", "d/s": None, "d/s/y": b"y"})
    with workspace(mnt) as ws:
        (ws / "b").write_bytes(pattern(20000))
        rename2(ws / "a", ws / "b", EXCHANGE)
        assert (ws / "a").read_bytes() == pattern(20000) and (ws / "b").read_bytes() == b"a"
        rename2(ws / "a", ws / "d", EXCHANGE)  # a file and a directory
        assert (ws / "d").read_bytes() == pattern(20000) and (ws / "a/s/y").read_bytes() == b"y"
        with fails("ENOENT"):
            rename2(ws / "a", ws / "none", EXCHANGE)
        with fails("EINVAL"):
            rename2(ws / "a", ws / "a/s", EXCHANGE)
        with fails("EINVAL"):
            rename2(ws / "a/s", ws / "a", EXCHANGE)
        rename2(ws / "a/s/y", ws / "b", EXCHANGE)  # across directories
        ws.commit()
    assert tree(mnt / "w") == {
        b"a": None,
        b"a/x": b"x",
        b"a/s": None,
        b"a/s/y": b"a",
        b"b": b"y",
        b"d": pattern(20000),
    }


def test_rename_directories(mnt):
    publish(mnt, {"a": None, "a/b": None, "a/b/c": None, "a/b/c/f": b"f", "a/g": pattern(40000), "z": None})
    with workspace(mnt) as ws:
        with opened(ws / "a/b/c/f", os.O_RDWR) as fd, opened(ws / "a/b") as directory:
            os.rename(ws / "a/b", ws / "z/q")
            os.pwrite(fd, b"F", 0)
            assert (ws / "z/q/c/f").read_bytes() == b"F"
            assert os.listdir(directory) == ["c"]
            os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
            assert sorted(os.listdir(ws / "z/q")) == ["c", "new"]
        os.rename(ws / "z/q/c", ws / "a/c")
        os.rename(ws / "a", ws / "z/q/a")
        with fails("EINVAL"):
            os.rename(ws / "z", ws / "z/q/a/c/z")
        (ws / "a").mkdir()
        (ws / "a/fresh").write_bytes(b"fresh")
        os.rename(ws / "z/q/a/g", ws / "a/g")
        want = {
            b"a": None,
            b"a/fresh": b"fresh",
            b"a/g": pattern(40000),
            b"z": None,
            b"z/q": None,
            b"z/q/a": None,
            b"z/q/a/c": None,
            b"z/q/a/c/f": b"F",
            b"z/q/new": b"",
        }
        assert tree(ws) == want
        ws.commit()
    assert tree(mnt / "w") == want
    mnt.remount()
    assert tree(mnt / "w") == want


def test_rename_round_trip_is_no_change(mnt):
    publish(mnt, {"d": None, "d/f": b"f", "g": b"g"})
    with workspace(mnt) as ws:
        for name in ("d", "g"):
            os.rename(ws / name, ws / "elsewhere")
            os.rename(ws / "elsewhere", ws / name)
        ws.commit()
    assert tree(mnt / "w") == {b"d": None, b"d/f": b"f", b"g": b"g"}


def test_swap_names_of_committed_files(mnt):
    publish(mnt, {"a": b"a", "b": pattern(20000)})
    with workspace(mnt) as ws:
        os.rename(ws / "a", ws / "t")
        os.rename(ws / "b", ws / "a")
        os.rename(ws / "t", ws / "b")
        ws.commit()
    assert tree(mnt / "w") == {b"a": pattern(20000), b"b": b"a"}


def test_rename_between_trees(mnt):
    publish(mnt, {"f": b"f"}, "w/")
    with workspace(mnt, "x/", 1) as one, workspace(mnt, "y/", 2) as two:
        (one / "f").write_bytes(b"x")
        with fails("EXDEV"):
            os.rename(one / "f", two / "f")
        with fails("EROFS"):
            os.rename(one / "f", mnt / "w/g")
        with fails("EROFS"):
            os.rename(mnt / "w/f", one / "g")
        run("mv", one / "f", two / "f")  # which copies then
        assert (two / "f").read_bytes() == b"x" and not os.path.lexists(one / "f")


def test_symlinks(mnt):
    long_target = "t" * 4095
    with workspace(mnt) as ws:
        for name, target in (("a", "x"), ("b", "/etc/passwd"), ("c", long_target), ("d", "../w/a b\n\udcff")):
            os.symlink(target, ws / name)
            assert os.readlink(ws / name) == target
            assert os.lstat(ws / name).st_size == len(os.fsencode(target))
        with fails("ENAMETOOLONG"):
            os.symlink("t" * 4096, ws / "e")
        with fails("ENOENT"):
            os.symlink("", ws / "e")
        with fails("EEXIST"):
            os.symlink("x", ws / "a")
        with fails("EINVAL"):
            os.readlink(ws.path)
        os.lchown(ws / "a", 12, 34)
        os.utime(ws / "a", ns=(5, 123456789), follow_symlinks=False)
        ws.commit()
    assert os.readlink(mnt / "w/c") == long_target
    assert os.readlink(mnt / "w/d") == "../w/a b\n\udcff"
    found = os.lstat(mnt / "w/a")
    assert (found.st_uid, found.st_gid, found.st_mtime_ns) == (12, 34, 123456789)
    with workspace(mnt) as ws:
        os.unlink(ws / "a")
        os.symlink("elsewhere", ws / "a")
        assert os.readlink(ws / "a") == "elsewhere"
        ws.commit()
    assert os.readlink(mnt / "w/a") == "elsewhere"


def test_hard_links_and_special_files_are_refused(mnt):
    """EPERM, as on file systems that have none: programs copy then."""
    publish(mnt, {"f": b"f"})
    with workspace(mnt) as ws:
        (ws / "g").write_bytes(b"g")
        for name in ("f", "g"):
            with fails("EPERM"):
                os.link(ws / name, ws / "link")
        for kind in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK):
            with fails("EPERM"):
                os.mknod(ws / "node", kind | 0o600, os.makedev(1, 3))
        with fails("EPERM"):
            os.mkfifo(ws / "fifo")
        with socket.socket(socket.AF_UNIX) as sock, opened(ws.path, os.O_PATH) as fd, fails("EPERM"):
            sock.bind(f"/proc/self/fd/{fd}/sock")
        os.mknod(ws / "plain", stat.S_IFREG | 0o600)
        with fails("EEXIST"):
            os.mknod(ws / "plain", stat.S_IFREG | 0o600)
        assert sorted(os.listdir(ws)) == ["f", "g", "plain"]
        ws.commit()
    assert (mnt / "w/plain").read_bytes() == b""


def test_odd_names(mnt):
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    names += [b"n" * 255, b"...", b"  ", b"a\nb", b"\xff\xfe" * 100, b"-rf", "äöü€".encode() * 20, b"%41", b"\\\\"]
    with workspace(mnt) as ws:
        top = os.fsencode(ws.path)
        for i, name in enumerate(names):
            path = os.path.join(top, name)
            if i % 3 == 0:
                os.mkdir(path)
            elif i % 3 == 1:
                os.symlink(name, path)
            else:
                with open(path, "wb") as file:
                    file.write(name)
        assert sorted(os.listdir(top)) == sorted(names)
        for name in (b"n" * 256, b"x" * 1000):
            with fails("ENAMETOOLONG"):
                os.open(os.path.join(top, name), os.O_CREAT | os.O_WRONLY)
            with fails("ENAMETOOLONG"):
                os.stat(os.path.join(top, name))
        before = tree(ws)
        ws.commit()
    assert tree(mnt / "w") == before and len(before) == len(names)
    with workspace(mnt) as ws:
        for name in names:
            path = os.path.join(os.fsencode(ws.path), name)
            (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.unlink)(path)
        assert os.listdir(ws) == []
        ws.commit()
    assert os.listdir(mnt / "w") == []


def test_long_paths(mnt):
    """Up to 4096 bytes from the root of the mount, reached step by step; one more: ENAMETOOLONG."""
    part = "d" * 255
    depth = 15  # w/ and 15 * 256 = 3842 bytes
    with workspace(mnt) as ws:
        fd = os.open(ws.path, os.O_PATH)
        for _ in range(depth):
            os.mkdir(part, dir_fd=fd)
            below = os.open(part, os.O_PATH, dir_fd=fd)
            os.close(fd)
            fd = below
        room = 4096 - len("w/") - depth * 256
        assert room == 254
        with opened("f" * room, os.O_CREAT | os.O_WRONLY, dir_fd=fd) as file:
            os.write(file, b"deep")
        with fails("ENAMETOOLONG"):
            os.open("g" * (room + 1), os.O_CREAT | os.O_WRONLY, dir_fd=fd)
        with fails("ENAMETOOLONG"):
            os.mkdir("g" * (room + 1), dir_fd=fd)
        os.rename("f" * room, "h" * room, src_dir_fd=fd, dst_dir_fd=fd)
        with fails("ENAMETOOLONG"):
            os.rename("h" * room, "h" * (room + 1), src_dir_fd=fd, dst_dir_fd=fd)
        os.close(fd)
        ws.commit()
    fd = os.open(mnt / "w", os.O_PATH)
    for _ in range(depth):
        below = os.open(part, os.O_PATH, dir_fd=fd)
        os.close(fd)
        fd = below
    with opened("h" * room, dir_fd=fd) as file:
        assert os.read(file, 10) == b"deep"
    os.close(fd)


@pytest.mark.timeout(120)
def test_big_directory(mnt):
    """20,000 names: each listed once, removed while it is being listed, here and after the commit."""
    count = 20000
    names = [f"name-{i:05}" for i in range(count)]
    with workspace(mnt) as ws:
        (ws / "big").mkdir()
        with opened(ws / "big", os.O_PATH) as fd:
            for name in names:
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        listed = os.listdir(ws / "big")
        assert len(listed) == count and sorted(listed) == names
        ws.commit()
    listed = os.listdir(mnt / "w/big")
    assert len(listed) == count and sorted(listed) == names
    assert sum(1 for entry in os.scandir(mnt / "w/big") if entry.is_file()) == count
    with workspace(mnt) as ws:
        with opened(ws / "big", os.O_PATH) as fd:
            for name in names[::2]:
                os.unlink(name, dir_fd=fd)
            for i in range(5000):
                os.close(os.open(f"new-{i}", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        want = sorted(names[1::2] + [f"new-{i}" for i in range(5000)])
        assert sorted(os.listdir(ws / "big")) == want
        ws.commit()
        assert sorted(os.listdir(mnt / "w/big")) == want
    with workspace(mnt) as ws:
        run("rm", "-rf", ws / "big")
        assert os.listdir(ws) == []
        ws.commit()
    assert os.listdir(mnt / "w") == []


class Dirent(ctypes.Structure):
    _fields_ = [
        ("ino", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("length", ctypes.c_uint16),
        ("type", ctypes.c_uint8),
        ("name", ctypes.c_char * 256),
    ]


class Directory:
    """opendir(3) and its friends, which Python does not have."""

    def __init__(self, path):
        libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
        libc.telldir.restype = ctypes.c_long
        self.handle = ctypes.c_void_p(libc.opendir(os.fsencode(path)))
        assert self.handle

    def read(self):
        found = libc.readdir(self.handle)
        return ctypes.cast(found, ctypes.POINTER(Dirent)).contents.name if found else None

    def tell(self) -> int:
        return libc.telldir(self.handle)

    def seek(self, where: int):
        libc.seekdir(self.handle, ctypes.c_long(where))

    def rewind(self):
        libc.rewinddir(self.handle)

    def close(self):
        libc.closedir(self.handle)


def check_seekdir(path, count: int):
    directory = Directory(path)
    places = []
    while True:
        where = directory.tell()
        name = directory.read()
        places.append((where, name))
        if name is None:
            break
    assert len(places) == count + 3  # with ".", ".." and the end
    for i in [0, 1, 2, 3, 500, 17, count // 2, count + 1, count + 2, 5]:
        where, name = places[i]
        directory.seek(where)
        assert directory.read() == name, (i, name)
        if i + 1 < len(places) and name is not None:
            assert directory.read() == places[i + 1][1]
    directory.rewind()
    assert sum(1 for _ in iter(directory.read, None)) == count + 2
    directory.close()


def test_seekdir(mnt):
    publish(mnt, {f"f{i}": b"" for i in range(2000)})
    check_seekdir(mnt / "w", 2000)
    with workspace(mnt) as ws:
        for i in range(1000):
            (ws / f"g{i}").write_bytes(b"")
        for i in range(500):
            (ws / f"f{i}").unlink()
        check_seekdir(ws.path, 2500)


def test_listing_goes_on_over_changes(mnt):
    """Names that stay are listed once, whatever is made and removed meanwhile."""
    with workspace(mnt) as ws:
        for i in range(3000):
            (ws / f"stay{i}").write_bytes(b"")
        for i in range(1000):
            (ws / f"go{i}").write_bytes(b"")
        directory = Directory(ws.path)
        seen = []
        while (name := directory.read()) is not None:
            seen.append(name)
            if len(seen) % 4 == 0:
                (ws / f"go{len(seen) // 4}").unlink(missing_ok=True)
                (ws / f"come{len(seen)}").write_bytes(b"")
        directory.close()
        stayed = [name for name in seen if name.startswith(b"stay")]
        assert len(stayed) == 3000 and len(set(seen)) == len(seen)


def test_dot_and_dotdot(mnt):
    publish(mnt, {"d": None, "d/e": None})
    with workspace(mnt) as ws:
        for top in (ws.path, mnt / "w"):
            assert os.stat(top / "d/.").st_ino == os.stat(top / "d").st_ino
            assert os.stat(top / "d/e/..").st_ino == os.stat(top / "d").st_ino
            for entry in os.scandir(top / "d"):
                assert entry.inode() == os.stat(top / "d" / entry.name).st_ino
        os.rename(ws / "d/e", ws / "e")
        assert os.stat(str(ws / "e") + "/..").st_ino == os.stat(ws.path).st_ino


def test_current_directory(mnt):
    """A program lives in the session's tree: relative names, getcwd, a removed current directory."""
    with workspace(mnt) as ws:
        (ws / "d").mkdir()
        here = os.getcwd()
        os.chdir(ws / "d")
        try:
            assert os.getcwd() == str(ws / "d")
            with open("f", "w", encoding="ascii") as file:
                file.write("relative")
            os.rename("f", "../g")
            assert (ws / "g").read_text() == "relative"
            os.rename(ws / "d", ws / "e")
            assert os.getcwd() == str(ws / "e")
            os.rmdir(ws / "e")
            with fails("ENOENT"):
                os.open("f", os.O_CREAT | os.O_WRONLY)
        finally:
            os.chdir(here)


def test_types_in_listings(mnt):
    publish(mnt, {"d": None, "f": b"", "l": "f"})
    with workspace(mnt) as ws:
        (ws / "d2").mkdir()
        (ws / "f2").write_bytes(b"")
        (ws / "l2").symlink_to("f")
        for top in (ws.path, mnt / "w"):
            for entry in os.scandir(top):
                kind = entry.name[0]
                assert entry.is_dir(follow_symlinks=False) == (kind == "d")
                assert entry.is_symlink() == (kind == "l")
                assert entry.is_file(follow_symlinks=False) == (kind == "f")


def test_many_levels(mnt):
    with workspace(mnt) as ws:
        run("sh", "-c", "for i in $(seq 300); do mkdir d && cd -P d || exit 1; echo $i > f; done", cwd=ws.path)
        run("cp", "-a", "d", "e", cwd=ws.path)
        os.rename(ws / "d/d/d", ws / "x")
        ws.commit()
    assert len(run("find", mnt / "w", "-name", "f").stdout.split()) == 600
    with workspace(mnt) as ws:
        run("rm", "-rf", ws / "d", ws / "e", ws / "x")
        ws.commit()
    assert os.listdir(mnt / "w") == []
