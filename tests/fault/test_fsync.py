# SPDX-License-Identifier: MIT
"""EIO of every fsync: the session is lost and said so, and nothing that was acknowledged is missing."""

import contextlib
import errno
import re
import shutil
import sqlite3
from dataclasses import dataclass

import pytest
from fenceharness import *
from fencelib import commit_loop
from fencelib.commit_loop import Refused, Step, content, is_tree, open_session, perform, read_tree
from fencelib.tracing import inject, injecting, most_in_a_thread, strace, was_injected

TOP = "w0"
FIRST = Step(0, "tree", {"set/0": 1, "note": 1})

# Every way to publish, with content in the database and in files of its own. No step needs another one.
SCRIPT = (
    Step(1, "tree", {"set/0": 100, "set/1": 70_000, "set/2": 40_000, "note": 16_385}),
    Step(2, "put", {"a": 4096}),
    Step(3, "put", {"b": 70_000}),
    Step(4, "file", {"a": 20_000}),
    Step(5, "file", {"c": 10}),
    Step(6, "tree", {"set/0": 300, "set/3": 17_000, "note": 1}),
    Step(7, "remove", {"note": 0}),
    Step(8, "claim", {"c": 0}),
    Step(9, "put", {"a": 1}),
)


@dataclass
class Attempt:
    step: Step
    session: str | None = None
    errno: int | None = None  # None: acknowledged
    verb: str | None = None  # that was refused
    again: str | None = None  # the answer to a second commit of a refused session

    def __str__(self):
        answer = "ok" if self.errno is None else f"{self.verb} {errno.errorcode[self.errno]}"
        return f"{self.step.number} {self.step.kind}: {answer}"

    @property
    def is_unknown(self) -> bool:
        return self.errno == errno.EREMOTEIO and self.verb != "open"


def attempt(mount, ctl: Ctl, step: Step) -> Attempt:
    one = Attempt(step)
    try:
        if step.kind in ("tree", "file"):
            one.session = open_session(mount, ctl, TOP, step)
            commit_loop.commit(ctl, one.session)
            ctl.reply()
        else:
            perform(mount, ctl, TOP, step)
    except Refused as refused:
        one.errno, one.verb = refused.errno, refused.verb
        if one.verb == "commit":
            one.again = ctl.request("commit", session=one.session).errno_name
    return one


def attempt_all(_me, mount) -> list[Attempt]:
    with Ctl(mount) as ctl:
        return [attempt(mount, ctl, step) for step in SCRIPT]


def check_answers(attempts: list[Attempt], log: str):
    """A failed session is lost and cannot be committed after all; one failed write of the database ends all."""
    text = "; ".join(map(str, attempts))
    failed = [one for one in attempts if one.errno is not None]
    assert {one.errno for one in failed} <= {errno.EIO, errno.EREMOTEIO}, text
    if failed and "read-only" in log:
        assert failed == attempts[attempts.index(failed[0]) :], f"a write after a failed one: {text}"
        assert all(one.errno == errno.EIO for one in failed[1:]), text
        return
    for one in failed:  # one of each thread that seals, at most
        assert one.errno == errno.EIO and max(one.step.files.values()) > 16384, text
        if one.session:
            assert f"session {one.session} on {one.step.claimed(TOP)} is lost" in log, log
            assert one.again in ("EIO", "ESTALE", "ENOENT"), f"committed again: {one.again}"


def possible_states(attempts: list[Attempt], state: dict) -> list[dict]:
    """EIO: nothing of it was published. EREMOTEIO of what publishes: all of it or nothing."""
    states = [state]
    for one in attempts:
        after = [one.step.apply(state) for state in states]
        if one.errno is None:
            states = after
        elif one.is_unknown:
            states += after
    return states


def check_outcome(ctl: Ctl, one: Attempt):
    """`outcome` says of a session, after the restart, what the tree says."""
    outcome = ctl.expect_ok("outcome", session=one.session)["outcome"]
    name = next(iter(one.step.files))
    is_there = ctl.expect_ok("stat", path=f"{TOP}/{name}").get("token") == str(one.step.token)
    if is_there:
        assert outcome == "committed", (str(one), outcome)
    else:
        assert outcome in ("aborted", "unknown"), (str(one), outcome)


def check_after(mnt: Mount, attempts: list[Attempt]):
    assert mnt.store.staged() == []
    found = read_tree(mnt / TOP)
    states = possible_states(attempts, FIRST.apply({}))
    if not any(is_tree(found, state) for state in states):
        raise AssertionError("; ".join(map(str, attempts)) + "\n" + commit_loop.describe(found, states[0]))
    with mnt.ctl() as ctl:
        for one in attempts:
            if one.errno is None:
                ctl.expect_err("ESTALE", "claim", path=one.step.claimed(TOP), token=one.step.token - 1)
            elif one.session:
                check_outcome(ctl, one)
        ctl.expect_ok("put", content(20, "end", 5), path=f"{TOP}/end", token=20, size=5)


def prepared_store(name: str) -> Store:
    """With the writer's directory in it, and unmounted."""
    store = Store(name)
    mnt = store.mount()
    with mnt.ctl() as ctl:
        perform(mnt.path, ctl, TOP, FIRST)
    mnt.unmount()
    return store


def start_under(mnt: Mount, wrapper) -> bool:
    """Whether it started; when not, because of an error that it named."""
    mnt.wrapper = wrapper
    try:
        mnt.start()
        return True
    except AssertionError as error:
        assert "before it answered" in str(error), error
        assert mnt.daemon.returncode > 0 and "Input/output error" in mnt.daemon.output(), error
        return False


def run_script(mnt: Mount, wrapper) -> list[Attempt]:
    if not start_under(mnt, wrapper):
        return []
    attempts = spawn(attempt_all, mnt.path).result()
    check_answers(attempts, mnt.daemon.output())
    run("umount", mnt.path)
    mnt.daemon.wait()
    return attempts


def count_of(call: str, tmp) -> int:
    """How many such calls a thread makes in the script, at most."""
    mnt = Mount(prepared_store(tmp / "counted"))
    attempts = run_script(mnt, strace(tmp / "count", f"--trace={call}"))
    assert all(one.errno is None for one in attempts)
    mnt.wrapper = ()
    return most_in_a_thread(tmp / "count")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_error_of_every(tmp, call):
    struck = 0
    for nth in range(1, count_of(call, tmp) + 1):
        mnt = Mount(prepared_store(tmp / f"store{nth}"))
        log = tmp / f"strace{nth}"
        attempts = run_script(mnt, inject(log, call, f"error=EIO:when={nth}"))
        struck += was_injected(log)
        mnt.wrapper = ()
        mnt.start()
        check_after(mnt, attempts)
        mnt.unmount()
    assert struck >= 3, f"only {struck} failures"


# A request, its answer, and how often the database waits for the disk before it.
WAITS = (
    ("acquire path=p ttl=1h owner=o", "ok", 1),
    ("open path=p token={token} owner=o", "ok", 0),  # the fence is what the lease has made it
    ("abort", "ok", 0),
    ("open path=p token={token} owner=o", "ok", 0),
    ("commit", "ok", 1),
    ("release path=p token={token} owner=o", "ok", 0),
    ("open path=p token={higher}", "ok", 1),  # a claim
    ("abort", "ok", 0),
    ("open path=p token={token}", "ESTALE", 1),  # the record of the refusal
    ("open path=p/beneath/ token={higher} parents=1", "ok", 1),  # a row of its own
    ("abort", "ok", 0),
)


def test_what_waits_for_the_disk(mnt, ctl, tmp):
    """What promises something. The rest is in the next transaction that does."""
    tokens = {"token": 0, "higher": 0}
    for line, answer, count in WAITS:
        never = "error=EIO:when=60000"
        with injecting(mnt, tmp / "log", "fdatasync", never, "-P", mnt.store.path / "meta.db-wal") as log:
            reply = ctl.request(line.format(**tokens))
        assert answer == ("ok" if reply.ok else reply.errno_name), (line, reply.raw)
        found = log.read_text().count("fdatasync(")
        assert found == count, f"{line}: {found} instead of {count}"
        if line.startswith("acquire"):
            tokens = {"token": reply.int("token"), "higher": reply.int("token") + 1}


def test_the_database_comes_before_the_number_beside_it(store, tmp):
    """Also at the end, and after what did not wait: else a power loss then would look like a restored backup."""
    mnt = Mount(store, wrapper=strace(tmp / "log", "--trace=pwrite64,fdatasync,renameat", "--decode-fds=path")).start()
    with mnt.ctl() as ctl:
        token = ctl.expect_ok("acquire", path="p", ttl="1h", owner="o")["token"]
        ctl.expect_ok("release", path="p", token=token, owner="o")
    mnt.unmount()
    lines = (tmp / "log").read_text(errors="replace").splitlines()
    renamed = max(i for i, line in enumerate(lines) if "renameat(" in line and "/blobs>" in line)
    wal = [re.search(r"(\w+)\(", line)[1] for line in lines[:renamed] if "meta.db-wal>" in line]
    assert "pwrite64" in wal and wal[-1] == "fdatasync", wal


def test_nothing_is_built_on_a_wal_that_failed(mnt, ctl, tmp):
    """Its pages may be in memory only: the next daemon moves them into the database before it writes any."""
    ctl.expect_ok("claim", path="p", token=1)  # else the header of the WAL were the first to fail
    store = mnt.store.path
    with injecting(mnt, tmp / "log", "fdatasync", "error=EIO", "-P", store / "meta.db-wal"):
        ctl.expect_err("EREMOTEIO", "put", b"x", path="p", token=1, size=1)
    mnt.kill()
    mnt.start()
    shutil.copy(store / "meta.db", tmp / "meta.db")  # without the WAL
    with contextlib.closing(sqlite3.connect(tmp / "meta.db")) as database:
        assert database.execute("SELECT count(*) FROM entry WHERE name = ?", (b"p",)).fetchone() == (1,)
    assert (mnt / "p").read_bytes() == b"x"
    with mnt.ctl() as ctl:
        ctl.expect_ok("claim", path="p", token=1)


def fill_wal(_me, mount, count: int, size: int, token: int):
    """One commit of @count files in the database: enough makes the next checkpoint due."""
    with Ctl(mount) as ctl:
        step = Step(token - 1, "tree", {f"set/{i}": size for i in range(count)})
        perform(mount, ctl, TOP, step)
        return step


def fill_in_spite(_me, mount) -> Step | None:
    """None: the fsync that failed was that of the commit or of its open."""
    try:
        return fill_wal(_me, mount, 1200, 16_000, 30)
    except Refused:
        return None


@pytest.mark.timeout(120)
@pytest.mark.parametrize("file", ["meta.db", "meta.db-wal"])
def test_error_of_a_checkpoint(tmp, file):
    """Its fsyncs come after the commits it moves were acknowledged: none may be missing."""
    for nth in range(1, 10):
        mnt = prepared_store(tmp / f"store{nth}").mount()
        path = mnt.store.path / file
        with injecting(mnt, tmp / "log", "fdatasync", f"error=EIO:when={nth}", "-P", path) as log:
            step = spawn(fill_in_spite, mnt.path).result()
            if step:
                wait_until(lambda: was_injected(log), "the checkpoint")
                break
        run("umount", mnt.path)
        mnt.daemon.wait()
    with mnt.ctl() as ctl:
        ctl.expect_err("EIO", "put", b"x", path=f"{TOP}/late", token=40, size=1)
    assert is_tree(read_tree(mnt / TOP), step.apply(FIRST.apply({}))), "it cannot be read any more"
    assert "read-only" in mnt.daemon.output()
    run("umount", mnt.path)
    mnt.daemon.wait()
    mnt.start()
    assert is_tree(read_tree(mnt / TOP), step.apply(FIRST.apply({})))


def test_error_of_the_last_checkpoint(tmp):
    """The one of an orderly end: the daemon ends, the WAL stays."""
    store = prepared_store(tmp / "store")
    mnt = Mount(store)
    log = tmp / "strace"
    mnt.wrapper = inject(log, "fdatasync", "error=EIO", "-P", store.path / "meta.db")
    mnt.start()
    step = spawn(fill_wal, mnt.path, 10, 16_000, 30).result()
    run("umount", mnt.path)
    mnt.daemon.wait()
    assert was_injected(log)
    mnt.wrapper = ()
    mnt.start()
    assert is_tree(read_tree(mnt / TOP), step.apply(FIRST.apply({})))
