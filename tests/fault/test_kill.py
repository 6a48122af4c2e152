# SPDX-License-Identifier: MIT
"""kill -9 of the daemon, and of the job: what was acknowledged is there, whole, and nothing else is."""

import errno
import itertools
import os
import random
import signal
import time

import pytest
from fenceharness import *
from fencelib import commit_loop
from fencelib.commit_loop import Report, Step, Writer
from fencelib.tracing import inject

# What a caller sees of a daemon that is gone.
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)

# Every way to publish, with content in the database and in files of its own.
SCRIPT = (
    Step(0, "tree", {"set/0": 100, "set/1": 70_000, "set/2": 4096, "note": 16_385}),
    Step(1, "put", {"a": 4096}),
    Step(2, "put", {"b": 70_000}),
    Step(3, "file", {"a": 20_000}),
    Step(4, "tree", {"set/0": 300, "set/1": 17_000, "note": 1}, rotate=True),
    Step(5, "remove", {"a": 0}),
    Step(6, "claim", {"c": 0}),
    Step(7, "file", {"b": 10}),
)


def check_after(mnt: Mount, found: list[tuple[Writer, Report]]):
    assert os.listdir(mnt.store.path / "staging") == [], "staging is not empty after a start"
    with mnt.ctl() as ctl:
        for writer, report in found:
            writer.check(mnt.path, ctl, report)


def check_database(store: Store):
    assert store.query("PRAGMA integrity_check") == [("ok",)]


def kill_in_loop(mnt: Mount, writers: list[Writer], rng: random.Random):
    children = [spawn(commit_loop.work, mnt.path, writer) for writer in writers]
    rng.choice(children).wait_mark("running")
    time.sleep(rng.uniform(0, 0.03))  # waits for nothing: any moment of the loop will do
    mnt.kill()
    reports = [child.result() for child in children]
    for report in reports:
        assert report.error and report.error.errno in GONE, f"ended by {report.error!r}"
    mnt.start(f"passthrough={rng.choice(['on', 'off'])}")
    check_after(mnt, list(zip(writers, reports)))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", [1, 2])
def test_daemon_killed_in_a_loop_of_commits(store, seed):
    rng = random.Random(seed)
    mnt = store.mount("passthrough=on")
    writers = [Writer(number, seed) for number in range(3)]
    for _ in range(100):
        kill_in_loop(mnt, writers, rng)
    assert sum(writer.acked for writer in writers) >= 100  # one in each round is waited for
    check_database(store)


def start_or_die(mnt: Mount) -> bool:
    """Whether the daemon got as far as to answer; when not, it was killed before."""
    try:
        mnt.start("passthrough=on")
        return True
    except AssertionError:
        assert mnt.daemon.wait() == -signal.SIGKILL, mnt.daemon.output()
        return False


def run_script(mnt: Mount, writer: Writer) -> Report:
    """The script, then an orderly end; a daemon that is to be killed is so somewhere in it."""
    if not start_or_die(mnt):
        return Report(0, writer.revision, None)
    report = spawn(commit_loop.work, mnt.path, writer, len(SCRIPT)).result()
    run("umount", mnt.path)
    return report


@pytest.mark.timeout(120)
@pytest.mark.parametrize("call", ["pwrite64/5", "fdatasync/1", "fsync/1", "renameat2/1", "unlinkat/1"])
def test_daemon_killed_at_every(store, tmp, call):
    """Killed as it enters the Nth such call of any thread, for every N (or every 5th) of a script."""
    call, _, step = call.partition("/")
    mnt = Mount(store)
    writer = Writer(0, script=SCRIPT)
    for nth in itertools.count(1, int(step)):
        writer.rewind()
        mnt.wrapper = inject(tmp / "strace", call, f"signal=KILL:when={nth}")
        report = run_script(mnt, writer)
        status = mnt.daemon.wait()
        assert report.error is None or report.error.errno in GONE, f"ended by {report.error!r}"
        assert status == -signal.SIGKILL or (status == 0 and not report.error), status
        mnt.wrapper = ()
        mnt.start()
        check_after(mnt, [(writer, report)])
        mnt.unmount()
        if status == 0:
            break
    assert nth > int(step), "it was never killed"
    check_database(store)


def leave(me, mount, path: str, size: int):
    """Writes into a session and never commits it."""
    with Ctl(mount) as ctl:
        session = ctl.expect_ok("open", path=path, token=7)["session"]
        with open(f"{mount}/.fence/sessions/{session}/{path}", "wb") as file:
            file.write(b"x" * size)
            file.flush()
            me.pause(session)


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_job_killed(mnt, ctl, size):
    """Its session goes with it, nothing is published, what it wrote is removed; its fence stays."""
    job = spawn(leave, mnt.path, "p", size)
    wait_until(lambda: ctl.expect_ok("list kind=session").get("path"), "its session")
    session = ctl.expect_ok("list kind=session")
    job.wait_mark(session["id"])
    assert session["state"] == "open" and session["token"] == "7"
    job.kill()
    wait_until(lambda: ctl.expect_ok("list kind=session").get("end"), "the end of its session")
    wait_until(lambda: not mnt.store.staged(), "the removal of what it had staged")
    assert not os.path.lexists(mnt / "p")
    assert not os.path.lexists(mnt.session(session["id"]))
    assert ctl.expect_ok("outcome", session=session["id"])["outcome"] == "aborted"
    assert ctl.expect_ok("stat", path="p")["highest"] == "7"
    assert os.listdir(mnt.path) == []
