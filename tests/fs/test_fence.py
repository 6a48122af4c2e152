# SPDX-License-Identifier: MIT
"""The fence (P1): a late writer is refused, from the moment of the claim, whatever happens to the path."""

import errno
import os
import random

import pytest
from fenceharness import *
from fencelib.dialog import expect_stale, fails, make_dir, open_session, publish, put, put_refused, records

BOTH = pytest.mark.mount_options("passthrough=auto", "passthrough=off")
SMALL = b"inline"
LARGE = bytes(range(256)) * 1024  # a file of its own in blobs/


def token_of(path) -> int:
    return int(os.getxattr(path, "user.fence.token"))


def check_refused(mnt, path, held, *, token=41, highest=42, by="B"):
    """Every verb is refused that would change @path under @token."""
    why = dict(path=path, token=token, highest=highest, by=by, held=held)
    with mnt.ctl() as ctl:
        expect_stale(ctl.expect_err("ESTALE", "claim", path=path, token=token), **why)
        expect_stale(ctl.expect_err("ESTALE", "open", path=path, token=token), **why)
        expect_stale(put_refused(ctl, "ESTALE", path, b"late", token), **why)
        if os.path.lexists(mnt / path):
            expect_stale(ctl.expect_err("ESTALE", "remove", path=path, token=token), **why)


# ---------------------------------------------------------------------- behaviour 1: the late commit


def paused_writer(me, mnt, content):
    """Job A: stopped in the middle of writing; then it goes on as if nothing had happened."""
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "result", 41, owner="A")
        with open(session.path, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            me.stop("half written")
            file.write(content[len(content) // 2 :])
        reply = ctl.request("commit", session=session.ident)
        outcome = ctl.expect_ok("outcome", session=session.ident)
        return session.ident, reply, outcome["outcome"]


@BOTH
@pytest.mark.parametrize("content", ["small", "large"])
def test_late_commit_is_refused(mnt, ctl, content):
    late = {"small": b"a" * 1000, "large": b"A" * (3 << 20)}[content]
    newer = {"small": SMALL, "large": LARGE}[content]

    job = spawn(paused_writer, mnt, late)
    job.wait_stopped("half written")
    session = open_session(mnt, ctl, "result", 42, owner="B")
    session.path.write_bytes(newer)
    committed = ctl.expect_ok("commit")
    job.cont()
    ident, reply, outcome = job.result()

    expect_stale(reply, path="result", token=41, highest=42, by="B", held="result")
    assert reply.write_errno_name == "ESTALE", reply
    assert outcome == "refused", outcome
    assert (mnt / "result").read_bytes() == newer
    assert os.getxattr(mnt / "result", "user.fence.token") == b"42"
    assert os.getxattr(mnt / "result", "user.fence.owner") == b"B"
    assert os.getxattr(mnt / "result", "user.fence.version") == b"1"
    assert os.getxattr(mnt / "result", "user.fence.revision") == committed["revision"].encode()
    assert not [name for name in os.listxattr(mnt / "result") if "fence" in name]

    (reject,) = records(ctl, "reject")
    want = dict(path="result", token="41", highest="42", held_by="B", held_path="result", owner="A")
    want |= dict(session=ident, stage="commit", why="ESTALE", size=str(len(late)))
    assert {key: reply for key, reply in reject.fields.items() if key in want} == want, reject.raw
    assert (mnt / reject["data"]).read_bytes() == late, "the late writer's data is kept (P9)"
    rows = mnt.store.query("SELECT path, token, highest, blob IS NOT NULL FROM reject")
    assert rows == [(b"result", 41, 42, 1)], rows


def test_refusal_names_the_file_beneath(mnt, ctl):
    """41 holds the directory, 42 takes one file of it: only a commit that changes that file is refused."""
    make_dir(mnt, "d")
    with mnt.ctl() as other:
        touches = open_session(mnt, other, "d", 41, owner="A")
        (touches.path / "x").write_text("A")
        (touches.path / "y").write_text("A")
        put(ctl, "d/x", "B", 42, owner="B")
        reply = other.expect_err("ESTALE", "commit")
        expect_stale(reply, path="d/x", token=41, highest=42, by="B", held="d/x")
        assert os.listdir(mnt / "d") == ["x"] and (mnt / "d/x").read_text() == "B"

        spares = open_session(mnt, other, "d", 41, owner="A")
        (spares.path / "y").write_text("A")
        assert other.expect_ok("commit")["changed"] == "1"
        assert sorted(os.listdir(mnt / "d")) == ["x", "y"]
    (kept,) = [r for r in records(ctl, "reject") if r["path"] == "d/x"]
    assert (mnt / kept["data"]).read_text() == "A"


def test_nothing_of_a_refused_commit_is_seen(mnt, ctl):
    make_dir(mnt, "d")
    put(ctl, "d/old", "old", 1)
    with mnt.ctl() as late:
        session = open_session(mnt, late, "d", 41)
        for i in range(20):
            (session.path / f"new{i}").write_text("late")
        (session.path / "old").unlink()
        (session.path / "sub").mkdir()
        ctl.expect_ok("claim", path="d/new19", token=42)
        before = ctl.expect_ok("hello")["revision"]
        late.expect_err("ESTALE", "commit")
        assert ctl.expect_ok("hello")["revision"] == before, "a refused commit made a revision"
    assert os.listdir(mnt / "d") == ["old"] and (mnt / "d/old").read_text() == "old"
    assert len([r for r in records(ctl, "reject") if r["stage"] == "commit"]) == 20


# ------------------------------------------------------------- behaviour 2: from the moment of the claim


@pytest.mark.parametrize("verb", ["open", "claim"])
def test_claim_shuts_out_lower_tokens_before_anything_is_written(mnt, ctl, verb):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "sub").mkdir())
    put(ctl, "d/sub/f", "old", 1)
    ctl.expect_ok(verb, path="d", token=42, owner="B")

    with mnt.ctl() as late:
        for path in ("d", "d/sub", "d/sub/f", "d/new", "d/not/there/yet"):
            reply = late.expect_err("ESTALE", "claim", path=path, token=41)
            expect_stale(reply, path=path, token=41, highest=42, by="B", held="d")
    for path in ("d/sub/f", "d/new"):
        check_refused(mnt, path, "d")
    assert (mnt / "d/sub/f").read_text() == "old"
    assert records(ctl, "reject"), "a refused open leaves its record"
    for path in ("e", "dd", "d2/x"):  # only alike in their letters
        with mnt.ctl() as other:
            other.expect_ok("claim", path=path, token=0)


def test_overtaken_session_learns_it_at_its_next_step(mnt, ctl):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: ((top / "sub").mkdir(), (top / "f").write_text("old")))
    with mnt.ctl() as late:
        session = open_session(mnt, late, "d", 41)
        (session.path / "mine").write_text("before")
        held = os.open(session.path / "mine", os.O_WRONLY | os.O_APPEND)
        ctl.expect_ok("claim", path="d", token=42)

        for _ in range(2):  # the VFS asks once more after ESTALE; it stays refused
            with fails("ESTALE"):
                (session.path / "created").touch()
            with fails("ESTALE"):
                os.open(session.path / "f", os.O_WRONLY)
            with fails("ESTALE"):
                os.open(session.path / "mine", os.O_RDWR)
            with fails("ESTALE"):
                os.rename(session.path / "f", session.path / "g")
            with fails("ESTALE"):
                os.unlink(session.path / "f")
            with fails("ESTALE"):
                os.mkdir(session.path / "made")
            with fails("ESTALE"):
                os.rmdir(session.path / "sub")
            with fails("ESTALE"):
                os.symlink("x", session.path / "link")
        assert (session.path / "f").read_text() == "old", "reading goes on"
        assert (session.path / "mine").read_text() == "before"
        assert sorted(os.listdir(session.path)) == ["f", "mine", "sub"]
        os.write(held, b", and after")  # a descriptor that was open goes on; the commit decides
        os.close(held)
        late.expect_err("ESTALE", "commit")
    assert sorted(os.listdir(mnt / "d")) == ["f", "sub"]
    (kept,) = [r for r in records(ctl, "reject") if r["path"] == "d/mine"]
    assert (mnt / kept["data"]).read_text() == "before, and after"


def test_session_learns_of_a_claim_beneath_it(mnt, ctl):
    make_dir(mnt, "d")
    with mnt.ctl() as late:
        session = open_session(mnt, late, "d", 41)
        (session.path / "sub").mkdir()
        (session.path / "sub/x").write_text("mine")
        ctl.expect_ok("claim", path="d/sub", token=42)
        with fails("ESTALE"):
            (session.path / "sub/y").touch()
        with fails("ESTALE"):
            os.unlink(session.path / "sub/x")
        (session.path / "free").write_text("elsewhere it goes on")


def test_equal_tokens_pass(mnt, ctl):
    """One owner may write many times, from many sessions at once."""
    first = open_session(mnt, ctl, "p", 42, owner="B")
    with mnt.ctl() as other:
        second = open_session(mnt, other, "p", 42, owner="B")
        assert second.ident != first.ident
        first.path.write_text("first")
        second.path.write_text("second")
        ctl.expect_ok("commit", session=first.ident)
        assert (mnt / "p").read_text() == "first"
        other.expect_ok("commit")
    assert (mnt / "p").read_text() == "second"
    put(ctl, "p", "third", 42)
    assert (mnt / "p").read_text() == "third"
    assert os.getxattr(mnt / "p", "user.fence.version") == b"3"
    ctl.expect_ok("claim", path="p", token=42)
    put(ctl, "p", "higher", 43)
    put_refused(ctl, "ESTALE", "p", "lower again", 42)


def test_equal_token_keeps_who_set_it(mnt, ctl):
    ctl.expect_ok("claim", path="p", token=42, owner="B")
    ctl.expect_ok("claim", path="p", token=42, owner="C")
    reply = ctl.expect_ok("stat", path="p")
    assert reply["set_by"] == "B" and reply["highest"] == "42" and reply["kind"] == "absent", reply.raw


def test_claim_above_a_higher_token(mnt, ctl):
    """41 may take the parent of 42's directory, and change all but that."""
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: [(top / n).mkdir() for n in ("taken", "free")])
    put(ctl, "d/taken/f", "42's", 42, owner="B")
    with mnt.ctl() as other:
        session = open_session(mnt, other, "d", 41)
        (session.path / "free/x").write_text("41's")
        other.expect_ok("commit")
    assert (mnt / "d/free/x").read_text() == "41's"
    check_refused(mnt, "d/taken/f", "d/taken/f")

    def attempt(change):
        with mnt.ctl() as late:
            session = open_session(mnt, late, "d", 41)
            try:
                change(session.path)
            except OSError as error:
                assert error.errno == errno.ESTALE, error  # early: as good
            reply = late.request("commit")
            if reply.ok:
                assert reply["changed"] == "0", reply.raw
            else:
                expect_stale(
                    reply, path="d/taken/f", token=41, highest=42, by="B", held="d/taken/f"
                )

    def remove(top):
        (top / "taken/f").unlink()
        (top / "taken").rmdir()

    attempt(remove)
    attempt(lambda top: os.rename(top / "taken", top / "moved"))
    attempt(lambda top: os.rename(top / "taken/f", top / "f"))
    attempt(lambda top: os.rename(top / "free/x", top / "taken/f"))
    assert sorted(os.listdir(mnt / "d")) == ["free", "taken"]
    assert os.listdir(mnt / "d/taken") == ["f"] and (mnt / "d/taken/f").read_text() == "42's"


def test_directory_may_not_arrive_where_a_fence_stands(mnt, ctl):
    """A moved directory gives the paths beneath its new name another meaning: the rows there count."""
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "src").mkdir())
    put(ctl, "d/src/f", "1's", 1)
    ctl.expect_ok("claim", path="d/dst/f", token=42, owner="B")
    with mnt.ctl() as late:
        session = open_session(mnt, late, "d", 41)
        try:
            os.rename(session.path / "src", session.path / "dst")
        except OSError as error:
            assert error.errno == errno.ESTALE, error
        else:
            reply = late.expect_err("ESTALE", "commit")
            expect_stale(reply, path="d/dst/f", token=41, highest=42, by="B", held="d/dst/f")
    assert os.listdir(mnt / "d") == ["src"]


# --------------------------------------------------------------------- the fence outlives what it stands on


def test_fence_outlives_unlink(mnt, ctl):
    put(ctl, "p", "x", 42, owner="B")
    ctl.expect_ok("remove", path="p", token=42)
    assert not (mnt / "p").exists()
    check_refused(mnt, "p", "p")
    reply = ctl.expect_ok("stat", path="p")
    assert reply["kind"] == "absent" and reply["highest"] == "42", reply.raw
    put(ctl, "p", "again", 42)
    assert os.getxattr(mnt / "p", "user.fence.version") == b"2", "numbers go on where they were"


def test_fence_outlives_unlink_in_a_session(mnt, ctl):
    make_dir(mnt, "d")
    put(ctl, "d/p", "x", 42, owner="B")
    publish(mnt, "d", 42, lambda top: (top / "p").unlink(), owner="B")
    check_refused(mnt, "d/p", "d")


def test_fence_outlives_rename_away(mnt, ctl):
    make_dir(mnt, "d")
    put(ctl, "d/p", "x", 42, owner="B")
    publish(mnt, "d", 42, lambda top: os.rename(top / "p", top / "q"), owner="B")
    assert os.listdir(mnt / "d") == ["q"]
    check_refused(mnt, "d/p", "d")


def test_fence_outlives_its_parent(mnt, ctl):
    put(ctl, "a/b/p", "x", 42, owner="B", parents=1)
    with mnt.ctl() as owner:  # who removes a directory must hold what every row beneath it holds
        owner.expect_ok("claim", path="a/b", token=41)
        with mnt.ctl() as low:
            session = open_session(mnt, low, "a/b", 41)
            with fails("ESTALE"):
                (session.path / "p").unlink()
    publish(mnt, "a", 42, lambda top: ((top / "b/p").unlink(), (top / "b").rmdir()), owner="B")
    assert os.listdir(mnt / "a") == []
    reply = put_refused(ctl, "ESTALE", "a/b/p", "late", 41, parents=1)
    expect_stale(reply, path="a/b/p", token=41, highest=42, by="B", held="a")

    publish(mnt, "a/b/", 42, lambda top: None, owner="B")
    assert os.listdir(mnt / "a") == ["b"]
    check_refused(mnt, "a/b/p", "a/b")


def test_fence_outlives_kill_and_remount(mnt):
    with mnt.ctl() as ctl:
        make_dir(mnt, "d")
        put(ctl, "p", "x", 42, owner="B")
        ctl.expect_ok("claim", path="d", token=42, owner="B")
        ctl.expect_ok("claim", path="yet", token=42, owner="B")
    mnt.kill()
    mnt.remount()
    for path, held in (("p", "p"), ("d/f", "d"), ("yet", "yet")):
        check_refused(mnt, path, held)
    assert (mnt / "p").read_text() == "x" and token_of(mnt / "p") == 42
    mnt.remount()
    check_refused(mnt, "d/f", "d")


def test_root_can_be_claimed(mnt, ctl):
    put(ctl, "p", "x", 1)
    ctl.expect_ok("claim", path=".", token=42, owner="B")
    check_refused(mnt, "p", ".")
    check_refused(mnt, "anything", ".")
    publish(mnt, ".", 42, lambda top: (top / "from-root").write_text("y"))
    assert sorted(os.listdir(mnt.path)) == ["from-root", "p"]


# ------------------------------------------------------------------------------------ the edges of a token


def test_edges_of_a_token(mnt, ctl):
    top = 2**63 - 1
    put(ctl, "zero", "x", 0)
    assert token_of(mnt / "zero") == 0
    put(ctl, "zero", "y", 0)
    put(ctl, "top", "x", top, owner="B")
    assert token_of(mnt / "top") == top
    put(ctl, "top", "y", top)
    reply = put_refused(ctl, "ESTALE", "top", "z", top - 1)
    expect_stale(reply, path="top", token=top - 1, highest=top, by="B", held="top")
    put_refused(ctl, "ERANGE", "top", "z", top + 1)


def test_reset_repairs_a_runaway_token(mnt, ctl):
    make_dir(mnt, "d")
    ctl.expect_ok("claim", path="d", token=2**63 - 1, owner="runaway")
    ctl.expect_ok("claim", path="d/x", token=2**63 - 1, owner="runaway")
    put_refused(ctl, "ESTALE", "d/f", "x", 41)
    ctl.expect_ok("reset", path="d", token=40)
    put(ctl, "d/f", "x", 41)
    put(ctl, "d/x", "x", 41)
    put_refused(ctl, "ESTALE", "d/f", "x", 39)
    kept = [r for r in records(ctl, "reject") if r["stage"] == "reset"]
    assert kept and kept[0]["path"] == "d" and kept[0]["highest"] == str(2**63 - 1), kept


def unprivileged_reset(me, mnt):
    with mnt.ctl() as ctl:
        return ctl.request("reset", path="d", token=0)


def test_reset_is_for_root(mnt, ctl):
    make_dir(mnt, "d", uid=4001)
    ctl.expect_ok("claim", path="d", token=42)
    reply = spawn(unprivileged_reset, mnt, uid=4001).result()
    assert reply.errno_name == "EPERM" and reply.write_errno_name == "EPERM", reply.raw
    assert ctl.expect_ok("stat", path="d")["highest"] == "42"


# -------------------------------------------------------------------------------------------- all at once


def racer(me, mnt, number, rounds):
    """Writes again and again under the newest token it has seen, sometimes under an older one."""
    done = []
    dice = random.Random(number)
    with mnt.ctl() as ctl:
        for i in range(rounds):
            highest = int(ctl.expect_ok("stat", path="p").get("highest", "0"))
            token = max(0, highest + dice.choice([-3, -1, 0, 0, 1, 2]))
            text = f"{number} {i} {token}".encode()
            reply = ctl.request("put", text, path="p", token=token, size=len(text))
            assert reply.ok or reply.errno_name == "ESTALE", reply.raw
            if reply.ok:
                done.append((int(reply["revision"]), token, text))
            else:
                assert int(reply["highest"]) > token, reply.raw
    return done


def test_tokens_of_a_path_never_go_back(mnt, ctl):
    jobs = [spawn(racer, mnt, number, 60) for number in range(4)]
    accepted = sorted(write for job in jobs for write in job.result())
    tokens = [token for _, token, _ in accepted]
    assert tokens == sorted(tokens) and len(set(tokens)) > 5, tokens
    assert len({revision for revision, _, _ in accepted}) == len(accepted)
    versions = list(reversed(records(ctl, "version", path="p")))
    assert [(int(v["revision"]), int(v["token"])) for v in versions] == [w[:2] for w in accepted]
    assert [int(v["version"]) for v in versions] == list(range(1, len(accepted) + 1))
    assert (mnt / "p").read_bytes() == accepted[-1][2]


def claimer(me, mnt, paths):
    with mnt.ctl() as ctl:
        for path in paths:
            me.pause(path)
            ctl.expect_ok("claim", path=path, token=42)


def test_claim_and_commit_at_the_same_moment(mnt, ctl):
    """Either the commit is in before the claim, or it is refused."""
    paths = [f"p{i}" for i in range(60)]
    other = spawn(claimer, mnt, paths)
    for path in paths:
        session = open_session(mnt, ctl, path, 41)
        session.path.write_text("41")
        other.wait_mark(path)
        other.resume()
        reply = ctl.request("commit", session=session.ident)
        assert reply.ok or reply.errno_name == "ESTALE", reply.raw
        assert (mnt / path).exists() == reply.ok, reply.raw
    other.result()
    for path in paths:
        ctl.expect_err("ESTALE", "claim", path=path, token=41)
