# SPDX-License-Identifier: MIT
"""Attributes, extended attributes, locks and statfs."""

import contextlib
import fcntl
import os
import stat
import struct
import time

import pytest
from fenceharness import spawn, run
from fencelib.workspace import fails, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

USER = 1234


def test_chmod(mnt):
    publish(mnt, {"f": pattern(20000), "d": None})
    with workspace(mnt) as ws:
        (ws / "g").write_bytes(b"")
        for name in ("f", "d", "g"):
            for mode in (0o777, 0o400, 0o000, 0o7777, 0o4755, 0o2750, 0o1777, 0o640):
                os.chmod(ws / name, mode)
                assert stat.S_IMODE(os.stat(ws / name).st_mode) == mode, (name, oct(mode))
        with opened(ws / "f") as fd:  # a descriptor for reading will do, and stays of this version
            os.fchmod(fd, 0o4711)
            assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o4711
            assert os.pread(fd, 30000, 0) == pattern(20000)
        os.chmod(ws / "d", 0o3775)
        with fails("ENOENT"):
            os.chmod(ws / "none", 0o600)
        ws.commit()
    assert stat.S_IMODE(os.stat(mnt / "w/f").st_mode) == 0o4711
    assert stat.S_IMODE(os.stat(mnt / "w/d").st_mode) == 0o3775
    assert (mnt / "w/f").read_bytes() == pattern(20000)


def test_chown(mnt):
    publish(mnt, {"f": b"f", "d": None})
    with workspace(mnt) as ws:
        (ws / "g").write_bytes(b"")
        for name in ("f", "d", "g"):
            os.chown(ws / name, 12, 34)
            os.chown(ws / name, -1, 56)
            os.chown(ws / name, 78, -1)
            found = os.stat(ws / name)
            assert (found.st_uid, found.st_gid) == (78, 56)
        os.chown(ws / "g", 0xFFFFFFF0, 0xFFFFFFF1)
        ws.commit()
    for name, owner in (("f", (78, 56)), ("d", (78, 56)), ("g", (0xFFFFFFF0, 0xFFFFFFF1))):
        found = os.stat(mnt / "w" / name)
        assert (found.st_uid, found.st_gid) == owner


def test_root_directory_of_the_store(mnt):
    """With "." claimed, the root itself takes a mode and an owner; its own view stays private."""
    with workspace(mnt, ".") as ws:
        os.chmod(ws.view, 0o1777)
        ws.commit()
    assert stat.S_IMODE(os.stat(mnt.path).st_mode) == 0o1777
    with workspace(mnt, ".") as ws:
        assert stat.S_IMODE(os.stat(ws.view).st_mode) & 0o077 == 0


def unprivileged(mnt, function):
    """function(me, path) as another user, in a session that it opened on a directory of its own."""
    with workspace(mnt, "u/") as ws:
        os.chown(ws.path, USER, USER)
        os.chmod(ws.path, 0o755)
        ws.commit()

    def work(me):
        with mnt.ctl() as ctl:
            reply = ctl.expect_ok("open", path="u", token=1)
            function(me, mnt / reply["path"])

    spawn(work, uid=USER, groups=[77]).result()


def test_unprivileged_owner(mnt):
    def work(_me, top):
        path = top / "f"
        path.write_bytes(b"f")
        found = os.stat(path)
        assert (found.st_uid, found.st_gid) == (USER, USER)
        os.chmod(path, 0o600)
        os.chown(path, -1, 77)
        with fails("EPERM"):
            os.chown(path, 0, -1)
        with fails("EPERM"):
            os.chown(path, -1, 88)
        os.chmod(path, 0o000)
        with fails("EACCES"):
            os.open(path, os.O_RDONLY)
        os.utime(path, ns=(1, 2))
        (top / "d").mkdir()
        os.chmod(top / "d", 0o500)
        with fails("EACCES"):
            os.open(top / "d/x", os.O_CREAT | os.O_WRONLY)
        os.chmod(top / "d", 0o2770)
        os.chown(top / "d", -1, 77)
        (top / "d/x").write_bytes(b"")
        (top / "d/e").mkdir()
        assert os.stat(top / "d/x").st_gid == 77 and os.stat(top / "d/e").st_gid == 77
        assert os.stat(top / "d/e").st_mode & stat.S_ISGID

    unprivileged(mnt, work)


def test_writing_clears_privilege_bits(mnt):
    def work(_me, top):
        for mode, left in ((0o6755, 0o755), (0o4711, 0o711), (0o2644, 0o2644)):
            for how in ("write", "truncate", "chown", "open"):
                path = top / f"f{mode:o}{how}"
                path.write_bytes(pattern(20000))
                os.chmod(path, mode)
                assert stat.S_IMODE(os.stat(path).st_mode) == mode
                if how == "write":
                    with opened(path, os.O_WRONLY) as fd:
                        os.write(fd, b"x")
                elif how == "truncate":
                    os.truncate(path, 10)
                elif how == "chown":
                    os.chown(path, -1, 77)
                else:
                    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))
                assert stat.S_IMODE(os.stat(path).st_mode) == left, (oct(mode), how)

    unprivileged(mnt, work)


def test_times(mnt):
    publish(mnt, {"f": pattern(20000), "small": b"s", "d": None})
    stamps = (0, 1, 999999999, 1234567890123456789, -1, -1500000000, 7289654400 * 10**9)
    with workspace(mnt) as ws:
        (ws / "g").write_bytes(b"")
        for name in ("f", "small", "d", "g"):
            for ns in stamps:
                os.utime(ws / name, ns=(ns, ns))
                assert os.stat(ws / name).st_mtime_ns == ns, (name, ns)
        with opened(ws / "f") as fd:
            os.utime(fd, ns=(3, 4))
        before = time.time_ns()
        os.utime(ws / "g")
        assert os.stat(ws / "g").st_mtime_ns >= before - 10**9
        ws.commit()
    assert os.stat(mnt / "w/f").st_mtime_ns == 4
    for name in ("small", "d"):
        assert os.stat(mnt / "w" / name).st_mtime_ns == stamps[-1]
    mnt.remount()
    assert os.stat(mnt / "w/f").st_mtime_ns == 4


def test_mtime_is_kept_by_the_first_write_open(mnt):
    """Opening for writing, and a chmod, are no changes of content."""
    publish(mnt, {"small": b"s", "large": pattern(50000)})
    for name in ("small", "large"):
        before = os.stat(mnt / "w" / name).st_mtime_ns
        with workspace(mnt) as ws:
            os.close(os.open(ws / name, os.O_RDWR))
            os.chmod(ws / name, 0o600)
            assert os.stat(ws / name).st_mtime_ns == before
            ws.commit()
        assert os.stat(mnt / "w" / name).st_mtime_ns == before


def test_directory_mtime(mnt):
    publish(mnt, {"d": None, "d/f": b""})
    with workspace(mnt) as ws:
        for change in (
            lambda: (ws / "d/new").write_bytes(b""),
            lambda: os.rename(ws / "d/new", ws / "d/newer"),
            lambda: os.rename(ws / "d/newer", ws / "moved"),
            lambda: os.unlink(ws / "d/f"),
            lambda: os.mkdir(ws / "d/e"),
            lambda: os.rmdir(ws / "d/e"),
            lambda: os.symlink("x", ws / "d/l"),
        ):
            os.utime(ws / "d", ns=(5, 5))
            change()
            assert os.stat(ws / "d").st_mtime_ns > 5
        os.utime(ws / "d", ns=(5, 5))
        ws.commit()
    assert os.stat(mnt / "w/d").st_mtime_ns == 5


def test_stat_fields(mnt):
    publish(mnt, {"f": pattern(50000), "d": None, "l": "f"})
    with workspace(mnt) as ws:
        for top in (ws.path, mnt / "w"):
            numbers = set()
            for name in (".", "f", "d", "l"):
                found = os.lstat(top / name)
                assert found.st_nlink == 1 and found.st_dev == os.stat(mnt.path).st_dev
                assert found.st_ino not in numbers and found.st_ino
                numbers.add(found.st_ino)
            found = os.stat(top / "f")
            assert found.st_size == 50000 and found.st_blocks * 512 >= 50000 and found.st_blksize >= 4096


def test_inode_number_stays_in_a_session(mnt):
    """tar, git and find compare it before and after."""
    publish(mnt, {"f": pattern(20000), "d": None})
    with workspace(mnt) as ws:
        before = {name: os.stat(ws / name).st_ino for name in ("f", "d")}
        with opened(ws / "f", os.O_RDWR) as fd:
            os.write(fd, b"x")
            assert os.fstat(fd).st_ino == before["f"]
        os.chmod(ws / "d", 0o700)
        os.rename(ws / "f", ws / "g")
        assert os.stat(ws / "g").st_ino == before["f"] and os.stat(ws / "d").st_ino == before["d"]


def test_each_version_is_an_inode_of_its_own(mnt):
    numbers = set()
    for i in range(5):
        publish(mnt, {"f": b"%d" % i})
        numbers.add(os.stat(mnt / "w/f").st_ino)
    assert len(numbers) == 5


# ------------------------------------------------------------------------------ extended attributes


def test_xattrs(mnt):
    publish(mnt, {"f": pattern(20000), "d": None})
    with workspace(mnt) as ws:
        (ws / "g").write_bytes(b"")
        for name in ("f", "d", "g"):
            path = ws / name
            assert os.listxattr(path) == []
            with fails("ENODATA"):
                os.getxattr(path, "user.none")
            os.setxattr(path, "user.a", b"1")
            os.setxattr(path, "user.empty", b"")
            os.setxattr(path, "user.binary", bytes(range(256)))
            with fails("EEXIST"):
                os.setxattr(path, "user.a", b"2", os.XATTR_CREATE)
            with fails("ENODATA"):
                os.setxattr(path, "user.z", b"2", os.XATTR_REPLACE)
            os.setxattr(path, "user.a", b"replaced", os.XATTR_REPLACE)
            os.setxattr(path, "user.z", b"z", os.XATTR_CREATE)
            os.removexattr(path, "user.z")
            with fails("ENODATA"):
                os.removexattr(path, "user.z")
            assert sorted(os.listxattr(path)) == ["user.a", "user.binary", "user.empty"]
            assert os.getxattr(path, "user.a") == b"replaced"
        with opened(ws / "f", os.O_RDWR) as fd:
            os.setxattr(fd, "user.by-fd", b"x")
            assert os.getxattr(fd, "user.by-fd") == b"x"
        ws.commit()
    for name in ("f", "d", "g"):
        path = mnt / "w" / name
        assert os.getxattr(path, "user.binary") == bytes(range(256))
        assert os.getxattr(path, "user.empty") == b""
        assert "user.a" in os.listxattr(path)
    with workspace(mnt) as ws:  # content changes, attributes stay
        (ws / "f").write_bytes(b"new content")
        os.removexattr(ws / "f", "user.empty")
        os.rename(ws / "f", ws / "moved")
        ws.commit()
    assert sorted(os.listxattr(mnt / "w/moved")) == ["user.a", "user.binary", "user.by-fd"]


def test_xattr_limits(mnt):
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"")
        os.setxattr(ws / "f", "user." + "n" * 250, b"x" * 65536)
        with fails("ERANGE"):
            os.setxattr(ws / "f", "user." + "n" * 251, b"")
        with fails("E2BIG"):
            os.setxattr(ws / "f", "user.big", b"x" * 65537)
        for i in range(100):
            os.setxattr(ws / "f", f"user.{i}", b"%d" % i)
        assert len(os.listxattr(ws / "f")) == 101
        ws.commit()
    assert len(os.listxattr(mnt / "w/f")) == 101
    assert os.getxattr(mnt / "w/f", "user." + "n" * 250) == b"x" * 65536
    assert os.getxattr(mnt / "w/f", "user.77") == b"77"


def test_other_namespaces(mnt):
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"")
        (ws / "l").symlink_to("f")
        for name in ("trusted.x", "security.x", "system.x"):
            with fails("EOPNOTSUPP"):
                os.setxattr(ws / "f", name, b"x")
        acl = struct.pack("<IHHIHHIHHI", 2, 1, 6, 0xFFFFFFFF, 4, 4, 0xFFFFFFFF, 32, 4, 0xFFFFFFFF)
        with fails("EOPNOTSUPP"):
            os.setxattr(ws / "f", "system.posix_acl_access", acl)
        with fails("EPERM"):  # the kernel's own rule
            os.setxattr(ws / "l", "user.x", b"x", follow_symlinks=False)
        assert os.listxattr(ws / "f") == []


def test_fence_attributes(mnt, ctl):
    """Answered by name on a committed file, never listed, never to be set."""
    with workspace(mnt, "w/", 41, owner="somebody") as ws:
        (ws / "f").write_bytes(pattern(20000))
        (ws / "e").write_bytes(b"")
        os.setxattr(ws / "f", "user.mine", b"x")
        revision = ws.commit()["revision"]
    path = mnt / "w/f"
    assert os.getxattr(path, "user.fence.version") == b"1"
    assert os.getxattr(path, "user.fence.revision") == revision.encode()
    assert os.getxattr(path, "user.fence.token") == b"41"
    assert os.getxattr(path, "user.fence.owner") == b"somebody"
    digest = os.getxattr(path, "user.fence.hash")
    assert len(digest) == 32 and int(digest, 16)
    if run("sh", "-c", "command -v xxh128sum", rc=None).returncode == 0:
        assert run("xxh128sum", path).stdout.split()[0] == digest.decode()
    assert os.getxattr(mnt / "w/e", "user.fence.hash") == b"99aa06d3014798d86001c324468d497f"
    assert os.listxattr(path) == ["user.mine"]
    with fails("ENODATA"):
        os.getxattr(path, "user.fence.nonsense")
    with workspace(mnt, "w/", 42) as ws:
        assert os.getxattr(ws / "f", "user.fence.token") == b"41"
        assert os.listxattr(ws / "f") == ["user.mine"]
        for name in ("token", "version", "new"):
            with fails("EPERM"):
                os.setxattr(ws / "f", f"user.fence.{name}", b"99")
        (ws / "f").write_bytes(b"changed")
        with fails("ENODATA"):  # not of any version yet
            os.getxattr(ws / "f", "user.fence.token")
        ws.commit()
    assert os.getxattr(path, "user.fence.token") == b"42"
    assert os.getxattr(path, "user.fence.version") == b"2"
    assert os.getxattr(path, "user.fence.hash") != digest
    for copy in (run("getfattr", "-d", path), run("getfattr", "-d", "-m", "-", path)):
        assert "user.mine" in copy.stdout and "user.fence" not in copy.stdout


# -------------------------------------------------------------------------------------------- locks


def test_flock(mnt):
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"x")

        def contender(me, path):
            with opened(path, os.O_RDWR) as fd:
                with fails("EAGAIN"):
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                me.mark("refused")
                fcntl.flock(fd, fcntl.LOCK_EX)
            return "got it"

        with opened(ws / "f", os.O_RDWR) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)
            child = spawn(contender, ws / "f").wait_mark("refused")
            fcntl.flock(fd, fcntl.LOCK_UN)
            assert child.result() == "got it"
        with opened(ws / "f") as one, opened(ws / "f") as two:
            fcntl.flock(one, fcntl.LOCK_SH)
            fcntl.flock(two, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with fails("EAGAIN"):
                fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
    publish(mnt, {"f": b"x"})
    with opened(mnt / "w/f") as one, opened(mnt / "w/f") as two:  # readers of the live tree may lock, too
        fcntl.flock(one, fcntl.LOCK_EX)
        with fails("EAGAIN"):
            fcntl.flock(two, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_posix_locks(mnt):
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(pattern(100))

        def contender(me, path):
            with opened(path, os.O_RDWR) as fd:
                fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 50)
                with contextlib.suppress(OSError):
                    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)
                    raise AssertionError("locked twice")
                asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 10, 0)
                answer = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
                me.mark("refused")
                fcntl.lockf(fd, fcntl.LOCK_EX, 10, 0)
                return answer

        with opened(ws / "f", os.O_RDWR) as fd:
            fcntl.lockf(fd, fcntl.LOCK_EX, 10, 0)
            child = spawn(contender, ws / "f").wait_mark("refused")
            fcntl.lockf(fd, fcntl.LOCK_UN, 10, 0)
            kind, _, start, length, owner = child.result()
            assert (kind, start, length, owner) == (fcntl.F_WRLCK, 0, 10, os.getpid())


def test_killed_waiter_for_a_lock_goes_away(mnt):
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"x")

        def waiter(me, path):
            with opened(path, os.O_RDWR) as fd:
                me.mark("going to wait")
                fcntl.lockf(fd, fcntl.LOCK_EX)

        with opened(ws / "f", os.O_RDWR) as fd:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            child = spawn(waiter, ws / "f").wait_mark("going to wait")
            os.kill(child.pid, 9)
            assert child.wait(10) == -9


# ------------------------------------------------------------------------------------------- statfs


def test_statfs(mnt, store):
    native = os.statvfs(store.path)
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"x")
        with opened(ws / "f") as fd:
            for found in (os.statvfs(mnt.path), os.statvfs(ws.path), os.statvfs(fd)):
                assert found.f_namemax == 255
                assert found.f_blocks * found.f_frsize == native.f_blocks * native.f_frsize
                assert 0 < found.f_bavail * found.f_frsize < found.f_blocks * found.f_frsize
                assert found.f_files
    # The mount is not a read-only one: sessions write.
    assert not os.statvfs(mnt.path).f_flag & os.ST_RDONLY
