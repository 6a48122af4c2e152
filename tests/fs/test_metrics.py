# SPDX-License-Identifier: MIT
""".fence/metrics and .fence/status: numbers that are right, one text a reader, and no path for others."""

import contextlib
import os
import re
import shutil
import sqlite3
import threading

import pytest
from fenceharness import *
from fenceharness.exposition import parse, values
from fencelib.dialog import errno_of, fails, make_dir, open_session, publish, put, put_refused

ANNA = 4001
BERT = 4002

LOOKUPS = 'fencefs_fuse_operation_duration_seconds_count{operation="%s"}'


def text_of(mnt, name="metrics") -> str:
    return (mnt / ".fence" / name).read_text(encoding="utf-8")


def metrics(mnt) -> dict[str, float]:
    return values(text_of(mnt))


@contextlib.contextmanager
def moves(mnt):
    """Yields a dict: which counters the block moves, and by how much. All others must stand still.

    What is counted for each request of the kernel is left out: it may be counted after its answer.
    """
    before = metrics(mnt)
    expected: dict[str, float] = {}
    yield expected
    after = metrics(mnt)
    types = {key: f.type for f in parse(text_of(mnt)).values() for key in f.samples}
    moved = {
        key.removeprefix("fencefs_"): after[key] - before[key]
        for key in after
        if types[key] == "counter"
        and after[key] != before[key]
        and not re.match("fencefs_(opens|invalidations|page_cache|transaction)", key)
    }
    wrong = {
        key: f"moved by {moved.get(key, 0):g}, not {expected.get(key, 0):g}"
        for key in {*moved, *expected}
        if moved.get(key, 0) != expected.get(key, 0)
    }
    assert not wrong, wrong


def commits(how, result) -> str:
    return f'commits_total{{by="{how}",result="{result}"}}'


def requests(verb, result="ok") -> str:
    return f'ctl_requests_total{{verb="{verb}",result="{result}"}}'


def refusals(name) -> str:
    return f'refusals_total{{errno="{name}"}}'


# ------------------------------------------------------------------------------------------- the text


def test_is_well_formed(mnt, ctl):
    fresh = parse(text_of(mnt))
    put(ctl, "a", "x", 5)
    put_refused(ctl, "ESTALE", "a", "y", 4)
    used = parse(text_of(mnt))
    assert [(f.name, f.help, f.type) for f in fresh.values()] == [
        (f.name, f.help, f.type) for f in used.values()
    ]
    assert len(used) > 40 and all(name.startswith("fencefs_") for name in used)
    build = used["fencefs_build_info"].labels
    (labels,) = build.values()
    assert labels["sqlite"] == sqlite3.sqlite_version or labels["sqlite"][0].isdigit()
    assert re.fullmatch(r"3\.\d+\.\d+.*", labels["libfuse"]), labels
    assert labels["version"] in fence("--version").out


def test_promtool_finds_nothing(mnt, ctl):
    if not shutil.which("promtool"):
        pytest.skip("no promtool")
    put(ctl, "a", "x", 5)
    done = run("promtool", "check", "metrics", input=text_of(mnt).encode())
    assert done.stdout == done.stderr == ""


def test_one_reader_sees_one_text(mnt, ctl):
    put(ctl, "a", "x", 1)
    fd = os.open(mnt / ".fence/metrics", os.O_RDONLY)
    try:
        whole = os.pread(fd, 1 << 20, 0)
        put(ctl, "a", "y", 2)
        pieces = [os.read(fd, 777)]
        while pieces[-1]:
            pieces.append(os.read(fd, 777))
        assert b"".join(pieces) == whole and values(whole.decode())["fencefs_revision"] == 1
        assert os.pread(fd, 100, len(whole) - 10) == whole[-10:]
        assert os.pread(fd, 100, len(whole) + 5) == b""
    finally:
        os.close(fd)
    assert metrics(mnt)["fencefs_revision"] == 2


@pytest.mark.parametrize("name", ["metrics", "status"])
def test_any_program_reads_all_of_it(mnt, tmp, name):
    path = mnt / ".fence" / name
    assert name in os.listdir(mnt / ".fence")
    assert os.stat(path).st_size == 0 and os.stat(path).st_mode & 0o7777 == 0o444
    first = text_of(mnt, name).splitlines()[0]
    wait_until(lambda: "still being counted" not in text_of(mnt, "status"), "the space to be counted")
    ways = [["cat", path], ["head", "-n", "1000", path], ["dd", "status=none", "bs=100", f"if={path}"]]
    ways += [["sh", "-c", 'cat <"$0"', path], ["tail", "-n", "+1", path]]
    if shutil.which("curl"):
        ways.append(["curl", "-sS", f"file://{path}"])
    for argv in ways:
        out = run(*argv).stdout
        assert out.splitlines()[0] == first and out.endswith("\n"), argv
        if name == "metrics":
            assert "fencefs_up" in parse(out), argv
        else:
            assert out.splitlines()[-1].startswith("health "), argv
    run("cp", path, tmp / "copy")
    assert (tmp / "copy").read_text().splitlines()[0] == first
    assert (tmp / "copy").read_text().endswith("\n")


@pytest.mark.parametrize("name", ["metrics", "status"])
def test_nobody_changes_it(mnt, name):
    path = mnt / ".fence" / name
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
        assert errno_of(os.open, path, flags) == "EROFS", flags
    assert errno_of(os.chmod, path, 0o600) == "EPERM"
    assert errno_of(os.truncate, path, 0) in ("EPERM", "EROFS")
    assert errno_of(os.unlink, path) in ("EPERM", "EROFS", "ENOTDIR")


def test_size_has_a_bound(mnt, ctl):
    """A session of 10,000 staged files, a hundred sessions, names of any length: no more lines."""
    before = text_of(mnt)
    for i in range(100):
        ctl.expect_ok("acquire", path=f"lease{i}/{'l' * 200}", ttl="1h", owner="o" * 100)
    session = open_session(mnt, ctl, "many/", 5)
    for i in range(10_000):
        os.close(os.open(session.path / f"f{i}", os.O_CREAT | os.O_WRONLY))
    after = text_of(mnt)
    wait_until(lambda: 'contents{of="live"}' in text_of(mnt), "contents to be counted")
    after = text_of(mnt)
    assert len(after) < 64 * 1024
    assert len(after.splitlines()) - len(before.splitlines()) in (0, 8)  # contents
    assert values(after)["fencefs_leases"] == 100
    status = text_of(mnt, "status")
    assert len(status) < 4096 and max(map(len, status.splitlines())) < 80, status
    ctl.expect_ok("abort", session=session.ident)


# --------------------------------------------------------------------------------------- the numbers


def test_commits_by_way_and_result(mnt, ctl):
    with moves(mnt) as count:
        for i in range(3):
            publish(mnt, f"s{i}", 5, lambda path: path.write_text("x"))
        for i in range(4):
            put(ctl, "p", str(i), 5)
        put(ctl, "p", "op", 5, op="k")
        put(ctl, "p", "op", 5, op="k")
        put_refused(ctl, "ESTALE", "p", "late", 4)
        put_refused(ctl, "ESTALE", "p", "late", 3)
        put_refused(ctl, "EEXIST", "p", "x", 5, absent=1)
        put_refused(ctl, "ECANCELED", "p", "x", 5, version=99)
        ctl.expect_ok("restore", path="p", token=5, version=1)
        ctl.expect_ok("remove", path="p", token=5)
        ctl.expect_err("ENOENT", "remove", path="p", token=5)
        count |= {
            commits("session", "committed"): 3,
            commits("put", "committed"): 5,
            commits("put", "replayed"): 1,
            commits("put", "refused_stale"): 2,
            commits("put", "refused_precondition"): 2,
            commits("restore", "committed"): 1,
            commits("remove", "committed"): 1,
            commits("remove", "refused"): 1,
            "committed_changes_total": 3 + 5 + 1 + 1,
            "sessions_opened_total": 3,
            'sessions_ended_total{result="committed"}': 3,
            "ctl_conversations_total": 3,
            requests("open"): 3,
            requests("commit"): 3,
            requests("put"): 6,
            requests("put", "err"): 4,
            requests("restore"): 1,
            requests("remove"): 1,
            requests("remove", "err"): 1,
            refusals("ESTALE"): 2,
            refusals("EEXIST"): 1,
            refusals("ECANCELED"): 1,
            refusals("ENOENT"): 1,
        }
    now = metrics(mnt)
    total = sum(v for k, v in now.items() if k.startswith("fencefs_commits_total"))
    assert now["fencefs_commit_duration_seconds_count"] == total
    assert now["fencefs_revision"] == 10
    assert now["fencefs_transaction_jobs_total"] >= total
    assert 0 < now["fencefs_transaction_duration_seconds_count"] <= now["fencefs_transaction_jobs_total"]


def test_a_late_session(mnt):
    with mnt.ctl() as late, moves(mnt) as count, mnt.ctl() as ctl:
        session = open_session(mnt, late, "d/", 5)
        ctl.expect_ok("claim", path="d", token=6)
        with fails("ESTALE"):
            (session.path / "f").write_text("x")
        late.expect_err("ESTALE", "commit", session=session.ident)
        ctl.expect_err("ESTALE", "claim", path="d/x", token=5)
        stale = metrics(mnt)["fencefs_stale_operations_total"]
        assert stale >= 1
        count |= {
            "sessions_opened_total": 1,
            "stale_operations_total": stale,
            commits("session", "refused_stale"): 1,
            'sessions_ended_total{result="refused"}': 1,
            'claims_total{result="accepted"}': 1,
            'claims_total{result="refused"}': 1,
            "ctl_conversations_total": 1,
            requests("open"): 1,
            requests("claim"): 1,
            requests("claim", "err"): 1,
            requests("commit", "err"): 1,
            refusals("ESTALE"): 2,
        }


def test_a_session_that_is_dropped(mnt, ctl):
    with moves(mnt) as count:
        with mnt.ctl() as other:
            open_session(mnt, other, "a", 5)
            session = open_session(mnt, other, "b", 5)
            assert metrics(mnt)["fencefs_sessions"] == 2
            other.expect_ok("abort", session=session.ident)
            wait_until(lambda: metrics(mnt)["fencefs_sessions"] == 1, "one session")
        wait_until(lambda: metrics(mnt)["fencefs_sessions"] == 0, "no session")
        count |= {
            "sessions_opened_total": 2,
            'sessions_ended_total{result="aborted"}': 2,
            "ctl_conversations_total": 1,
            requests("open"): 2,
            requests("abort"): 1,
        }


def test_leases(mnt, ctl):
    with moves(mnt) as count:
        token = ctl.expect_ok("acquire", path="a", ttl="1h")["token"]
        for _ in range(3):
            ctl.expect_ok("renew", path="a", token=token)
        ctl.expect_ok("acquire", path="b/c", ttl="1h")
        ctl.expect_ok("acquire", path="short", ttl="50ms", keep=1)
        with mnt.ctl() as other:
            other.expect_err("EBUSY", "acquire", path="a", ttl="1h")
            other.send("acquire", path="b", ttl="1h", wait="1h")
            wait_until(lambda: metrics(mnt)["fencefs_lease_waiters"] == 1, "who waits")
        wait_until(lambda: metrics(mnt)["fencefs_lease_waiters"] == 0, "nobody to wait")
        ctl.expect_ok("claim", path="b", token=10**6)
        ctl.expect_ok("release", path="a", token=token)
        ended = 'fencefs_lease_ends_total{how="expired"}'
        wait_until(lambda: metrics(mnt)[ended] == 1, "the short lease to expire")
        count |= {
            "lease_grants_total": 3,
            "lease_renewals_total": 3,
            'lease_ends_total{how="released"}': 1,
            'lease_ends_total{how="expired"}': 1,
            'lease_ends_total{how="lost"}': 1,
            'claims_total{result="accepted"}': 1,
            "ctl_conversations_total": 1,
            requests("acquire"): 3,
            requests("acquire", "err"): 2,  # the one that was dropped: canceled
            requests("renew"): 3,
            requests("release"): 1,
            requests("claim"): 1,
            refusals("EBUSY"): 1,
            refusals("ESHUTDOWN"): 1,
        }
    now = metrics(mnt)
    assert now["fencefs_leases"] == 0 and now["fencefs_last_token"] == 3
    with mnt.ctl() as holder:
        holder.expect_ok("acquire", path="x", ttl="1h")
        assert metrics(mnt)["fencefs_leases"] == 1


def test_what_is_no_request(mnt, ctl):
    with moves(mnt) as count:
        ctl.expect_err("EOPNOTSUPP", "frobnicate")
        ctl.expect_err("EINVAL", "claim", path="p")
        ctl.expect_err("EMSGSIZE", "claim " + "x" * 70_000)
        count |= {
            requests("claim", "err"): 1,
            refusals("EOPNOTSUPP"): 1,
            refusals("EINVAL"): 1,
            refusals("EMSGSIZE"): 1,
        }
    with moves(mnt) as count:
        ctl.expect_err("EPROTONOSUPPORT", "hello", proto=2)
        count |= {requests("hello", "err"): 1, refusals("other"): 1}


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
def test_requests_of_the_kernel(mnt, ctl):
    """Counted after they are answered, so the counts are waited for."""
    by_kernel = "passthrough=on" in mnt.options
    put(ctl, "small", "x", 5)
    put(ctl, "large", "x" * 100_000, 5)

    def counted(name):
        return metrics(mnt)[LOOKUPS % name]

    # The reader of metrics opens, reads and closes, too: one each, of which the open is under way.
    before = metrics(mnt)
    for _ in range(5):
        (mnt / "small").read_text()
    for _ in range(7):
        (mnt / "large").read_text()
    wait_until(lambda: counted("open") >= before[LOOKUPS % "open"] + 12, "opens")
    after = metrics(mnt)
    opens = {
        way: after[key] - before[key]
        for way in ("kernel", "daemon", "inline")
        for key in [f'fencefs_opens_total{{content="{way}"}}']
    }
    assert opens == {"inline": 5, "kernel": 7 * by_kernel, "daemon": 7 * (not by_kernel)}
    assert after["fencefs_passthrough"] == by_kernel
    flushes = after[LOOKUPS % "release"] - before[LOOKUPS % "release"]
    assert flushes >= 12
    before = metrics(mnt)
    for i in range(9):
        assert errno_of(os.getxattr, mnt / "small", b"user.fence.none") == "ENODATA"
    wait_until(lambda: counted("getxattr") == before[LOOKUPS % "getxattr"] + 9, "getxattr")
    before = metrics(mnt)
    for i in range(11):
        os.statvfs(mnt.path)
    wait_until(lambda: counted("statfs") == before[LOOKUPS % "statfs"] + 11, "statfs")
    for name in ("mknod", "rename", "link"):
        assert counted(name) == 0


def test_handles_and_inodes(mnt, ctl):
    put(ctl, "f", "x", 5)
    before = metrics(mnt)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(open(mnt / "f"))
        conversations = [stack.enter_context(mnt.ctl()) for _ in range(5)]
        now = metrics(mnt)
        assert now["fencefs_ctl_conversations"] == before["fencefs_ctl_conversations"] + 5
        assert now["fencefs_open_handles"] == before["fencefs_open_handles"] + 25, conversations
        assert now["fencefs_known_inodes"] >= 3

    def closed():
        now = metrics(mnt)
        return now["fencefs_open_handles"] == before["fencefs_open_handles"] and now

    assert wait_until(closed, "all to be closed")["fencefs_ctl_conversations"] == 1


def test_the_kernel_is_told_to_forget(mnt, ctl):
    put(ctl, "f", "x", 5)
    (mnt / "f").read_text()
    before = metrics(mnt)['fencefs_invalidations_total{kind="name"}']
    put(ctl, "f", "y", 5)
    assert metrics(mnt)['fencefs_invalidations_total{kind="name"}'] == before + 1


def test_contents_are_what_df_says(mnt, ctl):
    put(ctl, "a", "x" * 100, 5)
    put(ctl, "a", "y" * 200, 5)
    put(ctl, "b", "z" * 50_000, 5)
    put_refused(ctl, "ESTALE", "b", "late", 4)
    key = "fencefs_contents_timestamp_seconds"
    # The first who asks has it begin.
    now = wait_until(lambda: (m := metrics(mnt))[key] and m, "contents to be counted")
    df = fence("df", "--json", mnt.path).json()
    for part in ("live", "history", "orphans", "staging"):
        assert now[f'fencefs_contents{{of="{part}"}}'] == df[part]["count"], part
        if part != "staging":
            assert now[f'fencefs_contents_bytes{{of="{part}"}}'] == df[part]["bytes"], part
    assert (df["live"]["bytes"], df["history"]["bytes"], df["orphans"]["bytes"]) == (50_200, 100, 4)
    assert now[key] >= now["fencefs_start_time_seconds"]
    assert now["fencefs_database_bytes"] + now["fencefs_wal_bytes"] == df["database"]["bytes"]
    assert now["fencefs_filesystem_size_bytes"] == df["total"]


def test_gc_is_told(mnt, ctl):
    assert metrics(mnt)["fencefs_gc_last_end_timestamp_seconds"] == 0
    put(ctl, "a", "x", 5)
    put_refused(ctl, "ESTALE", "a", "late", 4)
    with moves(mnt) as count:
        fence("gc", "--grace", "0", "--dry-run", mnt.path)
        fence("gc", "--grace", "0", mnt.path)
        wait_until(lambda: metrics(mnt)["fencefs_gc_last_end_timestamp_seconds"] > 0, "gc to end")
        now = metrics(mnt)
        assert now["fencefs_" + requests("gc")] == 2
        count |= {
            'gc_runs_total{result="ok"}': 1,
            "gc_removed_contents_total": 1,
            "gc_removed_bytes_total": 4,
            requests("gc"): 2,
            # how often fence asks for the progress depends on the time that it takes
            **{key: now["fencefs_" + key] for key in map(requests, ("hello", "list"))},
            "ctl_conversations_total": now["fencefs_ctl_conversations_total"] - 1,
        }
    assert metrics(mnt)["fencefs_gc_running"] == 0


def test_damage_is_a_problem(mnt, ctl):
    key = 'fencefs_problem{problem="damaged_content",severity="critical"}'
    put(ctl, "a", "x" * 50_000, 5)
    (blob,) = (path.name for path in mnt.store.blobs() if len(path.name) == 32)
    assert metrics(mnt)[key] == metrics(mnt)["fencefs_damaged_contents"] == 0
    ctl.expect_ok("damaged", blob=blob)
    assert metrics(mnt)[key] == metrics(mnt)["fencefs_damaged_contents"] == 1
    assert "CRITICAL damaged_content" in text_of(mnt, "status")
    ctl.expect_ok("damaged", blob=blob, good=1)
    assert metrics(mnt)[key] == metrics(mnt)["fencefs_damaged_contents"] == 0


def test_counters_begin_with_the_daemon(mnt):
    with mnt.ctl() as ctl:
        put(ctl, "a", "x", 5)
    first = metrics(mnt)
    mnt.remount()
    now = metrics(mnt)
    assert now["fencefs_" + commits("put", "committed")] == 0
    assert now["fencefs_revision"] == 1
    assert now["fencefs_start_time_seconds"] > first["fencefs_start_time_seconds"]


# --------------------------------------------------------------------------------- beside other work


def scrape(me, mnt, done):
    """Until @done exists; how often. Every counter and bucket only grows."""
    last, n = {}, 0
    while not done.exists() or n < 2:
        text = text_of(mnt)
        types = {key: f.type for f in parse(text).values() for key in f.samples}
        now = values(text)
        for key, value in now.items():
            if types[key] != "gauge":
                assert value >= last.get(key, 0), f"{key} went from {last[key]} back to {value}"
        assert "health" in text_of(mnt, "status")
        last, n = now, n + 1
    return n


@pytest.mark.timeout(180)
def test_eight_who_read_it_beside_commits(mnt, tmp):
    done = tmp / "done"
    readers = [spawn(scrape, mnt, done) for _ in range(8)]
    with mnt.ctl() as ctl:
        for i in range(300):
            put(ctl, f"f{i % 10}", f"{i}", 5)
            if i % 10 == 0:
                publish(mnt, f"d{i}/", 5, lambda path: (path / "f").write_text("x"))
    done.touch()
    assert min(reader.result() for reader in readers) >= 2
    now = metrics(mnt)
    assert now["fencefs_" + commits("put", "committed")] == 300
    assert now["fencefs_" + commits("session", "committed")] == 30
    assert now["fencefs_commit_duration_seconds_count"] == 330


def test_a_commit_that_waits_holds_up_nobody(mnt, ctl):
    """Somebody else has the database locked for writing: the commit waits, who reads metrics does not."""
    put(ctl, "a", "x", 5)
    other = sqlite3.connect(mnt.store.path / "meta.db", isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=put, args=(ctl, "a", "y", 5))
        waiting.start()
        busy = wait_until(
            lambda: metrics(mnt)["fencefs_requests_in_progress"] >= 1 and metrics(mnt), "a commit"
        )
        assert busy["fencefs_revision"] == 1 and "revision    1" in text_of(mnt, "status")
        other.execute("ROLLBACK")
        waiting.join()
    assert metrics(mnt)["fencefs_revision"] == 2


# -------------------------------------------------------------------------------- who may see what (P8)


def read_both(me, mnt):
    return text_of(mnt), text_of(mnt, "status")


def put_late(me, mnt, path):
    with mnt.ctl() as ctl:
        return ctl.request(f"put path={path} token=1 size=1 owner=bert", b"x").errno_name


def test_paths_are_for_who_may_walk_to_them(mnt, ctl):
    make_dir(mnt, "secret", uid=ANNA, mode=0o700)
    make_dir(mnt, "open", mode=0o777)
    put(ctl, "open/bert-was-late", "x", 9, owner="root-job")
    assert spawn(put_late, mnt, "open/bert-was-late", uid=BERT).result() == "ESTALE"
    put(ctl, "secret/plan-of-anna", "x", 9, owner="job-of-anna")
    put_refused(ctl, "ESTALE", "secret/plan-of-anna", "y", 8, owner="job-of-anna")
    ctl.expect_ok("acquire", path="secret/lease", ttl="1h", owner="job-of-anna")

    numbers, status = read_both(None, mnt)
    assert "secret/plan-of-anna" in status and "job-of-anna" in status and "bert-was-late" in status
    assert "secret" not in numbers and "anna" not in numbers

    numbers, status = spawn(read_both, mnt, uid=BERT).result()
    assert "secret" not in status and "anna" not in status and "1 held" in status, status
    assert "ESTALE: token 1, and root-job has 9" in status and "open/bert-was-late" in status
    assert "secret" not in numbers and "anna" not in numbers

    _, status = spawn(read_both, mnt, uid=ANNA).result()
    assert "by job-of-anna (token 9) on secret/plan-of-anna" in status
    assert "nothing of yours" in status and "bert" not in status, status


def test_names_cannot_forge_lines(mnt, ctl):
    name = "a\n\x1b[2Jhealth      ok\u009b31m" + "w" * 150
    put(ctl, name, "x", 9, owner="o\u00e9" * 40)
    put_refused(ctl, "ESTALE", name, "y", 8)
    status = text_of(mnt, "status")
    assert all(c == "\n" or c.isprintable() for c in status), status
    assert max(map(len, status.splitlines())) < 80, status
    assert [line for line in status.splitlines() if line.startswith("health")] == ["health      ok"]
