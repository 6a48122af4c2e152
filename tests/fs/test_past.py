# SPDX-License-Identifier: MIT
"""The past: .fence/at and .fence/versions are whole, stay as they were, and give nobody more than he may read."""

import errno
import hashlib
import os
import stat

import pytest
from fenceharness import *

OTHER = 65534


def put(ctl, path, content, token=1, **fields):
    data = content if isinstance(content, bytes) else content.encode()
    fields = {"parents": 1, "owner": "job", **fields}
    return ctl.expect_ok("put", data, path=path, token=token, size=len(data), **fields).int("revision")


def session(mnt, ctl, path=".", token=1):
    """A session's view of @path."""
    reply = ctl.expect_ok("open", path=path, token=token, owner="job")
    return mnt / reply["dir"] if path == "." else mnt / reply["path"]


def newest(ctl):
    return ctl.expect_ok("at").int("revision")


def tree_hash(top) -> str:
    """All names, kinds, modes, times, targets, attributes and contents beneath @top."""
    digest = hashlib.sha256()
    for directory, names, files in os.walk(top):
        names.sort()
        for name in ["."] + sorted(names + files):
            path = os.path.join(directory, name)
            st = os.lstat(path)
            digest.update(f"{os.path.relpath(path, top)} {st.st_mode & 0o170000} {st.st_mtime_ns} {st.st_size}\n".encode())
            if stat.S_ISLNK(st.st_mode):
                digest.update(os.readlink(path).encode())
            elif stat.S_ISREG(st.st_mode):
                for attribute in ("version", "hash", "owner", "token", "revision"):
                    digest.update(os.getxattr(path, f"user.fence.{attribute}"))
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def errno_of(function, *args) -> int:
    try:
        function(*args)
    except OSError as error:
        return error.errno
    return 0


def as_other(function, *args, uid=OTHER):
    return spawn(lambda me: function(*args), uid=uid).result()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def read_errno(path) -> int:
    return errno_of(read, path)


# ------------------------------------------------------------------------------------- consistency


def walk_loop(me, top, rounds_at_least):
    hashes = []
    me.mark("ready")
    while not os.path.exists(f"{top}/../../../stop") or len(hashes) < rounds_at_least:
        hashes.append(tree_hash(top))
        if len(hashes) == 1:
            me.mark("walked")
    return hashes


@pytest.mark.timeout(240)
def test_a_walker_sees_one_tree_while_500_commits_pass(mnt, ctl):
    view = session(mnt, ctl)
    for d in range(8):
        (view / f"d{d}/sub").mkdir(parents=True)
        for f in range(6):
            (view / f"d{d}/sub/f{f}").write_bytes(os.urandom(100 if f % 2 else 40000))
        (view / f"d{d}/link").symlink_to(f"sub/f{d % 6}")
    os.setxattr(view / "d1/sub/f1", "user.colour", b"red")
    rev = ctl.expect_ok("commit").int("revision")
    top = mnt / f".fence/at/{rev}"
    assert top.is_dir() and tree_hash(top) == tree_hash(mnt.path)
    walkers = [spawn(walk_loop, str(top), 3) for _ in range(2)]
    for walker in walkers:
        walker.wait_mark("walked", 60)
    for i in range(500):
        view = session(mnt, ctl)
        d = view / f"d{i % 8}"
        if i % 10 == 0:
            run("rm", "-rf", d)
        elif i % 10 == 1 and not d.exists():
            (d / "sub").mkdir(parents=True)
        elif i % 10 == 2 and d.exists():
            d.rename(view / f"moved{i}")
        elif i % 10 == 3 and d.exists():
            d.chmod(0o700 if i % 20 == 3 else 0o755)
        elif i % 10 == 4 and d.exists():
            (d / "link").unlink(missing_ok=True)
            (d / "link").symlink_to(f"elsewhere{i}")
        else:
            (d / "sub").mkdir(parents=True, exist_ok=True)
            (d / f"sub/f{i % 6}").write_bytes(os.urandom(i))
        (view / "count").write_text(str(i))
        ctl.expect_ok("commit")
    put(ctl, "stop", "x")
    first = None
    for walker in walkers:
        hashes = walker.result(120)
        first = first or hashes[0]
        assert set(hashes) == {first}, "the tree of a revision changed"
    assert newest(ctl) == rev + 501
    assert tree_hash(top) == first and tree_hash(mnt.path) != first


def test_it_is_the_same_after_a_restart(mnt):
    with mnt.ctl() as ctl:
        revs = [put(ctl, f"d/f{i % 3}", f"content {i}") for i in range(9)]
    hashes = {rev: tree_hash(mnt / f".fence/at/{rev}") for rev in revs}
    assert len(set(hashes.values())) == len(revs)
    mnt.remount()
    assert {rev: tree_hash(mnt / f".fence/at/{rev}") for rev in revs} == hashes


def test_which_revisions_there_are(mnt, ctl):
    at = mnt / ".fence/at"
    assert os.listdir(at) == ["0"] and os.listdir(at / "0") == []
    put(ctl, "f", "1")
    assert os.listdir(at) == ["1"] and os.listdir(at / "1") == ["f"]
    for name in ("2", "99999999999999999999999", "01", "-1", "+1", "1 ", "x", "1.0"):
        assert errno_of(os.stat, at / name) == errno.ENOENT, name
    # It was not there a moment ago, and is now.
    put(ctl, "f", "2")
    assert read(at / "2/f") == b"2" and read(at / "1/f") == b"1"
    assert not (at / "1/.fence").exists()


def test_nothing_can_be_changed_there(mnt, ctl):
    put(ctl, "d/f", "x")
    for top in (mnt / ".fence/at/1/d", mnt / ".fence/versions/d"):
        tries = [
            (os.open, top / "new", os.O_CREAT | os.O_WRONLY),
            (os.mkdir, top / "new"),
            (os.symlink, "x", top / "new"),
            (os.unlink, top / "f"),
            (os.rename, top / "f", top / "g"),
            (os.chmod, top / "f", 0o777),
            (os.truncate, mnt / ".fence/at/1/d/f", 0),
            (os.open, mnt / ".fence/versions/d/f/1", os.O_WRONLY),
            (os.setxattr, mnt / ".fence/at/1/d/f", "user.x", b"1"),
            (os.utime, mnt / ".fence/at/1/d/f"),
        ]
        for function, *args in tries:
            assert errno_of(function, *args) in (errno.EROFS, errno.EISDIR), (function, args)


# ---------------------------------------------------------------------------------------- versions


def test_versions_of_a_file(mnt, ctl):
    for i in range(1, 13):
        put(ctl, "d/f", "x" * i, mode="0640")
    top = mnt / ".fence/versions/d/f"
    assert sorted(os.listdir(top), key=int) == [str(i) for i in range(1, 13)]
    for i in range(1, 13):
        assert read(top / str(i)) == b"x" * i
        assert os.getxattr(top / str(i), "user.fence.version") == str(i).encode()
    assert stat.S_IMODE(os.stat(top / "1").st_mode) == 0o640
    for name in ("0", "13", "01", "x"):
        assert errno_of(os.stat, top / name) == errno.ENOENT
    assert os.listdir(mnt / ".fence/versions") == ["d"]


def test_versions_outlive_their_directory(mnt, ctl):
    put(ctl, "d/e/f", "one")
    view = session(mnt, ctl)
    run("rm", "-r", view / "d")
    ctl.expect_ok("commit")
    assert not (mnt / "d").exists()
    versions = mnt / ".fence/versions"
    assert os.listdir(versions) == ["d"] and os.listdir(versions / "d/e/f") == ["1"]
    assert read(versions / "d/e/f/1") == b"one"
    put(ctl, "d/e/f", "two")
    assert sorted(os.listdir(versions / "d/e/f")) == ["1", "2"]
    assert [read(versions / f"d/e/f/{n}") for n in (1, 2)] == [b"one", b"two"]
    assert [v["version"] for v in fence("log", "--json", mnt / "d/e/f").json()] == [2, 1]


def test_versions_across_a_directory_rename(mnt, ctl):
    put(ctl, "a/f", "as a")
    view = session(mnt, ctl)
    (view / "a").rename(view / "b")
    ctl.expect_ok("commit")
    put(ctl, "b/f", "as b")
    put(ctl, "a/f", "a again")
    versions = mnt / ".fence/versions"
    contents = lambda path: [read(versions / path / n) for n in sorted(os.listdir(versions / path))]
    assert contents("a/f") == [b"as a", b"a again"], contents("a/f")
    assert contents("b/f")[-1] == b"as b" and b"a again" not in contents("b/f")
    # What was there at each revision.
    at = mnt / ".fence/at"
    assert read(at / "1/a/f") == b"as a" and not (at / "1/b").exists()
    assert read(at / "2/b/f") == b"as a" and not (at / "2/a").exists()
    assert (read(at / "4/a/f"), read(at / "4/b/f")) == (b"a again", b"as b")


def test_links_and_attributes_of_the_past(mnt, ctl):
    view = session(mnt, ctl)
    (view / "link").symlink_to("old target")
    (view / "f").write_text("x")
    os.setxattr(view / "f", "user.colour", b"red")
    ctl.expect_ok("commit")
    view = session(mnt, ctl)
    (view / "link").unlink()
    (view / "link").symlink_to("new target")
    os.setxattr(view / "f", "user.colour", b"blue")
    ctl.expect_ok("commit")
    old = [mnt / ".fence/at/1", mnt / ".fence/at/2"]
    assert [os.readlink(top / "link") for top in old] == ["old target", "new target"]
    assert [os.getxattr(top / "f", "user.colour") for top in old] == [b"red", b"blue"]
    assert [os.listxattr(top / "f") for top in old] == [["user.colour"]] * 2
    versions = mnt / ".fence/versions"
    assert [os.readlink(versions / f"link/{n}") for n in (1, 2)] == ["old target", "new target"]
    assert os.getxattr(versions / "f/1", "user.colour") == b"red"


def test_an_open_file_of_the_past_stays(mnt, ctl):
    content = os.urandom(1 << 20)
    put(ctl, "f", content)
    with open(mnt / ".fence/at/1/f", "rb") as file:
        half = file.read(1 << 19)
        for i in range(20):
            put(ctl, "f", f"{i}")
        assert half + file.read() == content


def test_a_directory_with_many_names(mnt, ctl):
    view = session(mnt, ctl)
    (view / "d").mkdir()
    for i in range(3000):
        (view / f"d/{i}").touch()
    ctl.expect_ok("commit")
    view = session(mnt, ctl)
    for i in range(0, 3000, 2):
        (view / f"d/{i}").unlink()
    ctl.expect_ok("commit")
    names = [str(i) for i in range(3000)]
    assert sorted(os.listdir(mnt / ".fence/at/1/d"), key=int) == names
    assert sorted(os.listdir(mnt / ".fence/at/2/d"), key=int) == names[1::2]
    assert sorted(os.listdir(mnt / ".fence/versions/d"), key=int) == names


# ------------------------------------------------------------------------------------- permissions


def past_places(rev, version):
    return [f".fence/at/{rev}/d/secret", f".fence/versions/d/secret/{version}"]


def chmod(mnt, ctl, path, mode):
    view = session(mnt, ctl)
    (view / path).chmod(mode)
    ctl.expect_ok("commit")


def test_what_was_closed_is_closed_in_the_past(mnt, ctl):
    put(ctl, "d/secret", "public once", mode="0644")
    for place in past_places(1, 1):
        assert as_other(read, mnt / place) == b"public once"
    chmod(mnt, ctl, "d/secret", 0o600)
    for place in past_places(1, 1) + past_places(2, 2):
        assert as_other(read_errno, mnt / place) == errno.EACCES, place
        assert read(mnt / place) == b"public once"
    # Also when it is removed after that.
    ctl.expect_ok("remove", path="d/secret", token=1)
    for place in past_places(1, 1) + past_places(2, 2):
        assert as_other(read_errno, mnt / place) == errno.EACCES, place


def test_what_was_closed_stays_closed_when_it_is_opened(mnt, ctl):
    put(ctl, "d/secret", "secret", mode="0600")
    put(ctl, "d/secret", "public", mode="0644")
    assert as_other(read, mnt / "d/secret") == b"public"
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place) == errno.EACCES, place
    for place in past_places(2, 2):
        assert as_other(read, mnt / place) == b"public", place


def test_a_directory_that_was_closed(mnt, ctl):
    put(ctl, "d/secret", "x", mode="0644")
    chmod(mnt, ctl, "d", 0o700)
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place) == errno.EACCES, place
        assert as_other(lambda p: errno_of(os.listdir, p), (mnt / place).parent) == errno.EACCES
    view = session(mnt, ctl)
    run("rm", "-r", view / "d")
    ctl.expect_ok("commit")
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place) == errno.EACCES, place


def replace_by_own(me, mount):
    with Ctl(mount) as ctl:
        ctl.expect_ok("remove", path="d/secret", token=1)
        ctl.expect_ok("put", b"mine", path="d/secret", token=1, size=4, mode="0666")


@pytest.mark.parametrize("mode", ["0600", "0640", "0604"])
def test_putting_an_own_file_in_its_place_opens_nothing(mnt, ctl, mode):
    """Who may write in a directory may replace a file in it, not read what it was."""
    put(ctl, "d/secret", "secret", mode=mode)
    chmod(mnt, ctl, "d", 0o777)
    readable = mode == "0604"
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place) == (0 if readable else errno.EACCES)
    spawn(replace_by_own, str(mnt.path), uid=OTHER).result()
    assert as_other(read, mnt / "d/secret") == b"mine"
    if not readable:
        for place in past_places(1, 1):
            assert as_other(read_errno, mnt / place) == errno.EACCES, place

    def attempts(mount):
        with Ctl(mount) as other:
            listed = other.expect_ok("list", kind="version", path="d/secret")
            listed = other.expect_ok("list", kind="version", path="d/secret", after=listed["id"])
            refused = other.request("restore", path="d/secret", token=1, version=1)
            return listed["version"], listed.get("hash"), refused.errno_name

    version, hash_shown, refused = as_other(attempts, str(mnt.path))
    assert version == "1"
    if not readable:
        assert (hash_shown, refused) == (None, "EACCES"), (hash_shown, refused)
    assert read(mnt / "d/secret") == b"mine"


def test_a_sticky_directory(mnt, ctl):
    put(ctl, "d/secret", "secret", mode="0600")
    chmod(mnt, ctl, "d", 0o1777)
    child = spawn(replace_by_own, str(mnt.path), uid=OTHER)
    try:
        child.result()
        raise AssertionError("somebody else's file was removed from a sticky directory")
    except ChildFailed as failure:
        assert "EPERM" in str(failure), failure
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place) == errno.EACCES


def test_owners_of_the_past(mnt, ctl):
    """A file that changed hands: neither the old owner nor the new one gets more than both times gave."""
    view = session(mnt, ctl)
    (view / "d").mkdir()
    (view / "d/secret").write_text("of 1000")
    os.chown(view / "d/secret", 1000, 1000)
    (view / "d/secret").chmod(0o600)
    ctl.expect_ok("commit")
    assert as_other(read, mnt / ".fence/at/1/d/secret", uid=1000) == b"of 1000"
    view = session(mnt, ctl)
    (view / "d/secret").write_text("of 1001")
    os.chown(view / "d/secret", 1001, 1001)
    (view / "d/secret").chmod(0o600)
    ctl.expect_ok("commit")
    for place in past_places(1, 1):
        assert as_other(read_errno, mnt / place, uid=1000) == errno.EACCES, place
        assert as_other(read_errno, mnt / place, uid=1001) == errno.EACCES, place
    for place in past_places(2, 2):
        assert as_other(read_errno, mnt / place, uid=1000) == errno.EACCES, place
        assert as_other(read, mnt / place, uid=1001) == b"of 1001", place
