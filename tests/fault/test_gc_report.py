# SPDX-License-Identifier: MIT
"""gc to those who wait for it: progress, a database that others hold, space that comes back."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess

import pytest
from fenceharness import *
from fenceharness.paths import program_env
from fencelib.tracing import injecting

FILE = 20_000  # a file of its own in blobs/


def refused(mnt: Mount, count: int):
    """Orphans: @count late writes."""
    with mnt.ctl() as ctl:
        ctl.expect_ok("claim", path="late", token=5)
        for number in range(count):
            ctl.expect_err("ESTALE", "put", b"%5d" % number * (FILE // 5), path="late", token=4, size=FILE)


def sweep(target, *options, rc=0):
    return fence("gc", "--json", "--grace", "0", *options, target, rc=rc)


def wait_for_stage(ctl: Ctl, stage: str):
    wait_until(lambda: ctl.request("list kind=gc").get("stage") == stage, f"gc to be at {stage}")


LINE = re.compile(r"gc: [a-z ]+(, \d+ of \d+ \(\d+%\)|, \d+)?, \d+ s")


def test_a_line_for_each_sigusr1(mnt, ctl, tmp):
    """No terminal: no bar; one line for each signal; the report is not disturbed."""
    refused(mnt, 5)
    with injecting(mnt, tmp / "log", "unlinkat", "delay_enter=500ms"):
        process = subprocess.Popen(
            [fence_program(), "gc", "--grace", "0", mnt.path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=program_env(),
        )  # fmt: skip
        wait_for_stage(ctl, "sweep")
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            line = process.stderr.readline()
            assert LINE.fullmatch(line.rstrip("\n")), line
            assert line.startswith("gc: sweep, "), line
    out, err = process.communicate()
    assert process.returncode == 0 and err == "", err
    assert out == "removed, of refused writes: 5 (98 KiB)\n", out


@pytest.mark.parametrize("where", ["mounted", "offline"])
def test_a_bar_on_a_terminal(mnt, store, tmp, where):
    """It comes, and is gone before the report."""
    refused(mnt, 8)
    args = ["gc", "--grace", "0"]
    if where == "mounted":
        with injecting(mnt, tmp / "log", "unlinkat", "delay_enter=300ms"):
            terminal = Terminal(fence_program(), *args, str(mnt.path))
            terminal.expect("] gc: sweep")
    else:
        mnt.unmount()
        wrapped = ["strace", "-qq", "-o", tmp / "log", "--inject=unlinkat:delay_enter=300ms"]
        terminal = Terminal(*map(str, [*wrapped, fence_program(), *args, store.path]))
        terminal.expect("] gc: ")
    terminal.expect("removed, of refused writes: 8 (156 KiB)")
    assert terminal.passed.endswith("\r\033[K"), terminal.passed
    assert terminal.end() == 0


@pytest.mark.parametrize("call", ["getdents64", "pread64"])
def test_daemon_cannot_read(mnt, store, tmp, call):
    """It removes nothing, says so, goes on serving, and removes it the next time."""
    refused(mnt, 3)
    mnt.unmount()
    mnt.start()  # what it has read of the database is in no cache
    mnt.allow_log("Input/output error|database disk image is malformed")  # what SQLite makes of EIO
    before = sorted(path.name for path in store.blobs())
    with injecting(mnt, tmp / "log", call, "error=EIO"):
        done = sweep(mnt, rc=None)
    if call == "getdents64":
        assert done.rc == 1 and "nothing is removed" in done.err, (done.rc, done.err)
    else:  # it need not even come to ask
        assert done.rc in (1, 20) and done.err, done
    assert sorted(path.name for path in store.blobs()) == before
    assert sweep(mnt).json()["removed"]["refused"]["count"] == 3


@contextlib.contextmanager
def held(store: Store):
    """The database as a program holds it that takes it for itself alone: SQLITE_BUSY to everybody else."""
    with contextlib.closing(sqlite3.connect(store.path / "meta.db", isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("SELECT count(*) FROM entry").fetchall()
        yield
        db.execute("ROLLBACK")


def test_database_held_by_another_program(mnt, store):
    """Nothing can be read, nothing is removed; afterwards it can be."""
    refused(mnt, 3)
    mnt.unmount()
    before = sorted(path.name for path in store.blobs())
    with held(store):
        done = sweep(store, rc=1)
    assert done.err.endswith(
        f"cannot open the database {store.path}/meta.db: another program holds it: see fuser {store.path}/meta.db\n"
    ), done.err
    assert sorted(path.name for path in store.blobs()) == before
    assert sweep(store).json()["removed"]["refused"]["count"] == 3


@pytest.mark.parametrize("where", ["mounted", "offline"])
@pytest.mark.timeout(120)
def test_space_of_the_database_comes_back(mnt, store, where):
    """Inline content of pruned versions: its pages go back to the file system."""
    with mnt.ctl() as ctl:
        for number in range(1500):
            data = os.urandom(8000)
            ctl.expect_ok("put", data, path=f"p{number % 3}", token=1, size=len(data))
    mnt.unmount()  # the WAL goes into the database
    before = (store.path / "meta.db").stat().st_size
    assert before > 1500 * 8000
    if where == "mounted":
        mnt.start()
    told = sweep(mnt if where == "mounted" else store, "--keep-last", "1").json()
    assert told["versions_pruned"] == 1497 and told["pages_returned"] > 1000, told
    want = before - told["pages_returned"] * 4096 * 0.9
    # While it is mounted, too: the WAL is checkpointed.
    wait_until(lambda: (store.path / "meta.db").stat().st_size < want, "the database to be smaller")
    if where == "mounted":
        mnt.unmount()
    assert fence("fsck", "--data", store).rc == 0
