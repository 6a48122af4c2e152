# SPDX-License-Identifier: MIT
"""The options of open, commit, put and remove: what each is for, when it refuses, with which errno."""

import os

import pytest
from fenceharness import *
from fencelib.dialog import fails, make_dir, open_session, publish, put, put_refused, records


def version_of(path) -> int:
    return int(os.getxattr(path, "user.fence.version"))


def hash_of(path) -> str:
    return os.getxattr(path, "user.fence.hash").decode()


def outcome(ctl, **what) -> tuple:
    reply = ctl.expect_ok("outcome", **what)
    return reply["outcome"], reply.get("revision")


def commit_of(mnt, content, commit="commit", path="p", token=1, fill=None, expects=(), **options):
    """A session that writes @path; the reply to its commit, and its id."""
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, path, token)
        (fill or (lambda p: p.write_text(content)))(session.path)
        for expect in expects:
            ctl.expect_ok(f"expect {expect}")
        return ctl.request(commit, session=session.ident, **options), session.ident


# ------------------------------------------------------------------- expect: version=, absent=, hash=


def test_expect_version(mnt, ctl):
    put(ctl, "p", "one", 1)
    put(ctl, "p", "two", 1)
    reply, _ = commit_of(mnt, "three", expects=["path=p version=2"])
    assert reply.ok and version_of(mnt / "p") == 3

    reply, ident = commit_of(mnt, "late", expects=["path=p version=2"])
    assert reply.errno_name == reply.write_errno_name == "ECANCELED", reply
    assert reply["path"] == "p" and reply.text == "p is at version 3, not 2", reply.raw
    assert (mnt / "p").read_text() == "three" and version_of(mnt / "p") == 3
    assert outcome(ctl, session=ident) == ("refused", None)
    (reject,) = records(ctl, "reject")
    assert (reject["why"], reject["stage"], reject["session"]) == ("ECANCELED", "commit", ident)
    assert (mnt / reject["data"]).read_text() == "late"

    reply, _ = commit_of(mnt, "x", path="q", expects=["path=q version=1"])
    assert reply.errno_name == "ECANCELED" and reply.text == "q does not exist", reply.raw


def test_expect_absent(mnt, ctl):
    reply, _ = commit_of(mnt, "first", expects=["path=p absent=1"])
    assert reply.ok and (mnt / "p").read_text() == "first"
    reply, _ = commit_of(mnt, "second", expects=["path=p absent=1"])
    assert reply.errno_name == reply.write_errno_name == "EEXIST", reply
    assert reply.text == "p exists, at version 1", reply.raw
    assert (mnt / "p").read_text() == "first"
    ctl.expect_ok("remove", path="p", token=1)
    reply, _ = commit_of(mnt, "third", expects=["path=p absent=1"])
    assert reply.ok and version_of(mnt / "p") == 2, "numbers go on where they were"


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_expect_hash(mnt, ctl, size):
    put(ctl, "p", "x" * size, 1)
    put(ctl, "q", "other", 1)
    reply, _ = commit_of(mnt, "new", expects=[f"path=p hash={hash_of(mnt / 'p')}"])
    assert reply.ok and (mnt / "p").read_text() == "new"
    reply, _ = commit_of(mnt, "late", expects=[f"path=p hash={hash_of(mnt / 'q')}"])
    assert reply.errno_name == reply.write_errno_name == "ECANCELED", reply
    assert reply.text == "the content of p is not as expected; it is at version 2", reply.raw
    assert (mnt / "p").read_text() == "new"


def test_expects_add_up_and_may_be_elsewhere(mnt, ctl):
    """A commit may hang on paths it does not change; one that fails refuses all."""
    put(ctl, "config", "1", 1)
    good = ["path=config version=1", "path=p absent=1", f"path=config hash={hash_of(mnt / 'config')}"]
    reply, _ = commit_of(mnt, "x", expects=[*good, "path=config version=2"])
    assert reply.errno_name == "ECANCELED" and reply["path"] == "config", reply.raw
    assert not (mnt / "p").exists()
    reply, _ = commit_of(mnt, "x", expects=good)
    assert reply.ok
    put(ctl, "config", "2", 1)
    reply, _ = commit_of(mnt, "y", expects=["path=config version=1"])
    assert reply.errno_name == "ECANCELED", reply.raw


def test_expect_means_the_tree_before_the_commit(mnt, ctl):
    reply, _ = commit_of(mnt, "x", expects=["path=p absent=1"])
    assert reply.ok, "what the session itself made does not count"


def test_expect_without_its_session(mnt, ctl):
    reply = ctl.expect_err("ENOENT", "expect", path="p", version=1)
    assert reply["key"] == "session", reply.raw
    ctl.expect_err("ENOENT", "expect", session="0" * 32, path="p", version=1)
    open_session(mnt, ctl, "p", 1)
    open_session(mnt, ctl, "q", 1)
    reply = ctl.expect_err("EINVAL", "expect", path="p", version=1)
    assert reply.text == "2 sessions are open here: say which with session=", reply.raw


def test_conditions_of_put_and_remove(mnt, ctl):
    put(ctl, "p", "one", 1, absent=1)
    reply = put_refused(ctl, "EEXIST", "p", "two", 1, absent=1)
    assert reply.text == "p exists, at version 1", reply.raw
    put(ctl, "p", "two", 1, version=1)
    reply = put_refused(ctl, "ECANCELED", "p", "three", 1, version=1)
    assert reply.text == "p is at version 2, not 1", reply.raw
    put(ctl, "p", "three", 1, hash=hash_of(mnt / "p"))
    put_refused(ctl, "ECANCELED", "p", "four", 1, hash="0" * 32)
    assert (mnt / "p").read_text() == "three"

    reply = ctl.expect_err("ECANCELED", "remove", path="p", token=1, version=2)
    assert reply.text == "p is at version 3, not 2", reply.raw
    assert (mnt / "p").exists()
    ctl.expect_ok("remove", path="p", token=1, version=3)
    assert not (mnt / "p").exists()
    ctl.expect_err("ENOENT", "remove", path="p", token=1)
    found = [(r["stage"], r["why"]) for r in records(ctl, "reject")]
    want = [("put", "EEXIST"), ("put", "ECANCELED"), ("put", "ECANCELED")]
    assert found == [*want, ("remove", "ECANCELED"), ("remove", "ENOENT")], found


def test_one_of_two_wins(mnt, ctl):
    """Optimistic concurrency: of two that build on version 1, the second has to look again."""
    put(ctl, "counter", "0", 1)
    jobs = [spawn(count_up, mnt, 25) for _ in range(3)]
    for job in jobs:
        job.wait_mark("ready")
    for job in jobs:
        job.resume()
    assert sum(job.result() for job in jobs) > 0, "they did meet"
    assert (mnt / "counter").read_text() == "75"
    assert version_of(mnt / "counter") == 76


def count_up(me, mnt, times):
    """Reads, adds one, writes if nobody else did; how often somebody did."""
    lost = 0
    with mnt.ctl() as ctl:
        me.pause("ready")
        for _ in range(times):
            while True:
                with open(mnt / "counter", "rb") as file:
                    version = int(os.getxattr(f"/proc/self/fd/{file.fileno()}", "user.fence.version"))
                    text = b"%d" % (int(file.read()) + 1)
                reply = ctl.request("put", text, path="counter", token=1, size=len(text), version=version)
                if reply.ok:
                    break
                assert reply.errno_name == "ECANCELED", reply.raw
                lost += 1
    return lost


# ------------------------------------------------------------------------------------------------ op=


def test_op_is_done_once(mnt, ctl):
    first, _ = commit_of(mnt, "first", op="job-7")
    assert first.ok and first["changed"] == "1"
    again, ident = commit_of(mnt, "again", op="job-7")
    assert again.ok and again["revision"] == first["revision"], again.raw
    assert (mnt / "p").read_text() == "first" and version_of(mnt / "p") == 1
    assert ctl.expect_ok("hello")["revision"] == first["revision"]
    assert outcome(ctl, session=ident) == ("committed", first["revision"])
    other, _ = commit_of(mnt, "other", op="job-8")
    assert other.ok and other.int("revision") > first.int("revision")
    assert (mnt / "p").read_text() == "other"


def test_op_of_put_and_remove(mnt, ctl):
    first = put(ctl, "p", "first", 1, op="k")
    assert put(ctl, "p", "again", 1, op="k")["revision"] == first["revision"]
    assert (mnt / "p").read_text() == "first"
    gone = ctl.expect_ok("remove", path="p", token=1, op="r")
    put(ctl, "p", "back", 1)
    assert ctl.expect_ok("remove", path="p", token=1, op="r")["revision"] == gone["revision"]
    assert (mnt / "p").read_text() == "back", "the second remove was the first one, sent again"


def test_op_belongs_to_its_path(mnt, ctl):
    put(ctl, "p", "p", 1, op="k")
    put(ctl, "q", "q", 1, op="k")
    assert (mnt / "q").read_text() == "q"
    assert outcome(ctl, path="p", op="k")[0] == "committed"
    assert outcome(ctl, path="other", op="k") == ("unknown", None)


def test_op_of_a_commit_without_changes(mnt, ctl):
    with mnt.ctl() as other:
        open_session(mnt, other, "p", 1)
        first = other.expect_ok("commit", op="nothing")
        assert first["changed"] == "0"
    again, _ = commit_of(mnt, "x", op="nothing")
    assert again.ok and again["revision"] == first["revision"], again.raw
    assert not (mnt / "p").exists()


def test_op_answers_also_who_has_been_overtaken(mnt, ctl):
    """The first outcome, whatever has happened since: its owner has to learn that it was in."""
    first = put(ctl, "p", "mine", 41, op="k")
    put(ctl, "p", "newer", 42)
    with mnt.ctl() as late:
        reply = put(late, "p", "mine", 41, op="k")
        assert reply["revision"] == first["revision"], reply.raw
        put_refused(late, "ESTALE", "p", "mine", 41, op="k2")
    assert (mnt / "p").read_text() == "newer"
    assert outcome(ctl, path="p", op="k") == ("committed", first["revision"])
    assert outcome(ctl, path="p", op="k2") == ("refused", None)


def test_refused_op_may_be_tried_again(mnt, ctl):
    put_refused(ctl, "ECANCELED", "p", "x", 1, op="k", version=1)
    assert outcome(ctl, path="p", op="k") == ("refused", None)
    reply = put(ctl, "p", "x", 1, op="k")
    assert outcome(ctl, path="p", op="k") == ("committed", reply["revision"])


def put_with_op(me, mnt, number):
    me.pause("ready")
    text = f"{number}".encode()
    with mnt.ctl() as ctl:
        return put(ctl, "p", text, 1, op="k")["revision"], number


def test_op_sent_by_many_at_once(mnt, ctl):
    jobs = [spawn(put_with_op, mnt, number) for number in range(8)]
    for job in jobs:
        job.wait_mark("ready")
    for job in jobs:
        job.resume()
    results = [job.result() for job in jobs]
    assert len({revision for revision, _ in results}) == 1, results
    assert version_of(mnt / "p") == 1 and ctl.expect_ok("hello")["revision"] == "1"


# ---------------------------------------------------------------------------------------------- once=


def test_once_is_one_write_per_ownership(mnt, ctl):
    first, _ = commit_of(mnt, "first", token=7, once=1)
    assert first.ok
    again, ident = commit_of(mnt, "again", token=7, once=1)
    assert again.ok and again["revision"] == first["revision"], again.raw
    assert (mnt / "p").read_text() == "first" and version_of(mnt / "p") == 1
    assert outcome(ctl, session=ident) == ("committed", first["revision"])
    put(ctl, "p", "next owner", 8, once=1)
    assert put(ctl, "p", "next owner, again", 8, once=1)["revision"] == str(first.int("revision") + 1)
    assert (mnt / "p").read_text() == "next owner"
    put(ctl, "p", "without", 8)
    assert (mnt / "p").read_text() == "without", "only who says once=1 is held to it"
    put_refused(ctl, "ESTALE", "p", "late", 7, once=1)


def test_once_in_a_directory(mnt, ctl):
    def fill(text):
        return lambda top: (top / text).touch()

    make_dir(mnt, "d")
    first, _ = commit_of(mnt, "", path="d", token=7, once=1, fill=fill("a"))
    again, _ = commit_of(mnt, "", path="d", token=7, once=1, fill=fill("b"))
    assert first.ok and again.ok and again["revision"] == first["revision"], again.raw
    assert os.listdir(mnt / "d") == ["a"]


# ----------------------------------------------------------------------------------------------- seq=


def test_seq_orders_the_commits_of_one_owner(mnt, ctl):
    assert commit_of(mnt, "1", seq=1)[0].ok
    assert commit_of(mnt, "5", seq=5)[0].ok
    for late in (5, 4, 1, 0):
        reply, ident = commit_of(mnt, "late", seq=late)
        assert reply.errno_name == reply.write_errno_name == "ESTALE", reply
        assert reply.text == (
            f"seq {late} under token 1 is not newer than seq 5 under token 1, the last one accepted on p"
        ), reply.raw
        assert outcome(ctl, session=ident) == ("refused", None)
    assert (mnt / "p").read_text() == "5"
    assert commit_of(mnt, "free")[0].ok, "without seq nothing is compared"
    assert commit_of(mnt, "5 again", seq=5)[0].errno_name == "ESTALE"
    assert commit_of(mnt, "6", seq=6)[0].ok
    assert commit_of(mnt, "a new owner begins anew", token=2, seq=0)[0].ok
    assert commit_of(mnt, "", token=2, seq=0)[0].errno_name == "ESTALE"


def test_seq_of_sessions_that_overlap(mnt, ctl):
    """Started 1, 2; finished 2, 1: the older content does not replace the newer."""
    one = open_session(mnt, ctl, "p", 1, owner="a")
    two = open_session(mnt, ctl, "p", 1, owner="b")
    one.path.write_text("1")
    two.path.write_text("2")
    ctl.expect_ok("commit", session=two.ident, seq=2)
    ctl.expect_err("ESTALE", "commit", session=one.ident, seq=1)
    assert (mnt / "p").read_text() == "2"


def test_seq_outlives_a_restart(mnt):
    assert commit_of(mnt, "5", seq=5)[0].ok
    mnt.kill()
    mnt.remount()
    assert commit_of(mnt, "5", seq=5)[0].errno_name == "ESTALE"
    assert commit_of(mnt, "6", seq=6)[0].ok


# ------------------------------------------------------------------------------------------ exclusive=


def test_exclusive_replaces_the_session_before(mnt, ctl):
    """A retried pod and its zombie twin, both with the token of the job."""
    with mnt.ctl() as twin:
        zombie = open_session(mnt, twin, "p", 7, owner="pod-1")
        zombie.path.write_text("zombie")
        newest = open_session(mnt, ctl, "p", 7, owner="pod-2", exclusive=1)
        with fails("ESTALE"):
            zombie.path.write_text("learns it early")
        newest.path.write_text("newest")
        reply = twin.expect_err("ESTALE", "commit")
        assert reply["token"] == "7" and reply["set_by"] == "pod-2", reply.raw
        assert "newer session" in reply.text, reply.raw
        ctl.expect_ok("commit")
    assert (mnt / "p").read_text() == "newest"
    (reject,) = records(ctl, "reject")
    assert (mnt / reject["data"]).read_text() == "zombie" and reject["why"] == "ESTALE", reject.raw


def test_exclusive_refuses_also_after_it_has_committed(mnt, ctl):
    with mnt.ctl() as twin:
        zombie = open_session(mnt, twin, "p", 7)
        zombie.path.write_text("zombie")
        newest = open_session(mnt, ctl, "p", 7, exclusive=1)
        newest.path.write_text("newest")
        ctl.expect_ok("commit")
        twin.expect_err("ESTALE", "commit")
    assert (mnt / "p").read_text() == "newest"


def test_without_exclusive_equals_do_not_disturb_each_other(mnt, ctl):
    with mnt.ctl() as twin:
        first = open_session(mnt, twin, "p", 7)
        open_session(mnt, ctl, "p", 7)
        first.path.write_text("first")
        twin.expect_ok("commit")
    assert (mnt / "p").read_text() == "first"


def test_exclusive_is_about_one_path_and_token(mnt, ctl):
    with mnt.ctl() as other:
        elsewhere = open_session(mnt, other, "q", 7)
        elsewhere.path.write_text("q")
        open_session(mnt, ctl, "p", 7, exclusive=1)
        other.expect_ok("commit")
        higher = open_session(mnt, other, "p", 8)
        higher.path.write_text("8")
        ctl.expect_err("ESTALE", "open", path="p", token=7, exclusive=1)
        other.expect_ok("commit", session=higher.ident)
    assert (mnt / "p").read_text() == "8" and (mnt / "q").read_text() == "q"


# -------------------------------------------------------------------------------------------- parents=


def test_parents_are_made_and_not_claimed(mnt, ctl):
    for verb in ("open", "put"):
        more = dict(size=0) if verb == "put" else {}
        ctl.expect_err("ENOENT", verb, path="a/b/c", token=7, **more)
    session = open_session(mnt, ctl, "a/b/c", 7, parents=1)
    session.path.write_text("x")
    assert not (mnt / "a").exists(), "made at commit"
    ctl.expect_ok("commit")
    assert (mnt / "a/b/c").read_text() == "x"
    for made in ("a", "a/b"):
        st = os.stat(mnt / made)
        assert (st.st_mode & 0o7777, st.st_uid, st.st_gid) == (0o755, 0, 0), made
        assert ctl.expect_ok("stat", path=made).get("highest") is None, "nobody's claim"
    put(ctl, "a/other/c", "y", 3, parents=1)
    put_refused(ctl, "ESTALE", "a/b/c", "y", 3, parents=1)
    with mnt.ctl() as low:
        low.expect_ok("claim", path="a/b/d", token=0)


def test_parents_made_by_two_at_once(mnt, ctl):
    with mnt.ctl() as other:
        one = open_session(mnt, ctl, "a/b/one", 1, parents=1)
        two = open_session(mnt, other, "a/b/two", 1, parents=1)
        one.path.write_text("1")
        two.path.write_text("2")
        ctl.expect_ok("commit")
        other.expect_ok("commit")
    assert sorted(os.listdir(mnt / "a/b")) == ["one", "two"]


def test_parents_of_nothing_are_not_made(mnt, ctl):
    open_session(mnt, ctl, "a/b/c", 7, parents=1)
    ctl.expect_ok("abort")
    assert not (mnt / "a").exists()


def test_parent_that_is_a_file(mnt, ctl):
    put(ctl, "a", "file", 1)
    ctl.expect_err("ENOTDIR", "open", path="a/b", token=7, parents=1)
    put_refused(ctl, "ENOTDIR", "a/b", "x", 7, parents=1)
    assert (mnt / "a").read_text() == "file"


# ------------------------------------------------------------------------------------- trailing slash


def test_trailing_slash_makes_a_directory(mnt, ctl):
    session = open_session(mnt, ctl, "jobs/", 7)
    assert session.path.is_dir(), "there from the start, in the session"
    assert not (mnt / "jobs").exists()
    assert ctl.expect_ok("commit")["changed"] == "1"
    assert (mnt / "jobs").is_dir() and os.listdir(mnt / "jobs") == []
    again = open_session(mnt, ctl, "jobs/", 7)
    (again.path / "x").touch()
    ctl.expect_ok("commit", session=again.ident)
    assert os.listdir(mnt / "jobs") == ["x"]
    assert ctl.expect_ok("stat", path="jobs/")["kind"] == "dir"


def test_trailing_slash_with_parents(mnt, ctl):
    session = open_session(mnt, ctl, "a/b/c/", 7, parents=1)
    (session.path / "f").write_text("x")
    ctl.expect_ok("commit")
    assert (mnt / "a/b/c/f").read_text() == "x"
    ctl.expect_err("ENOENT", "open", path="x/y/", token=7)


def test_trailing_slash_on_a_file(mnt, ctl):
    put(ctl, "f", "x", 1)
    ctl.expect_err("ENOTDIR", "open", path="f/", token=7)
    put_refused(ctl, "EISDIR", "d/", "x", 7)
    assert ctl.expect_ok("stat", path="f").get("highest") == "1", "a refused open claims nothing"


def test_without_a_slash_it_becomes_what_the_job_makes(mnt, ctl):
    session = open_session(mnt, ctl, "p", 7)
    assert not session.path.exists()
    with fails("EROFS"):
        (session.top / "q").touch()
    session.path.mkdir()
    (session.path / "x").touch()
    ctl.expect_ok("commit")
    assert os.listdir(mnt / "p") == ["x"]


# ------------------------------------------------------------------------------------------ keep=, ttl=


def test_kept_session_outlives_its_conversation(mnt, ctl):
    with mnt.ctl() as first:
        session = open_session(mnt, first, "p", 7, keep=1)
        session.path.write_text("x")
    assert session.is_there() and outcome(ctl, session=session.ident) == ("open", None)
    (listed,) = records(ctl, "session")
    want = dict(id=session.ident, path="p", token="7", uid="0", keep="1", state="open")
    assert {key: listed.get(key) for key in want} == want, listed.raw
    session.path.write_text("more")
    ctl.expect_ok("commit", session=session.ident)
    assert (mnt / "p").read_text() == "more"


def test_session_without_keep_ends_with_its_conversation(mnt, ctl):
    with mnt.ctl() as first:
        session = open_session(mnt, first, "p", 7)
        session.path.write_text("x")
        assert outcome(ctl, session=session.ident) == ("open", None)
    wait_until(lambda: outcome(ctl, session=session.ident)[0] != "open", "the session to end")
    assert outcome(ctl, session=session.ident) == ("aborted", None)
    wait_until(lambda: not session.is_there(), "its directory to go")  # a moment after the record of its end
    assert not (mnt / "p").exists()
    ctl.expect_err("ENOENT", "commit", session=session.ident)


def test_kept_session_ends_after_its_ttl(mnt, ctl):
    with mnt.ctl() as first:
        session = open_session(mnt, first, "p", 7, keep=1, ttl="200ms")
        longer = open_session(mnt, first, "q", 7, keep=1, ttl="1h")
    wait_until(lambda: not session.is_there(), "the ttl to run out")
    assert outcome(ctl, session=session.ident) == ("aborted", None)
    ctl.expect_err("ENOENT", "commit", session=session.ident)
    assert outcome(ctl, session=longer.ident) == ("open", None)
    assert not (mnt / "p").exists()
    wait_until(lambda: session.ident in mnt.log(), "the log to say so")


# --------------------------------------------------------------------------------------------- outcome


def test_outcome_after_a_reconnect(mnt, ctl):
    with mnt.ctl() as job:
        done = open_session(mnt, job, "p", 7)
        done.path.write_text("x")
        reply = job.expect_ok("commit", op="k")
        aborted = open_session(mnt, job, "q", 7)
        job.expect_ok("abort", session=aborted.ident)
    assert outcome(ctl, session=done.ident) == ("committed", reply["revision"])
    assert outcome(ctl, path="p", op="k") == ("committed", reply["revision"])
    assert outcome(ctl, session=aborted.ident) == ("aborted", None)
    assert outcome(ctl, session="0" * 32) == ("unknown", None)
    ctl.expect_err("EINVAL", "outcome", path="p")
    ctl.expect_err("EINVAL", "outcome", op="k")
    ctl.expect_err("EINVAL", "outcome")


def test_outcome_after_a_restart(mnt):
    with mnt.ctl() as job:
        done = open_session(mnt, job, "p", 7)
        done.path.write_text("x")
        reply = job.expect_ok("commit", op="k")
        put_refused(job, "ESTALE", "p", "late", 6, op="late")
        lost = open_session(mnt, job, "q", 7, keep=1)
        lost.path.write_text("x")
    mnt.kill()
    mnt.remount()
    with mnt.ctl() as ctl:
        assert outcome(ctl, session=done.ident) == ("committed", reply["revision"])
        assert outcome(ctl, path="p", op="k") == ("committed", reply["revision"])
        assert outcome(ctl, path="p", op="late") == ("refused", None)
        assert outcome(ctl, session=lost.ident) == ("aborted", None)
        assert put(ctl, "p", "again", 7, op="k")["revision"] == reply["revision"]
        assert (mnt / "p").read_text() == "x" and not (mnt / "q").exists()


# ------------------------------------------------------------------------------- commit, put and remove


def test_commit_finds_its_session(mnt, ctl):
    reply = ctl.expect_err("ENOENT", "commit")
    assert reply.text == "no session is open in this conversation", reply.raw
    first = open_session(mnt, ctl, "p", 1)
    second = open_session(mnt, ctl, "q", 1)
    ctl.expect_err("EINVAL", "commit")
    first.path.write_text("1")
    ctl.expect_ok("commit", session=first.ident)
    second.path.write_text("2")
    ctl.expect_ok("commit")
    assert (mnt / "q").read_text() == "2"
    ctl.expect_err("ENOENT", "commit", session="f" * 32)


def test_commit_of_nothing(mnt, ctl):
    put(ctl, "p", "x", 1)
    open_session(mnt, ctl, "p", 1)
    reply = ctl.expect_ok("commit")
    assert (reply["revision"], reply["changed"]) == ("1", "0"), reply.raw
    assert ctl.expect_ok("hello")["revision"] == "1" and version_of(mnt / "p") == 1


def test_mode_of_put(mnt, ctl):
    put(ctl, "p", "x", 1)
    assert os.stat(mnt / "p").st_mode == 0o100644
    put(ctl, "q", "x", 1, mode=600)
    assert os.stat(mnt / "q").st_mode == 0o100600
    put(ctl, "q", "y", 1)
    assert os.stat(mnt / "q").st_mode == 0o100600, "kept"
    put(ctl, "q", "y", 1, mode="0755")
    assert os.stat(mnt / "q").st_mode == 0o100755
    assert version_of(mnt / "q") == 3


def test_put_keeps_what_belongs_to_the_file(mnt, ctl):
    def fill(path):
        path.write_text("x")
        os.setxattr(path, "user.colour", b"red")
        os.chown(path, 4001, 4002)

    publish(mnt, "p", 1, fill)
    put(ctl, "p", "new content", 1)
    st = os.stat(mnt / "p")
    assert (st.st_uid, st.st_gid) == (4001, 4002)
    assert os.getxattr(mnt / "p", "user.colour") == b"red"
    assert (mnt / "p").read_text() == "new content"


def test_put_onto_other_things(mnt, ctl):
    make_dir(mnt, "d")
    put_refused(ctl, "EISDIR", "d", "x", 1)
    put_refused(ctl, "EINVAL", ".", "x", 1)
    publish(mnt, "link", 1, lambda path: path.symlink_to("target"))
    put(ctl, "link", "x", 1)
    assert not (mnt / "link").is_symlink() and (mnt / "link").read_text() == "x", "as rename over it"
    assert not (mnt / "target").exists()


def test_remove(mnt, ctl):
    put(ctl, "p", "x", 1)
    publish(mnt, "d/", 1, lambda top: (top / "f").touch())
    assert ctl.expect_ok("remove", path="p", token=1)["revision"] == "3"
    ctl.expect_err("ENOTEMPTY", "remove", path="d", token=1)
    ctl.expect_ok("remove", path="d/f", token=1)
    ctl.expect_ok("remove", path="d", token=1)
    assert os.listdir(mnt.path) == []
    ctl.expect_err("ENOENT", "remove", path="d", token=1)
    ctl.expect_err("EINVAL", "remove", path=".", token=1)


def test_stat_of_all_kinds(mnt, ctl):
    put(ctl, "f", "four", 3, owner="me")
    publish(mnt, "d/", 2, lambda top: (top / "l").symlink_to("x"))
    reply = ctl.expect_ok("stat", path="f")
    want = dict(path="f", kind="file", version="1", revision="1", token="3", size="4")
    want |= dict(highest="3", set_by="me")
    assert {key: reply.get(key) for key in want} == want, reply.raw
    assert ctl.expect_ok("stat", path="d")["kind"] == "dir"
    assert ctl.expect_ok("stat", path="d/l")["kind"] == "symlink"
    reply = ctl.expect_ok("stat", path="d/none")
    assert reply["kind"] == "absent" and reply["highest"] == "2" and "version" not in reply, reply.raw
    assert ctl.expect_ok("stat", path=".")["kind"] == "dir"
