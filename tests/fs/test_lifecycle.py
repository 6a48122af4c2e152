# SPDX-License-Identifier: MIT
"""Ends and beginnings: of jobs, sessions, daemons and mounts, the orderly and the sudden ones."""

import os
import signal
import subprocess

import pytest
from fenceharness import *
from fencelib.dialog import errno_name, errno_of, fails, make_dir, open_session, publish, put, put_refused, records


def outcome(ctl, ident) -> str:
    return ctl.expect_ok("outcome", session=ident)["outcome"]


def wait_ended(ctl, ident) -> str:
    wait_until(lambda: outcome(ctl, ident) != "open", f"session {ident} to end")
    return outcome(ctl, ident)


def the_session(ctl) -> str:
    (found,) = records(ctl, "session")
    return found["id"]


# ------------------------------------------------------------------------------------- the end of a job


def job(me, mnt, keep=0):
    """Has a session with a file written, one being written, one mapped; never comes to its commit."""
    ctl = mnt.ctl()
    session = open_session(mnt, ctl, "d", 41, owner="A", keep=keep)
    (session.path / "whole").write_bytes(b"w" * 100_000)
    out = open(session.path / "part", "wb", buffering=0)
    out.write(b"p" * 1000)
    os.unlink(session.path / "old")
    os.chdir(session.path)
    me.pause("in the middle")


@pytest.mark.mount_options("passthrough=auto", "passthrough=off")
def test_killed_job_publishes_nothing(mnt, ctl):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "old").write_text("old"))
    victim = spawn(job, mnt)
    victim.wait_mark("in the middle")
    ident = the_session(ctl)
    assert mnt.store.staged()
    before = ctl.expect_ok("hello")["revision"]
    victim.kill(signal.SIGKILL)

    assert wait_ended(ctl, ident) == "aborted"
    assert records(ctl, "session") == []
    with fails("ENOENT"):
        os.stat(mnt.session(ident))
    assert ident not in os.listdir(mnt / ".fence/sessions")
    assert os.listdir(mnt / "d") == ["old"] and (mnt / "d/old").read_text() == "old"
    assert ctl.expect_ok("hello")["revision"] == before
    wait_until(lambda: not mnt.store.staged(), "what it had staged to go")
    assert records(ctl, "reject") == [], "nobody refused it"
    ctl.expect_err("ENOENT", "commit", session=ident)
    put(ctl, "d/next", "a later owner is free to write", 42)


def test_job_killed_while_it_writes(mnt, ctl):
    for _ in range(10):
        victim = spawn(write_for_ever, mnt)
        victim.wait_mark("writing")
        victim.kill(signal.SIGKILL)
    wait_until(lambda: records(ctl, "session") == [], "all sessions to end")
    wait_until(lambda: not mnt.store.staged(), "what they had staged to go")
    assert os.listdir(mnt.path) == []


def write_for_ever(me, mnt):
    ctl = mnt.ctl()
    session = open_session(mnt, ctl, "d/", 41)
    me.mark("writing")
    number = 0
    while True:
        (session.path / f"f{number % 50}").write_bytes(b"x" * 50_000)
        number += 1


def test_job_killed_while_it_commits(mnt, ctl):
    """In or out, whole either way, and outcome says which."""
    seen = set()
    for number in range(20):
        victim = spawn(commit_and_die, mnt, f"d{number}")
        victim.wait_mark("committing")
        ident = the_session(ctl) if number % 2 else None
        victim.kill(signal.SIGKILL)
        if ident:
            result = wait_ended(ctl, ident)
            assert (result == "committed") == (mnt / f"d{number}").exists(), result
        wait_until(lambda: records(ctl, "session") == [], "the session to end")
        if (mnt / f"d{number}").exists():
            assert len(os.listdir(mnt / f"d{number}")) == 30
        seen.add((mnt / f"d{number}").exists())


def commit_and_die(me, mnt, path):
    ctl = mnt.ctl()
    session = open_session(mnt, ctl, f"{path}/", 41)
    for number in range(30):
        (session.path / f"f{number}").write_bytes(b"x" * 20_000)
    me.mark("committing")
    ctl.request("commit")
    me.pause("done")


def test_kept_session_survives_its_killed_job(mnt, ctl):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "old").touch())
    victim = spawn(job, mnt, 1)
    victim.wait_mark("in the middle")
    ident = the_session(ctl)
    victim.kill(signal.SIGKILL)
    assert outcome(ctl, ident) == "open"
    assert ctl.expect_ok("commit", session=ident)["changed"] == "3"
    assert sorted(os.listdir(mnt / "d")) == ["part", "whole"]


def test_child_that_inherits_ctl_keeps_the_session(mnt, ctl):
    """The conversation ends at its final close, in whatever process."""
    with mnt.ctl() as first:
        session = open_session(mnt, first, "p", 41)
        heir = spawn(hold, keep_fds=[first.fd])
        heir.wait_mark("holding")
    session.path.write_text("x")
    assert outcome(ctl, session.ident) == "open"
    heir.kill(signal.SIGKILL)
    assert wait_ended(ctl, session.ident) == "aborted"


def hold(me):
    me.pause("holding")


# ---------------------------------------------------------------------------------------------- salvage


def check_salvaged(mnt, ctl, ident, stage):
    """Both of the job's files are kept, with what was written of them (P9)."""
    found = {r["path"]: r for r in records(ctl, "reject") if r["stage"] == stage}
    assert set(found) == {"d/whole", "d/part"}, [r.raw for r in records(ctl, "reject")]
    for reject in found.values():
        want = dict(token="41", highest="42", held_by="B", held_path="d", owner="A", session=ident)
        want |= dict(why="ESTALE")
        assert {key: reject.get(key) for key in want} == want, reject.raw
    assert (mnt / found["d/whole"]["data"]).read_bytes() == b"w" * 100_000
    assert (mnt / found["d/part"]["data"]).read_bytes() == b"p" * 1000
    assert os.listdir(mnt / "d") == ["old"]


@pytest.mark.parametrize("end", ["abort", "kill"])
def test_overtaken_session_is_salvaged(mnt, ctl, end):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "old").touch())
    victim = spawn(job, mnt)
    victim.wait_mark("in the middle")
    ident = the_session(ctl)
    ctl.expect_ok("claim", path="d", token=42, owner="B")
    (listed,) = records(ctl, "session")
    assert listed["state"] == "overtaken", listed.raw
    if end == "kill":
        victim.kill(signal.SIGKILL)
    else:
        ctl.expect_ok("abort", session=ident)
    assert wait_ended(ctl, ident) == "refused"
    check_salvaged(mnt, ctl, ident, "abort")
    with fails("ENOENT"):
        os.stat(mnt.session(ident))


@pytest.mark.parametrize("end", ["terminate", "unmount"])
def test_overtaken_session_is_salvaged_when_the_daemon_ends(mnt, end):
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "old").touch())
    victim = spawn(job, mnt, 1)
    victim.wait_mark("in the middle")
    with mnt.ctl() as ctl:
        ident = the_session(ctl)
        ctl.expect_ok("claim", path="d", token=42, owner="B")
    victim.kill(signal.SIGKILL)
    mnt.terminate() if end == "terminate" else mnt.unmount()
    mnt.start()
    with mnt.ctl() as ctl:
        assert outcome(ctl, ident) == "refused"
        check_salvaged(mnt, ctl, ident, "abort")


def test_rejects_outlive_a_crash(mnt):
    with mnt.ctl() as ctl:
        ctl.expect_ok("claim", path="p", token=42, owner="B")
        put_refused(ctl, "ESTALE", "p", b"late" * 10_000, 41)
        put_refused(ctl, "ESTALE", "p", b"small", 41)
    mnt.kill()
    mnt.remount()
    with mnt.ctl() as ctl:
        large, small = records(ctl, "reject")
        assert (mnt / large["data"]).read_bytes() == b"late" * 10_000
        assert (mnt / small["data"]).read_bytes() == b"small"


# --------------------------------------------------------------------------------- the end of the daemon


def test_killed_daemon(mnt):
    """After a restart: what was acknowledged is there, sessions are gone, staging is empty, fences hold."""
    make_dir(mnt, "d")
    publish(mnt, "d", 1, lambda top: (top / "old").write_text("old"))
    with mnt.ctl() as ctl:
        put(ctl, "small", "s", 42, owner="B")
        put(ctl, "large", b"l" * 1_000_000, 42, owner="B")
        ctl.expect_ok("claim", path="shut", token=42, owner="B")
        revision = ctl.expect_ok("hello")["revision"]
    victim = spawn(job, mnt, 1)
    victim.wait_mark("in the middle")
    with mnt.ctl() as ctl:
        ident = the_session(ctl)
    assert mnt.store.staged()
    mnt.kill()
    with fails("ENOTCONN"):
        os.listdir(mnt.path)
    victim.kill(signal.SIGKILL)

    mnt.remount()
    assert mnt.store.staged() == []
    with mnt.ctl() as ctl:
        assert ctl.expect_ok("hello")["revision"] == revision
        assert outcome(ctl, ident) == "aborted"
        assert records(ctl, "session") == []
        ctl.expect_err("ENOENT", "commit", session=ident)
        with fails("ENOENT"):
            os.stat(mnt.session(ident))
        for path in ("small", "large", "shut"):
            reply = ctl.expect_err("ESTALE", "claim", path=path, token=41)
            assert reply["set_by"] == "B", reply.raw
        assert (mnt / "small").read_text() == "s"
        assert (mnt / "large").read_bytes() == b"l" * 1_000_000
        assert os.listdir(mnt / "d") == ["old"]
        put(ctl, "next", "x", 1)
        assert ctl.expect_ok("hello")["revision"] == str(int(revision) + 1)


def test_stale_mount_is_healed_by_starting_again(mnt):
    with mnt.ctl() as ctl:
        put(ctl, "p", "x", 1)
    for _ in range(3):
        mnt.kill()
        with fails("ENOTCONN"):
            os.stat(mnt / "p")
        mnt.remount()
        assert (mnt / "p").read_text() == "x"
        assert len(mounts_beneath(mnt.path)) == 1, "the dead one is gone, not covered"


def test_stale_mount_in_use_is_healed_too(mnt):
    """Processes that still have the dead mount open keep it; the path shows the new one."""
    with mnt.ctl() as ctl:
        put(ctl, "p", b"x" * 100_000, 1)
    holder = spawn(hold_open, mnt.path)
    holder.wait_mark("holding")
    mnt.kill()
    mnt.remount()
    assert (mnt / "p").read_bytes() == b"x" * 100_000
    assert len(mounts_beneath(mnt.path)) == 1
    holder.resume()
    assert holder.result() in ("ENOTCONN", "ECONNABORTED")


def hold_open(me, path):
    os.chdir(path)
    with open("p", "rb"):
        me.pause("holding")
        return errno_of(os.open, "p", os.O_RDONLY)


def test_stale_mount_of_another_store_is_left_alone(mnt, tmp):
    other = Store(tmp / "other")
    mnt.kill()
    done = run(fencefs_program(), other, mnt.path, rc=1)
    text = f"{mnt.path} is a dead mount of fuse.fencefs {mnt.store.path}, not of this store"
    assert text in done.stderr, done.stderr
    assert "umount -l" in done.stderr
    mnt.remount()


# ----------------------------------------------------------------------------------------- who may serve


@pytest.mark.parametrize("how", ["same mount point", "another", "foreground"])
def test_second_daemon_is_refused(mnt, tmp, how):
    place = mnt.path if how == "same mount point" else tmp
    flags = ["-f"] if how == "foreground" else []
    done = run(fencefs_program(), *flags, mnt.store, place, rc=1)
    assert f"pid {mnt.pid}" in done.stderr, done.stderr
    assert str(mnt.path) in done.stderr.replace(str(mnt.store.path), ""), done.stderr
    assert mounts_beneath(tmp) == [] and len(mounts_beneath(mnt.path)) == 1
    with mnt.ctl() as ctl:
        put(ctl, "p", "the first one goes on", 1)


def test_daemon_returns_when_the_mount_answers(store, tmp):
    """Without -f: the next command finds the mount working."""
    done = run(fencefs_program(), store, tmp)
    assert done.stdout == done.stderr == "", done
    try:
        with Ctl(tmp) as ctl:
            assert ctl.expect_ok("hello")["mount"] == str(tmp)
            put(ctl, "p", "x", 1)
        assert (tmp / "p").read_text() == "x"
    finally:
        run("umount", tmp)
    wait_until(lambda: is_free(store, tmp), "the daemon to be gone")


def is_free(store, place) -> bool:
    """Whether the store can be served again: then its daemon has ended. Ends what it starts."""
    probe = subprocess.Popen([fencefs_program(), "-f", store, place], stderr=subprocess.PIPE, text=True)
    line = probe.stderr.readline()
    if "mounted at" in line:
        probe.terminate()
    probe.communicate(timeout=20)
    return "mounted at" in line


@pytest.mark.parametrize("case", [
        ("nothing", "no-such-store", "no-such-store: No such file or directory"),
        ("not a store", "plain", "is not a fencefs store"),
        ("no mount point", "store", "no-such-place: No such file or directory"),
    ])
def test_start_that_fails(store, tmp, case):
    """The one who started it gets the reason and a status; nothing stays mounted."""
    _, name, text = case
    (tmp / "plain").mkdir()
    place = tmp / ("no-such-place" if name == "store" else "plain")
    for flags in ([], ["-f"]):
        path = store.path if name == "store" else tmp / name
        done = run(fencefs_program(), *flags, path, place, rc=1)
        assert text in done.stderr, done.stderr
        assert done.stderr.startswith("fencefs: "), done.stderr
    assert mounts_beneath(tmp) == []


# ------------------------------------------------------------------------------------- the end of a mount


def umount(mnt):
    return subprocess.run(["umount", mnt.path], capture_output=True, text=True, check=False, timeout=30)


def test_busy_mount_stays(mnt):
    """An open file, a directory and a session in use each keep it; afterwards it goes, with status 0."""
    with mnt.ctl() as ctl:
        put(ctl, "p", "x", 1)
        done = umount(mnt)
        assert done.returncode == 32 and "busy" in done.stderr, done
        session = open_session(mnt, ctl, "p", 1)
        assert umount(mnt).returncode == 32
        assert session.is_there(), "a refused umount ends no session"
        session.path.write_text("y")
        ctl.expect_ok("commit")
    with open(mnt / "p", "rb") as file:
        done = umount(mnt)
        assert done.returncode == 32 and "busy" in done.stderr, done
        assert file.read() == b"y"
    wait_until(lambda: not mnt.users(), "the last user to be gone")
    mnt.unmount()


def test_unmount_ends_kept_sessions(mnt):
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, "p", 1, keep=1)
        session.path.write_bytes(b"x" * 100_000)
    mnt.unmount()
    assert mnt.store.staged() == []
    mnt.start()
    with mnt.ctl() as ctl:
        assert outcome(ctl, session.ident) == "aborted"
        assert records(ctl, "session") == [] and os.listdir(mnt.path) == []


def unit(name, number) -> bytes:
    """Content of file number @number: small ones lie in the database, large ones in blobs/."""
    return f"{name} {number} ".encode() * (1 if number % 2 else 3000)


def committer(me, mnt, name, stop):
    """Puts files until the mount goes or @stop exists; how many were acknowledged, and which had no answer."""
    number = 0
    try:
        with mnt.ctl() as ctl:
            while not stop.exists():
                data = unit(name, number)
                reply = ctl.request("put", data, path=f"{name}-{number}", token=1, size=len(data))
                if reply.errno_name == "ESHUTDOWN":
                    return number, None
                assert reply.ok, reply.raw
                number += 1
                if number == 5:
                    me.mark("going")
            return number, None
    except ProtocolError:
        return number, number  # the mount went before the reply was read
    except OSError as error:
        assert errno_name(error.errno) in ("ENOTCONN", "ECONNABORTED", "ENOENT"), error
        return number, number


@pytest.mark.parametrize("how", ["SIGTERM", "lazy umount"])
def test_accepted_commits_are_finished(mnt, tmp, how):
    """Every ok is there, each whole, and nothing but them and what was under way."""
    names = [f"job{i}" for i in range(4)]
    jobs = [spawn(committer, mnt, name, tmp / "stop") for name in names]
    for job in jobs:
        job.wait_mark("going")
    if how == "SIGTERM":
        mnt.terminate()
    else:
        run("umount", "--lazy", mnt.path)  # whoever has it open goes on, until the last one closes
        (tmp / "stop").touch()
    results = [job.result() for job in jobs]
    assert mnt.daemon.wait() == 0
    assert sum(done for done, _ in results) >= 20

    mnt.start()
    found = set(os.listdir(mnt.path))
    for name, (done, pending) in zip(names, results):
        own = {file for file in found if file.startswith(name + "-")}
        acknowledged = {f"{name}-{number}" for number in range(done)}
        assert acknowledged <= own, f"acknowledged and lost: {sorted(acknowledged - own)}"
        assert own - acknowledged <= {f"{name}-{pending}"}, f"never answered: {sorted(own - acknowledged)}"
        for file in own:
            assert (mnt / file).read_bytes() == unit(name, int(file.rpartition("-")[2])), file
    with mnt.ctl() as ctl:
        assert int(ctl.expect_ok("hello")["revision"]) == len(found)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_that_end_it(mnt, number):
    """Also with files open: the mount goes at once, whoever is in it gets an error, the status is 0."""
    ctl = mnt.ctl()
    put(ctl, "p", "x", 1)
    session = open_session(mnt, ctl, "q", 1)
    file = os.open(session.path, os.O_CREAT | os.O_WRONLY)
    os.write(file, b"x" * 100_000)
    mnt.daemon.signal(number)
    assert mnt.daemon.wait() == 0, mnt.daemon.output()
    assert mounts_beneath(mnt.path) == []
    assert errno_name(ctl.send("hello")) == "ENOTCONN"
    errno_of(os.close, file)
    errno_of(ctl.close)
    assert mnt.store.staged() == []
    mnt.start()
    assert os.listdir(mnt.path) == ["p"]
    with mnt.ctl() as ctl:
        assert outcome(ctl, session.ident) == "aborted"


def test_stopped_daemon_answers_when_it_goes_on(mnt, ctl):
    """A daemon that the machine pauses: callers wait, and can be killed meanwhile."""
    put(ctl, "p", "x", 1)
    victim = spawn(ask, mnt)
    other = spawn(ask, mnt)
    for one in (victim, other):
        one.wait_mark("ready")
    mnt.daemon.stop()
    for one in (victim, other):
        one.resume()
    victim.kill(signal.SIGKILL)
    assert not victim.is_alive(), "waiting for a stopped daemon is no protection from kill -9"
    mnt.daemon.cont()
    assert other.result() == "absent"


def ask(me, mnt):
    with mnt.ctl() as ctl:
        me.pause("ready")
        return ctl.expect_ok("stat", path="q")["kind"]


# ------------------------------------------------------------------------------------- the store's lock


def test_store_can_be_served_at_another_place(mnt):
    with mnt.ctl() as ctl:
        put(ctl, "p", "x", 42)
    mnt.unmount()
    other = mnt.store.mount()
    assert (other / "p").read_text() == "x" and os.listdir(mnt.path) == []
    with other.ctl() as ctl:
        assert ctl.expect_ok("hello")["mount"] == str(other.path)
        ctl.expect_err("ESTALE", "claim", path="p", token=41)
