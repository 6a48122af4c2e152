# SPDX-License-Identifier: MIT
"""Where nothing may be written: the live tree, and outside the claim. And what .fence shows."""

import os
import stat

import pytest
from fenceharness import run
from fencelib.workspace import fails, libc, check, opened, pattern, publish, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")


def changes(top):
    """Every way to change the tree at @top, which has f (a file), d (a directory), d/x and l: (name, call)."""
    f, d, new = top / "f", top / "d", top / "new"
    yield "create", lambda: os.open(new, os.O_CREAT | os.O_WRONLY)
    yield "create to read", lambda: os.open(new, os.O_CREAT | os.O_RDONLY)
    yield "create exclusively", lambda: os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    yield "mknod", lambda: os.mknod(new, stat.S_IFREG | 0o600)
    yield "open to write", lambda: os.open(f, os.O_WRONLY)
    yield "open to read and write", lambda: os.open(f, os.O_RDWR)
    yield "open to append", lambda: os.open(f, os.O_WRONLY | os.O_APPEND)
    yield "open to truncate", lambda: os.open(f, os.O_RDONLY | os.O_TRUNC)
    yield "open to write and truncate", lambda: os.open(f, os.O_WRONLY | os.O_TRUNC)
    yield "open or create", lambda: os.open(f, os.O_RDWR | os.O_CREAT)
    yield "truncate", lambda: os.truncate(f, 0)
    yield "mkdir", lambda: os.mkdir(new)
    yield "rmdir", lambda: os.rmdir(d / "empty")
    yield "rmdir of a full one", lambda: os.rmdir(d)
    yield "unlink", lambda: os.unlink(f)
    yield "unlink of a link", lambda: os.unlink(top / "l")
    yield "symlink", lambda: os.symlink("x", new)
    yield "rename", lambda: os.rename(f, new)
    yield "rename over", lambda: os.rename(f, d / "x")
    yield "rename of a directory", lambda: os.rename(d, new)
    yield "rename noreplace", lambda: check(
        libc.renameat2(-100, os.fsencode(f), -100, os.fsencode(new), 1)
    )
    yield "exchange", lambda: check(libc.renameat2(-100, os.fsencode(f), -100, os.fsencode(d), 2))
    yield "chmod", lambda: os.chmod(f, 0o600)
    yield "chmod of a directory", lambda: os.chmod(d, 0o700)
    yield "chown", lambda: os.chown(f, 1, 1)
    yield "lchown", lambda: os.lchown(top / "l", 1, 1)
    yield "utimes", lambda: os.utime(f, ns=(1, 1))
    yield "utimes now", lambda: os.utime(f)
    yield "setxattr", lambda: os.setxattr(f, "user.x", b"x")
    yield "setxattr of a directory", lambda: os.setxattr(d, "user.x", b"x")
    yield "removexattr", lambda: os.removexattr(f, "user.there")


CONTENT = {"d": None, "d/x": b"x", "d/empty": None, "f": pattern(20000), "l": "f"}


def fill(mnt):
    with workspace(mnt) as ws:
        for name, content in CONTENT.items():
            if content is None:
                (ws / name).mkdir()
            elif isinstance(content, str):
                (ws / name).symlink_to(content)
            else:
                (ws / name).write_bytes(content)
        os.setxattr(ws / "f", "user.there", b"x")
        ws.commit()


def expect_refusals(top):
    for name, change in changes(top):
        try:
            with fails("EROFS"):
                change()
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def expect_unchanged(top):
    assert sorted(os.listdir(top)) == ["d", "f", "l"]
    assert sorted(os.listdir(top / "d")) == ["empty", "x"]
    assert (top / "f").read_bytes() == pattern(20000) and os.readlink(top / "l") == "f"
    assert stat.S_IMODE(os.stat(top / "f").st_mode) == 0o644 and os.stat(top / "f").st_uid == 0
    assert os.getxattr(top / "f", "user.there") == b"x" and os.listxattr(top / "f") == ["user.there"]


def test_live_tree_is_read_only(mnt):
    fill(mnt)
    expect_refusals(mnt / "w")
    with workspace(mnt):
        expect_refusals(mnt / "w")  # also while a session may write there
    expect_unchanged(mnt / "w")
    for what in (lambda: os.mkdir(mnt / "top"), lambda: os.rename(mnt / "w", mnt / "v")):
        with fails("EROFS"):
            what()
    with fails("EROFS"):
        os.rmdir(mnt / "w")
    with fails("EROFS"):
        os.chmod(mnt.path, 0o777)


def test_live_tree_takes_opens_that_change_nothing(mnt):
    fill(mnt)
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT, os.O_RDONLY | os.O_APPEND):
        with opened(mnt / "w/f", flags) as fd:
            assert os.read(fd, 30000) == pattern(20000)
    with fails("EEXIST"):
        os.open(mnt / "w/f", os.O_CREAT | os.O_EXCL | os.O_RDONLY)
    with fails("EEXIST"):
        os.mkdir(mnt / "w/d")
    with fails("EPERM"):
        os.link(mnt / "w/f", mnt / "w/g")
    with fails("EPERM"):
        os.mkfifo(mnt / "w/fifo")


def test_outside_the_claim(mnt):
    fill(mnt)
    with workspace(mnt, "other/") as ws:
        expect_refusals(ws.view / "w")
        (ws / "f").write_bytes(b"in")
        with fails("EROFS"):
            os.rename(ws / "f", ws.view / "w/in")
        with fails("EROFS"):
            os.rename(ws.view / "w/f", ws / "out")
        with fails("EROFS"):
            os.mkdir(ws.view / "new")
        with fails("EROFS"):
            os.rename(ws.path, ws.view / "renamed")
        expect_unchanged(ws.view / "w")
        ws.commit()
    expect_unchanged(mnt / "w")
    assert (mnt / "other/f").read_bytes() == b"in"


def test_claim_of_a_subdirectory(mnt):
    fill(mnt)
    with workspace(mnt, "w/d") as ws:
        (ws / "x").write_bytes(b"changed")
        (ws / "new").write_bytes(b"new")
        with fails("EROFS"):
            os.open(ws.view / "w/f", os.O_WRONLY)
        with fails("EROFS"):
            os.open(ws.view / "w/new", os.O_CREAT | os.O_WRONLY)
        with fails("EROFS"):
            os.rename(ws / "new", ws.view / "w/new")
        assert (ws.view / "w/f").read_bytes() == pattern(20000)
        ws.commit()
    assert (mnt / "w/d/x").read_bytes() == b"changed"


def test_claim_of_a_file(mnt):
    """Only that name may be written; what an editor would put beside it is refused."""
    fill(mnt)
    with workspace(mnt, "w/f") as ws:
        ws.path.write_bytes(b"new content")
        os.chmod(ws.path, 0o600)
        with fails("EROFS"):
            os.open(ws.view / "w/f.tmp", os.O_CREAT | os.O_WRONLY)
        with fails("EROFS"):
            os.rename(ws.path, ws.view / "w/g")
        with fails("EROFS"):
            os.unlink(ws.view / "w/l")
        os.unlink(ws.path)
        ws.path.write_bytes(b"made again")
        ws.commit()
    assert (mnt / "w/f").read_bytes() == b"made again"
    with workspace(mnt, "w/absent") as ws:  # neither there nor said to be a directory: either may be made
        assert not os.path.lexists(ws.path)
        ws.path.mkdir()
        (ws / "inside").write_bytes(b"x")
        ws.commit()
    assert (mnt / "w/absent/inside").read_bytes() == b"x"


def test_session_sees_the_live_tree(mnt):
    """What others commit outside the session's own changes is seen in its tree at once."""
    publish(mnt, {"a": b"1"}, "other/")
    with workspace(mnt, "w/") as ws:
        (ws / "mine").write_bytes(b"mine")
        assert (ws.view / "other/a").read_bytes() == b"1"
        with fails("ENOENT"):
            os.stat(ws.view / "other/b")
        publish(mnt, {"a": b"2", "b": b"new"}, "other/")
        assert (ws.view / "other/a").read_bytes() == b"2"
        assert (ws.view / "other/b").read_bytes() == b"new"
        assert sorted(os.listdir(ws.view / "other")) == ["a", "b"]
        with fails("ENOENT"):
            os.stat(mnt / "w/mine")


def test_session_shows_what_it_did_not_change(mnt):
    """Names made in a directory do not freeze its mode (P8), and a call that failed freezes nothing."""
    publish(mnt, {"d": None, "d/f": b"1"})
    with workspace(mnt, "w/", 5) as ws:
        (ws / "d/mine").write_bytes(b"")
        with fails("ENODATA"):
            os.removexattr(ws / "d/f", "user.none")
        with fails("ENODATA"):
            os.setxattr(ws / "d/f", "user.none", b"x", os.XATTR_REPLACE)
        with workspace(mnt, "w/d", 5) as other:
            os.chmod(other.path, 0o700)
            (other / "f").write_bytes(b"22")
            other.commit()
        assert stat.S_IMODE(os.stat(ws / "d").st_mode) == 0o700
        with opened(ws / "d") as fd:
            assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o700
        assert (ws / "d/f").read_bytes() == b"22"
        assert sorted(os.listdir(ws / "d")) == ["f", "mine"]
        ws.commit()
    assert stat.S_IMODE(os.stat(mnt / "w/d").st_mode) == 0o700
    assert (mnt / "w/d/f").read_bytes() == b"22"


def test_session_keeps_a_directory_that_it_moved(mnt):
    """Although others have removed it: the commit, which will be refused, tells."""
    publish(mnt, {"d": None, "e": None})
    with workspace(mnt, "w/", 1) as ws:
        os.rename(ws / "d", ws / "e/moved")
        (ws / "e/moved/f").write_bytes(b"f")
        with workspace(mnt, "w/", 2) as later:
            os.rmdir(later / "d")
            later.commit()
        assert os.listdir(ws / "e") == ["moved"] and os.listdir(ws / "e/moved") == ["f"]
        assert os.stat(ws / "e/moved").st_nlink == 1 and os.listxattr(ws / "e/moved") == []
        with fails("ENODATA"):
            os.getxattr(ws / "e/moved", "user.none")
        ws.ctl.expect_err("ESTALE", "commit", session=ws.ident)


def test_sessions_do_not_see_each_other(mnt):
    publish(mnt, {}, "w/")
    with workspace(mnt, "w/", 1) as one, workspace(mnt, "w/", 1) as two:
        (one / "f").write_bytes(b"one")
        (two / "f").write_bytes(b"two")
        (one / "only").write_bytes(b"")
        assert (one / "f").read_bytes() == b"one" and (two / "f").read_bytes() == b"two"
        assert os.listdir(two.path) == ["f"]
        one.commit()
        assert (two / "f").read_bytes() == b"two" and sorted(os.listdir(two.path)) == ["f", "only"]
        two.commit()
    assert (mnt / "w/f").read_bytes() == b"two" and (mnt / "w/only").exists()


def test_fence_directory_is_not_listed(mnt):
    publish(mnt, {"f": b""})
    with workspace(mnt, ".") as ws:
        for top in (mnt.path, ws.view):
            assert os.listdir(top) == ["w"]
            assert ".fence" not in run("find", top).stdout.replace(str(ws.view), "")
        with fails("ENOENT"):
            os.stat(ws.view / ".fence/ctl")
        for change in (
            lambda: os.mkdir(ws.view / ".fence"),
            lambda: os.open(ws.view / ".fence", os.O_CREAT | os.O_WRONLY),
            lambda: os.symlink("x", ws.view / ".fence"),
            lambda: os.rename(ws.view / "w", ws.view / ".fence"),
        ):
            with fails("EPERM"):
                change()
        os.mkdir(ws.view / "w/.fence")  # elsewhere it is a name like any other
        ws.commit()
    assert os.path.isdir(mnt / "w/.fence")
    assert stat.S_IMODE(os.stat(mnt / ".fence/ctl").st_mode) == 0o666
    assert stat.S_IMODE(os.stat(mnt / ".fence/sessions").st_mode) == 0o711


def test_control_files_are_no_tree(mnt):
    publish(mnt, {})
    with workspace(mnt) as ws:
        for change in (
            lambda: os.unlink(mnt / ".fence/ctl"),
            lambda: os.rmdir(mnt / ".fence/sessions"),
            lambda: os.rmdir(ws.view),
            lambda: os.mkdir(mnt / ".fence/x"),
            lambda: os.open(mnt / ".fence/x", os.O_CREAT | os.O_WRONLY),
            lambda: os.mkdir(mnt / ".fence/sessions/x"),
            lambda: os.rename(mnt / ".fence/ctl", mnt / "ctl"),
            lambda: os.rename(ws.view, mnt / ".fence/sessions/" / ("0" * 32)),
            lambda: os.chmod(mnt / ".fence/ctl", 0o600),
            lambda: os.chmod(mnt / ".fence", 0o777),
            lambda: os.symlink("x", mnt / ".fence/l"),
        ):
            with fails("EPERM"):
                change()
    for change in (
        lambda: os.rmdir(mnt / ".fence"),
        lambda: os.rename(mnt / ".fence", mnt / "fence"),
        lambda: os.rename(mnt / "w", mnt / ".fence"),
    ):
        with fails("EROFS"):
            change()


def test_after_the_end_of_a_session(mnt):
    """Its tree is gone; what was open says ESTALE to every change, and readers keep what they have."""
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(pattern(20000))
        reader = os.open(ws / "f", os.O_RDONLY)
        top = os.open(ws.path, os.O_PATH)
        ws.commit()
        assert os.pread(reader, 30000, 0) == pattern(20000)
        assert os.fstat(reader).st_size == 20000
        with fails("ENOENT"):
            os.stat(ws.view)
        with fails("ESTALE"):
            os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=top)
        with fails("ESTALE"):
            os.open("f", os.O_WRONLY, dir_fd=top)
        os.close(reader)
        os.close(top)
    with workspace(mnt) as ws:
        (ws / "f").write_bytes(b"dropped")
        ws.abort()
        with fails("ENOENT"):
            os.stat(ws.view)
    assert (mnt / "w/f").read_bytes() == pattern(20000)
