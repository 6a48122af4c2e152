# SPDX-License-Identifier: MIT
"""No door gives a caller what the permissions of a path deny (P8)."""

import os
import re
import socket
import stat

import pytest
from fenceharness import *
from fencelib.dialog import errno_of, fails, make_dir, open_session, publish, put, put_refused, records

ANNA = 4001
BERT = 4002
TEAM = 4100


def in_ctl(me, mnt, line, data=b""):
    """The reply to one request, as whoever runs this."""
    with mnt.ctl() as ctl:
        return ctl.request(line, data)


def refused(mnt, name, line, data=b"", *, uid=BERT, **more):
    reply = spawn(in_ctl, mnt, line, data, uid=uid, **more).result()
    assert reply.errno_name == reply.write_errno_name == name, f"{line}: {reply.raw!r}, expected {name}"
    return reply


def allowed(mnt, line, data=b"", *, uid=BERT, **more):
    reply = spawn(in_ctl, mnt, line, data, uid=uid, **more).result()
    assert reply.ok, f"{line}: {reply.raw!r}, expected ok"
    return reply


def file(path, text="x", mode=0o644, uid=0, gid=0):
    """For publish(): a file with these attributes."""

    def fill(top):
        top.write_text(text)
        os.chown(top, uid, gid)
        os.chmod(top, mode)

    return path, fill


def make_file(mnt, path, text="x", mode=0o644, uid=0, gid=0, token=0):
    path, fill = file(path, text, mode, uid, gid)
    publish(mnt, path, token, fill)


def owned(path) -> tuple[int, int, int]:
    st = os.lstat(path)
    return st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)


# -------------------------------------------------------------------------------- sessions of another uid


def open_and_wait(me, mnt, path):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, path, 1)
        (session.path / "secret").write_text("anna's")
        (session.path / "secret").chmod(0o666)
        session.path.chmod(0o777)
        me.pause("open")


def its_session(mnt, child) -> str:
    """Waits until the child has opened its session; the id, which only root can list."""
    child.wait_mark("open")
    with mnt.ctl() as ctl:
        (found,) = records(ctl, "session")
        return found["id"]


def try_to_enter(me, mnt, ident):
    top = mnt.session(ident)
    seen = {
        "list of sessions": errno_of(os.listdir, top.parent),
        "list": errno_of(os.listdir, top),
        "enter": errno_of(os.chdir, top),
        "read": errno_of(os.open, top / "home/secret", os.O_RDONLY),
        "write": errno_of(os.open, top / "home/secret", os.O_WRONLY),
        "create": errno_of(os.open, top / "home/mine", os.O_WRONLY | os.O_CREAT),
        "make": errno_of(os.mkdir, top / "made"),
        "remove": errno_of(os.rmdir, top),
        "chmod": errno_of(os.chmod, top, 0o777),
        "rename": errno_of(os.rename, top, top.parent / "x"),
        "make a session": errno_of(os.mkdir, top.parent / ("a" * 32)),
    }
    return seen, owned(top)


def test_session_is_closed_to_others(mnt):
    make_dir(mnt, "home", uid=ANNA, gid=ANNA)
    anna = spawn(open_and_wait, mnt, "home", uid=ANNA)
    ident = its_session(mnt, anna)
    seen, attributes = spawn(try_to_enter, mnt, ident, uid=BERT).result()
    assert seen.pop("chmod") in ("EPERM", "EACCES", "EROFS"), seen
    assert seen.pop("rename") in ("EACCES", "EPERM", "EROFS"), seen
    assert seen.pop("remove") in ("EACCES", "EPERM", "EROFS"), seen
    assert set(seen.values()) == {"EACCES"}, seen
    assert attributes == (ANNA, ANNA, 0o500), "the root directory is not hers to write"
    same_group = spawn(try_to_enter, mnt, ident, uid=BERT, gid=ANNA, groups=[ANNA]).result()[0]
    assert same_group["enter"] == same_group["read"] == "EACCES", same_group
    anna.resume()
    anna.result()


@pytest.mark.parametrize("verb", ["commit", "abort", "expect path=home/x absent=1"])
def test_session_is_not_for_others_to_end(mnt, ctl, verb):
    make_dir(mnt, "home", uid=ANNA)
    anna = spawn(open_and_wait, mnt, "home", uid=ANNA)
    ident = its_session(mnt, anna)
    refused(mnt, "ENOENT", f"{verb} session={ident}")
    assert ctl.expect_ok("outcome", session=ident)["outcome"] == "open"
    anna.resume()
    anna.result()


def test_lists_show_ones_own(mnt, ctl):
    make_dir(mnt, "home", uid=ANNA)
    anna = spawn(open_and_wait, mnt, "home", uid=ANNA)
    ident = its_session(mnt, anna)
    assert spawn(ids_of, mnt, "session", uid=ANNA).result() == [ident]
    assert spawn(ids_of, mnt, "session", uid=BERT).result() == []
    assert [r["id"] for r in records(ctl, "session")] == [ident], "root sees all"
    allowed(mnt, f"outcome session={ident}", uid=ANNA)
    reply = spawn(in_ctl, mnt, f"outcome session={ident}", uid=BERT).result()
    assert reply.get("outcome") == "unknown" or reply.errno_name == "ENOENT", reply.raw
    anna.resume()
    anna.result()


def ids_of(me, mnt, kind):
    with mnt.ctl() as ctl:
        return [r["id"] for r in records(ctl, kind)]


def test_session_ids_cannot_be_guessed(mnt, ctl):
    """128 random bits: no two share more than chance allows, no bit is always the same."""
    idents = [open_session(mnt, ctl, f"p{i}", 1).ident for i in range(200)]
    assert all(re.fullmatch(r"[0-9a-f]{32}", ident) for ident in idents), idents[0]
    numbers = [int(ident, 16) for ident in idents]
    for bit in range(128):
        ones = sum(number >> bit & 1 for number in numbers)
        assert 40 < ones < 160, f"bit {bit} is set in {ones} of 200"
    for one, two in zip(numbers, numbers[1:]):
        assert (one ^ two).bit_count() > 20
    st = os.stat(mnt / ".fence/sessions")
    assert stat.S_IMODE(st.st_mode) == 0o711 and st.st_uid == 0
    for name in ("0" * 32, "A" * 32, idents[0][:-1], idents[0] + "0"):
        with fails("ENOENT"):
            os.stat(mnt.session(name))


# ------------------------------------------------------------------------------- paths one may not write


def test_path_that_may_not_be_written(mnt, ctl):
    make_dir(mnt, "home", uid=ANNA)
    make_file(mnt, "home/f", uid=ANNA)
    make_dir(mnt, "closed", uid=ANNA, mode=0o700)
    make_file(mnt, "closed/f", uid=ANNA, mode=0o666)
    for path in ("home", "home/f", "home/new", "home/new/er", "closed", "closed/f", "closed/new", ".", "new"):
        for verb in ("claim", "open", "open parents=1"):
            refused(mnt, "EACCES", f"{verb} path={path} token=9")
    for path in ("home/f", "home/new", "closed/f", "closed/new", "new"):
        refused(mnt, "EACCES", f"put path={path} token=9 size=1", b"x")
    for path in ("home/f", "closed/f", "closed/none"):
        refused(mnt, "EACCES", f"remove path={path} token=9")
    rows = mnt.store.query("SELECT path, token FROM fence WHERE token = 9")
    assert rows == [], f"a refused claim shut out others: {rows}"
    assert records(ctl, "session") == []
    allowed(mnt, "claim path=home/f token=9", uid=ANNA)


def test_a_writable_file_may_be_claimed_and_written(mnt, ctl):
    make_dir(mnt, "home", uid=ANNA)
    make_file(mnt, "home/f", uid=ANNA, mode=0o666)
    allowed(mnt, "put path=home/f token=9 size=4", b"bert")
    assert (mnt / "home/f").read_text() == "bert"
    assert owned(mnt / "home/f") == (ANNA, 0, 0o666), "it stays anna's"
    refused(mnt, "EACCES", "remove path=home/f token=9")
    refused(mnt, "EPERM", "put path=home/f token=9 size=1 mode=777", b"x")
    assert owned(mnt / "home/f") == (ANNA, 0, 0o666)


def write_in_session(me, mnt, path, text):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, path, 9)
        name = session.path
        seen = {
            "unlink": errno_of(os.unlink, name),
            "rename": errno_of(os.rename, name, name.with_name("g")),
            "beside": errno_of(os.open, name.with_name("h"), os.O_CREAT | os.O_WRONLY),
            "chmod": errno_of(os.chmod, name, 0o777),
        }
        name.write_text(text)
        return seen, ctl.request("commit")


def test_session_on_a_writable_file(mnt):
    make_dir(mnt, "home", uid=ANNA)
    make_file(mnt, "home/f", uid=ANNA, mode=0o666)
    seen, reply = spawn(write_in_session, mnt, "home/f", "bert", uid=BERT).result()
    assert reply.ok, reply.raw
    assert seen == {"unlink": "EACCES", "rename": "EACCES", "beside": "EACCES", "chmod": "EPERM"}, seen
    assert (mnt / "home/f").read_text() == "bert" and owned(mnt / "home/f") == (ANNA, 0, 0o666)


def test_root_directory_stays_shut_though_the_session_shows_his_uid(mnt):
    make_dir(mnt, "home", uid=BERT)
    seen = spawn(poke_the_root, mnt, uid=BERT).result()
    assert seen.pop("attributes") == (BERT, BERT, 0o500), seen
    assert seen.pop("inside") is None
    allowed_names = ("EACCES", "EROFS", "EPERM")
    assert all(name in allowed_names for name in seen.values()), seen
    assert owned(mnt.path) == (0, 0, 0o755) and os.listdir(mnt.path) == ["home"]


def poke_the_root(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "home", 1)
        top = session.top
        seen = {
            "attributes": owned(top),
            "create": errno_of(os.open, top / "new", os.O_CREAT | os.O_WRONLY),
            "mkdir": errno_of(os.mkdir, top / "made"),
            "rename": errno_of(os.rename, top / "home", top / "house"),
            "rmdir": errno_of(os.rmdir, top / "home"),
            "chmod": errno_of(os.chmod, top, 0o777),
            "xattr": errno_of(os.setxattr, top, "user.x", b"y"),
            "create again": errno_of(os.open, top / "new", os.O_CREAT | os.O_WRONLY),
            "inside": errno_of(os.mkdir, top / "home/made"),
        }
        reply = ctl.request("commit")
        assert reply.ok and reply["changed"] == "1", reply.raw
        return seen


def test_parents_are_made_with_the_callers_permissions(mnt):
    make_dir(mnt, "home", uid=ANNA)
    make_dir(mnt, "shared", mode=0o777)
    refused(mnt, "EACCES", "put path=home/a/b token=1 size=0 parents=1")
    refused(mnt, "EACCES", "put path=a/b token=1 size=0 parents=1")
    allowed(mnt, "put path=shared/a/b token=1 size=0 parents=1")
    assert owned(mnt / "shared/a") == (BERT, BERT, 0o755)
    assert owned(mnt / "shared/a/b") == (BERT, BERT, 0o644)


def claim_early(me, mnt, lines, fill):
    """Opens sessions by @lines while their paths are free, fills them when told, commits: the replies."""
    with mnt.ctl() as ctl:
        sessions = [ctl.expect_ok(line) for line in lines]
        for session in sessions:
            (mnt / session["path"]).write_text(fill)
        me.pause("claimed")
        return [ctl.request("commit", session=session["session"]) for session in sessions]


def test_what_was_closed_after_the_session_was_opened(mnt, ctl):
    """A claim of what is not there yet gives no right to what somebody else makes there."""
    make_dir(mnt, "tmp", mode=0o1777)
    lines = [
        "open path=tmp/dir/f token=1 parents=1",  # root makes tmp/dir, for itself
        "open path=tmp/file token=1",  # and tmp/file, in a sticky directory
        "open path=tmp/free token=1",
    ]
    bert = spawn(claim_early, mnt, lines, "bert", uid=BERT)
    bert.wait_mark("claimed")
    make_dir(mnt, "tmp/dir", mode=0o700, token=1)
    make_file(mnt, "tmp/file", "root", token=1)
    bert.resume()
    first, second, third = bert.result()
    for reply in (first, second):
        assert reply.errno_name == reply.write_errno_name == "EACCES", reply.raw
        assert reply.text == "no write permission on this path any more", reply.raw
    assert third.ok, third.raw
    assert os.listdir(mnt / "tmp/dir") == [] and (mnt / "tmp/file").read_text() == "root"
    assert owned(mnt / "tmp/free")[0] == BERT


def change_early(me, mnt, change):
    """One session on tmp: changes it, waits, commits: the reply."""
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "tmp", 1)
        change(session.path)
        me.pause("changed")
        return ctl.request("commit")


def root_makes(path, **more):
    return lambda mnt: make_file(mnt, path, "root", token=1, **more)


def root_makes_dir(path):
    return lambda mnt: make_dir(mnt, path, mode=0o700, token=1)


def root_removes(path):
    def remove(mnt):
        with mnt.ctl() as ctl:
            ctl.expect_ok("remove", path=path, token=1)

    return remove


def replaced(path):
    return lambda mnt: (root_removes(path)(mnt), root_makes(path)(mnt))


def write(name):
    return lambda top: (top / name).write_text("bert")


def rewrite(name):
    return lambda top: ((top / name).unlink(), (top / name).write_text("bert"))


def make(name):
    return lambda top: (top / name).mkdir()


def chmod(name):
    return lambda top: (top / name).chmod(0o777)


def move(name, to):
    return lambda top: os.rename(top / name, top / to)


# what bert's session does; what root commits meanwhile; the name that bert is refused at
MEANWHILE = {
    "new file": (write("a"), root_makes("tmp/a"), "a"),
    "new directory": (make("a"), root_makes_dir("tmp/a"), "a"),
    "file replaced": (rewrite("own"), replaced("tmp/own"), "own"),
    "file closed": (write("open"), root_makes("tmp/open"), "open"),
    "file given away": (chmod("own"), root_makes("tmp/own"), "own"),
    "directory given away": (chmod("dir"), root_makes_dir("tmp/dir"), "dir"),
    "name moved away": (move("own", "a"), root_makes("tmp/own"), "own"),
    # and what goes on being allowed
    "file written": (write("open"), root_makes("tmp/open", mode=0o666), None),
    "own file written": (write("own"), root_makes("tmp/own", uid=BERT), None),
    "own file removed": (write("own"), root_removes("tmp/own"), None),
    "another file": (write("a"), root_makes("tmp/b"), None),
}


@pytest.mark.parametrize("case", list(MEANWHILE))
def test_permissions_are_those_of_the_moment_of_the_commit(mnt, case):
    """Root commits under the same token while bert's session waits in the sticky directory."""
    change, meanwhile, denied = MEANWHILE[case]
    make_dir(mnt, "tmp", mode=0o1777)
    make_file(mnt, "tmp/open", mode=0o666)
    make_file(mnt, "tmp/own", uid=BERT)
    make_dir(mnt, "tmp/dir", uid=BERT)
    bert = spawn(change_early, mnt, change, uid=BERT)
    bert.wait_mark("changed")
    meanwhile(mnt)
    before = {name: owned(mnt / "tmp" / name) for name in os.listdir(mnt / "tmp")}
    bert.resume()
    reply = bert.result()
    if denied is None:
        assert reply.ok, reply.raw
        return
    assert reply.errno_name == "EACCES" and reply["path"] == f"tmp/{denied}", reply.raw
    assert {name: owned(mnt / "tmp" / name) for name in os.listdir(mnt / "tmp")} == before


def hold_view(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "bert", 1)
        tops = {"live": mnt.path, "session": session.top}
        for top in tops.values():
            assert (top / "anna/f").read_text() == "anna's" and os.listdir(top / "anna") == ["f"]
            assert (top / "g").read_text() == "anna's"
        me.pause("seen")
        found = {}
        for name, top in tops.items():
            found[f"{name}: through"] = errno_of(os.open, top / "anna/f", os.O_RDONLY)
            found[f"{name}: list"] = errno_of(os.listdir, top / "anna")
            found[f"{name}: read"] = errno_of(os.open, top / "g", os.O_RDONLY)
        return found


def test_modes_that_a_commit_tightens_hold_in_every_view(mnt):
    """Also where they had been looked at, and kept, before."""
    make_dir(mnt, "bert", uid=BERT)
    make_dir(mnt, "anna", uid=ANNA)
    make_file(mnt, "anna/f", "anna's", uid=ANNA)
    make_file(mnt, "g", "anna's", uid=ANNA)
    bert = spawn(hold_view, mnt, uid=BERT)
    bert.wait_mark("seen")
    make_dir(mnt, "anna", uid=ANNA, mode=0o700)
    publish(mnt, "g", 0, lambda path: path.chmod(0o600))
    bert.resume()
    found = bert.result()
    assert found == dict.fromkeys(found, "EACCES"), found


# ---------------------------------------------------------------------------------- reading through .fence


def test_what_modes_forbid_to_read(mnt, ctl):
    make_dir(mnt, "home", uid=ANNA)
    make_dir(mnt, "bert", uid=BERT)
    make_dir(mnt, "closed", uid=ANNA, mode=0o700)
    make_file(mnt, "home/private", "anna's", mode=0o600, uid=ANNA)
    make_file(mnt, "closed/open", "anna's", mode=0o644, uid=ANNA)
    digest = os.getxattr(mnt / "home/private", "user.fence.hash").decode()

    seen = spawn(read_through_own_session, mnt, uid=BERT).result()
    assert set(seen.values()) == {"EACCES"}, seen

    refused(mnt, "EACCES", "stat path=closed/open")
    refused(mnt, "EACCES", "stat path=closed/none")
    refused(mnt, "EACCES", "list kind=version path=closed/open")
    allowed(mnt, "stat path=home/private")
    reply = spawn(in_ctl, mnt, "list kind=version path=home/private", uid=BERT).result()
    assert "hash" not in reply, f"the hash tells who guesses the content: {reply.raw}"
    reply = spawn(expect_elsewhere, mnt, f"path=home/private hash={digest}", uid=BERT).result()
    assert reply.errno_name == "EACCES", f"a hash that can be tried tells the content: {reply.raw}"
    for what in ("version=1", "absent=1"):
        reply = spawn(expect_elsewhere, mnt, f"path=closed/open {what}", uid=BERT).result()
        assert reply.errno_name == "EACCES", reply.raw


def read_through_own_session(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "bert", 1)
        (session.path / "mine").touch()
        found = {}
        for name, top in {"live": mnt.path, "session": session.top}.items():
            found |= {
                f"{name}: read": errno_of(os.open, top / "home/private", os.O_RDONLY),
                f"{name}: hash": errno_of(os.getxattr, top / "home/private", "user.fence.hash"),
                f"{name}: list": errno_of(os.listdir, top / "closed"),
                f"{name}: through": errno_of(os.open, top / "closed/open", os.O_RDONLY),
                f"{name}: stat": errno_of(os.stat, top / "closed/open"),
            }
        found["copy"] = errno_of(os.link, session.top / "home/private", session.path / "stolen")
        if found["copy"] == "EPERM":
            found["copy"] = "EACCES"  # no hard links at all: as good
        return found


def expect_elsewhere(me, mnt, what):
    """The reply to expect in a session of one's own; if that is ok, the reply to its commit."""
    with mnt.ctl() as ctl:
        open_session(mnt, ctl, "bert", 1)
        reply = ctl.request(f"expect {what}")
        return reply if not reply.ok else ctl.request("commit")


# -------------------------------------------------------------------------- sticky, setgid, groups, setuid


def sticky_session(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "tmp", 1)
        seen = {
            "unlink": errno_of(os.unlink, session.path / "annas"),
            "rename": errno_of(os.rename, session.path / "annas", session.path / "berts"),
            "over": errno_of(os.rename, session.path / "own", session.path / "annas"),
        }
        (session.path / "new").write_text("bert's")
        os.unlink(session.path / "own")
        return seen, ctl.request("commit")


def test_sticky_directory(mnt, ctl):
    make_dir(mnt, "tmp", mode=0o1777)
    make_file(mnt, "tmp/annas", uid=ANNA)
    make_file(mnt, "tmp/own", uid=BERT)
    assert owned(mnt / "tmp")[2] == 0o1777
    seen, reply = spawn(sticky_session, mnt, uid=BERT).result()
    assert seen == dict.fromkeys(seen, "EPERM"), seen
    assert reply.ok, reply.raw
    assert sorted(os.listdir(mnt / "tmp")) == ["annas", "new"]
    refused(mnt, "EACCES", "open path=tmp/annas token=1")
    refused(mnt, "EACCES", "claim path=tmp/annas token=1")
    refused(mnt, "EACCES", "put path=tmp/annas token=1 size=0")
    refused(mnt, "EPERM", "remove path=tmp/annas token=1")
    allowed(mnt, "remove path=tmp/new token=1")
    allowed(mnt, "remove path=tmp/annas token=1", uid=ANNA)


def setgid_session(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "team", 1)
        os.umask(0o022)
        (session.path / "f").touch()
        (session.path / "d").mkdir()
        (session.path / "d/inner").touch()
        (session.path / "l").symlink_to("f")
        inside = {name: owned(session.path / name) for name in ("f", "d", "d/inner", "l")}
        ctl.expect_ok("commit", session=session.ident)
        put(ctl, "team/put", "x", 1)
        put(ctl, "team/a/b", "x", 1, parents=1)
        return inside


def test_setgid_directory(mnt):
    make_dir(mnt, "team", uid=0, gid=TEAM, mode=0o2775)
    inside = spawn(setgid_session, mnt, uid=ANNA, groups=[TEAM]).result()
    want = {
        "f": (ANNA, TEAM, 0o644),
        "d": (ANNA, TEAM, 0o2755),
        "d/inner": (ANNA, TEAM, 0o644),
        "l": (ANNA, TEAM, 0o777),
    }
    assert inside == want, inside
    assert {name: owned(mnt / "team" / name) for name in want} == want
    assert owned(mnt / "team/put") == (ANNA, TEAM, 0o644)
    assert owned(mnt / "team/a") == (ANNA, TEAM, 0o2755)
    assert owned(mnt / "team/a/b") == (ANNA, TEAM, 0o644)


def test_supplementary_groups(mnt):
    make_dir(mnt, "team", gid=TEAM, mode=0o770)
    line = "put path=team/f token=1 size=4"
    refused(mnt, "EACCES", line, b"bert")
    refused(mnt, "EACCES", line, b"bert", groups=[TEAM + 1, TEAM - 1])
    allowed(mnt, line, b"bert", groups=[TEAM + 1, TEAM, TEAM + 2])
    allowed(mnt, line, b"bert", groups=[*range(5000, 5040), TEAM])  # more than fit into some interfaces
    allowed(mnt, line, b"bert", gid=TEAM)
    seen = spawn(write_below_group, mnt, uid=ANNA, groups=[TEAM]).result()
    assert seen == (ANNA, ANNA, 0o644), seen
    assert (mnt / "team/f").read_text() == "bert" and (mnt / "team/g").read_text() == "anna"


def write_below_group(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "team", 1)
        (session.path / "g").write_text("anna")
        ctl.expect_ok("commit")
        return owned(mnt / "team/g")


def test_group_mode_wins_over_others(mnt):
    """As in every Unix: who is in the group has the group's bits, also when others have more."""
    make_dir(mnt, "odd", gid=TEAM, mode=0o707)
    refused(mnt, "EACCES", "put path=odd/f token=1 size=0", groups=[TEAM])
    allowed(mnt, "put path=odd/f token=1 size=0")
    make_dir(mnt, "own", uid=BERT, mode=0o077)
    refused(mnt, "EACCES", "put path=own/f token=1 size=0", uid=BERT)


def change_owners(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "home", 1)
        own = session.path / "own"
        other = session.path / "annas"
        seen = {
            "give away": errno_of(os.chown, own, ANNA, -1),
            "foreign group": errno_of(os.chown, own, -1, TEAM + 1),
            "chmod other's": errno_of(os.chmod, other, 0o777),
            "utime other's": errno_of(os.utime, other, (1, 1)),
            "xattr other's": errno_of(os.setxattr, other, "user.x", b"y"),
            "truncate other's": errno_of(os.truncate, other, 0),
        }
        os.chown(own, -1, TEAM)
        own.chmod(0o640)
        return seen, ctl.request("commit")


def test_attributes_of_others(mnt):
    make_dir(mnt, "home", uid=BERT)
    make_file(mnt, "home/own", uid=BERT)
    make_file(mnt, "home/annas", "anna's", uid=ANNA)
    seen, reply = spawn(change_owners, mnt, uid=BERT, groups=[TEAM]).result()
    assert reply.ok, reply.raw
    assert seen == {
        "give away": "EPERM",
        "foreign group": "EPERM",
        "chmod other's": "EPERM",
        "utime other's": "EPERM",
        "xattr other's": "EACCES",
        "truncate other's": "EACCES",
    }, seen
    assert owned(mnt / "home/own") == (BERT, TEAM, 0o640)
    assert owned(mnt / "home/annas") == (ANNA, 0, 0o644)
    assert (mnt / "home/annas").read_text() == "anna's"


def write_setuid(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "bin", 1)
        with open(session.path / "written", "r+b") as open_file:
            open_file.write(b"X")
        os.truncate(session.path / "cut", 1)
        os.chown(session.path / "chowned", -1, TEAM)
        (session.path / "own").chmod(0o4755)
        names = ("written", "cut", "chowned", "own", "kept")
        inside = {name: owned(session.path / name)[2] for name in names}
        ctl.expect_ok("commit")
        return inside


@pytest.mark.mount_options("passthrough=auto", "passthrough=off")
def test_setuid_bits_go_when_others_write(mnt):
    make_dir(mnt, "bin", uid=BERT)
    for name, uid in (("written", ANNA), ("cut", ANNA), ("chowned", BERT), ("own", BERT), ("kept", ANNA)):
        make_file(mnt, f"bin/{name}", "content", uid=uid, mode=0o6777)
    inside = spawn(write_setuid, mnt, uid=BERT, groups=[TEAM]).result()
    want = {"written": 0o777, "cut": 0o777, "chowned": 0o777, "own": 0o4755, "kept": 0o6777}
    assert inside == want, {name: oct(mode) for name, mode in inside.items()}
    assert {name: owned(mnt / "bin" / name)[2] for name in want} == want
    assert (mnt / "bin/written").read_text() == "Xontent"


def test_put_makes_nobody_elses_setuid_program(mnt):
    make_dir(mnt, "bin", uid=BERT)
    make_dir(mnt, "closed")
    for path in ("bin/program", "closed/program"):
        make_file(mnt, path, "root's", uid=0, mode=0o6777)
        allowed(mnt, f"put path={path} token=1 size=5", b"BERTS")
        uid, gid, mode = owned(mnt / path)
        assert mode == 0o777, (path, oct(mode))
        spawn(in_ctl, mnt, f"put path={path} token=1 size=5 mode=6777", b"BERTS", uid=BERT).result()
        uid, gid, mode = owned(mnt / path)
        assert not mode & 0o6000 or uid == BERT, (path, uid, oct(mode))
    allowed(mnt, "put path=bin/mine token=1 size=0 mode=4755")
    assert owned(mnt / "bin/mine") == (BERT, BERT, 0o4755), "one's own may be"
    allowed(mnt, "put path=bin/mine token=1 size=1", b"x")
    assert owned(mnt / "bin/mine")[2] == 0o755, "a write by an ordinary user takes it away"


def test_setgid_of_a_group_one_is_not_in(mnt):
    """chmod and put drop the bit, as the kernel does."""
    make_dir(mnt, "team", uid=BERT, gid=TEAM, mode=0o2775)
    allowed(mnt, "put path=team/f token=1 size=0 mode=2755")
    assert owned(mnt / "team/f") == (BERT, TEAM, 0o755)


# --------------------------------------------------------------------------------------------- rejects


def be_refused(me, mnt):
    with mnt.ctl() as ctl:
        put_refused(ctl, "ESTALE", "home/f", "anna's secret", 1)


def look_at_reject(me, mnt, path):
    errors = {
        "read": errno_of(os.open, path, os.O_RDONLY),
        "write": errno_of(os.open, path, os.O_RDWR),
        "chmod": errno_of(os.chmod, path, 0o777),
        "unlink": errno_of(os.unlink, path),
    }
    text = path.read_text() if errors["read"] is None else None
    with mnt.ctl() as ctl:
        return errors, text, [r["id"] for r in records(ctl, "reject")]


def test_rejects_are_for_the_refused(mnt, ctl):
    make_dir(mnt, "home", uid=ANNA)
    ctl.expect_ok("claim", path="home/f", token=42)
    spawn(be_refused, mnt, uid=ANNA).result()
    (reject,) = records(ctl, "reject")
    path = mnt / reject["data"]
    assert reject["data"] == f".fence/rejects/{reject['id']}", reject.raw
    st = os.stat(path)
    assert (st.st_uid, stat.S_IMODE(st.st_mode), st.st_size) == (ANNA, 0o400, 13)
    assert path.read_text() == "anna's secret", "root may"

    errors, text, ids = spawn(look_at_reject, mnt, path, uid=ANNA).result()
    assert text == "anna's secret" and ids == [reject["id"]]
    assert errors["write"] in ("EACCES", "EROFS") and errors["chmod"] and errors["unlink"], errors
    errors, text, ids = spawn(look_at_reject, mnt, path, uid=BERT).result()
    assert errors["read"] == "EACCES" and text is None and ids == [], (errors, ids)
    assert errors["write"] in ("EACCES", "EROFS") and errors["chmod"] and errors["unlink"], errors


def append_and_be_refused(me, mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "home", 1)
        for name in ("secret", "own"):
            with open(session.path / name, "ab") as out:
                out.write(b"!")
        me.pause("written")
        ctl.expect_err("ESTALE", "commit")
        return records(ctl, "reject")


def test_reject_gives_back_no_more_than_could_be_read(mnt, ctl):
    """Bert may add to the file and not read it: what his session held is for root."""
    make_dir(mnt, "home", uid=BERT)
    make_file(mnt, "home/secret", "root's secret", mode=0o622)
    make_file(mnt, "home/own", "bert's", mode=0o200, uid=BERT)
    bert = spawn(append_and_be_refused, mnt, uid=BERT)
    bert.wait_mark("written")
    ctl.expect_ok("claim", path="home", token=2)
    bert.resume()
    assert [r["path"] for r in bert.result()] == ["home/own"]
    found = {r["path"]: mnt / r["data"] for r in records(ctl, "reject")}
    assert found["home/secret"].read_text() == "root's secret!"
    assert owned(found["home/secret"]) == (0, 0, 0o400)
    assert owned(found["home/own"]) == (BERT, 0, 0o400)
    assert spawn(look_at_reject, mnt, found["home/secret"], uid=BERT).result()[0]["read"] == "EACCES"


# ------------------------------------------------------------------------- whose authority a descriptor has


def use_descriptor(me, fd, line):
    ctl = Ctl(fd=fd)
    return ctl.request(line)


def test_descriptor_keeps_the_authority_of_who_opened_it(mnt, ctl):
    make_dir(mnt, "annas", uid=ANNA, mode=0o700)
    make_dir(mnt, "berts", uid=BERT, mode=0o700)
    # root's, in the hands of bert
    reply = spawn(use_descriptor, ctl.fd, "claim path=annas token=1", uid=BERT, keep_fds=[ctl.fd]).result()
    assert reply.ok, reply.raw
    # bert's, in the hands of root and of anna
    fd = open_as(mnt, BERT)
    for uid in (0, ANNA):
        reply = spawn(use_descriptor, fd, "claim path=annas token=2", uid=uid, keep_fds=[fd]).result()
        assert reply.errno_name == reply.write_errno_name == "EACCES", reply
        reply = spawn(use_descriptor, fd, "claim path=berts token=2", uid=uid, keep_fds=[fd]).result()
        assert reply.ok, reply.raw
    with Ctl(fd=fd) as theirs:
        theirs.expect_err("EACCES", "claim", path="annas", token=2)
        theirs.expect_err("EPERM", "reset", path="berts", token=0)
        session = open_session(mnt, theirs, "berts", 3)
        assert owned(session.top)[0] == BERT
        put(theirs, "berts/f", "x", 3)
        assert owned(mnt / "berts/f")[0] == BERT


def open_as(mnt, uid) -> int:
    """A descriptor of ctl that @uid opened, in this process."""
    ours, theirs = socket.socketpair()
    child = spawn(send_ctl, mnt, theirs.fileno(), uid=uid, keep_fds=[theirs.fileno()])
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    child.result()
    ours.close()
    theirs.close()
    return fds[0]


def send_ctl(me, mnt, number):
    with mnt.ctl() as ctl, socket.socket(fileno=number) as end:
        socket.send_fds(end, [b"x"], [ctl.fd])


def test_conversation_lives_as_long_as_any_copy_of_it(mnt, ctl):
    """A descriptor that was passed on keeps the session of its conversation open."""
    with mnt.ctl() as first:
        session = open_session(mnt, first, "p", 1)
        copy = os.dup(first.fd)
    session.path.write_text("x")
    assert ctl.expect_ok("outcome", session=session.ident)["outcome"] == "open"
    with Ctl(fd=copy) as last:
        last.expect_ok("commit")
    assert (mnt / "p").read_text() == "x"
