# SPDX-License-Identifier: MIT
"""gc beside writers that stop anywhere, readers of what it prunes, crashes, errors and clocks (P6)."""

import contextlib
import errno
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from fenceharness import *
from fencelib.tracing import frozen, held_up, inject, injecting, is_held_up, was_injected

FILE = 20_000  # a file of its own in blobs/; smaller content than 16 KiB lives in the database
INLINE = 300


def content(seed, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gc(target, *options, rc=0, **kwargs):
    """`fence gc --json`, its report."""
    done = fence("gc", "--json", *options, target, rc=rc, **kwargs)
    return done.json() if done.out else {}


def sweep(target, *options, **kwargs):
    return gc(target, "--grace", "0", *options, **kwargs)


def removed(report) -> int:
    return sum(kind["count"] for kind in report["removed"].values())


def put(ctl: Ctl, path: str, data: bytes, token: int = 1, **fields) -> int:
    reply = ctl.expect_ok("put", data, path=path, token=token, size=len(data), **fields)
    return reply.int("revision")


def refuse(ctl: Ctl, path: str, data: bytes):
    """A put under a token that is too low: its content is kept as an orphan."""
    ctl.expect_ok("claim", path=path, token=5)
    ctl.expect_err("ESTALE", "put", data, path=path, token=4, size=len(data))


def change(store: Store, *sql):
    """Changes the database of an unmounted store by hand."""
    with changing(store.path / "meta.db") as db:
        for line in sql:
            db.execute(line)


def blob_files(store: Store) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in store.blobs()}


# ------------------------------------------------------------------------ 1. writers that stop


def write_in_stages(me, mount, path: str, data: bytes, stage: str):
    with Ctl(mount) as ctl:
        session = ctl.expect_ok("open", path=path, token=7)["session"]
        if stage == "open":
            me.stop("open")
        fd = os.open(f"{mount}/.fence/sessions/{session}/{path}", os.O_WRONLY | os.O_CREAT)
        os.write(fd, data[: len(data) // 2])
        if stage == "writing":
            me.stop("writing")
        os.write(fd, data[len(data) // 2 :])
        os.close(fd)
        if stage == "written":
            me.stop("written")
        return ctl.request("commit").raw


@pytest.mark.parametrize("stage", ["open", "writing", "written"])
@pytest.mark.parametrize("size", [INLINE, FILE, 3_000_000])
def test_writer_stopped(mnt, stage, size):
    data = content((stage, size).__repr__(), size)
    child = spawn(write_in_stages, mnt.path, "p", data, stage)
    child.wait_stopped(stage)
    for _ in range(3):
        sweep(mnt)
    child.cont()
    assert child.result().startswith("ok revision=")
    sweep(mnt)
    assert (mnt / "p").read_bytes() == data


def commit_it(me, mount, path: str, files: dict[str, bytes], wait=False):
    with Ctl(mount) as ctl:
        session = ctl.expect_ok("open", path=path + "/", token=7)["session"]
        for name, data in files.items():
            with open(f"{mount}/.fence/sessions/{session}/{path}/{name}", "wb") as file:
                file.write(data)
        if wait:
            me.stop("written")
        me.mark("commit")
        return ctl.request("commit").raw


def put_it(me, mount, path: str, files: dict[str, bytes]):
    with Ctl(mount) as ctl:
        me.mark("commit")
        for name, data in files.items():
            reply = ctl.request("put", data, path=f"{path}/{name}", token=7, size=len(data), parents=1)
        return reply.raw


@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", ["commit", "put"])
def test_sealed_and_not_yet_committed(mnt, store, tmp, how):
    """The daemon waits between moving the content to blobs/ and the transaction that names it."""
    files = {f"f{n}": content(n, FILE) for n in range(8 if how == "commit" else 1)}
    fans = [word for n in range(256) for word in ("-P", f"{store.path}/blobs/{n:02x}")]
    with injecting(mnt, tmp / "log", "fsync", "delay_enter=3s", *fans):
        child = spawn(commit_it if how == "commit" else put_it, mnt.path, "d", files)
        child.wait_mark("commit")
        wait_until(lambda: len(store.blobs()) == len(files), "the files to be sealed")
        report = sweep(mnt)
        assert child.is_alive(), "the commit was done before gc was"
    assert removed(report) == 0 and report["pinned"] == len(files), report
    assert child.result().startswith("ok revision=")
    sweep(mnt)
    for name, data in files.items():
        assert (mnt / "d" / name).read_bytes() == data


@pytest.mark.timeout(120)
def test_commit_queued(mnt, store, tmp):
    """The transaction that names the content is on its way to the disk while gc looks."""
    files = {f"f{n}": content(n, FILE) for n in range(4)}
    with injecting(mnt, tmp / "log", "fdatasync", "delay_enter=1s"):
        child = spawn(commit_it, mnt.path, "d", files)
        child.wait_mark("commit")
        wait_until(lambda: len(store.blobs()) == len(files), "the files to be sealed")
        sweep(mnt, timeout=120)
    assert child.result().startswith("ok revision=")
    sweep(mnt)
    for name, data in files.items():
        assert (mnt / "d" / name).read_bytes() == data


@pytest.mark.timeout(240)
def test_rows_written_ahead(mnt, store, tmp):
    """More than 64 MiB of small files: their content is in the database before any entry names it."""
    files = {f"f{n}": content(n, 16_000) for n in range(5000)}
    child = spawn(commit_it, mnt.path, "d", files, True)
    child.wait_stopped("written", 120)
    log = tmp / "log"
    with contextlib.ExitStack() as frozen_pool:
        with held_up(mnt, log, "pwrite64", "-P", store.path / "meta.db-wal", only="committer"):
            child.cont()
            wait_until(lambda: is_held_up(log, "pwrite64"), "the rows to be written", 120)
            # Who is to commit waits for them, and will for some time.
            frozen_pool.enter_context(frozen(mnt, "pool"))
        wait_until(lambda: store.query("SELECT count(*) FROM blob") > [(4000,)], "the rows", 120)
        report = sweep(mnt)
        assert removed(report) == 0 and 4000 < report["pinned"] < 5000, report
        assert child.is_alive()
    assert child.result().startswith("ok revision=")
    sweep(mnt)
    bad = [name for name, data in files.items() if (mnt / "d" / name).read_bytes() != data]
    assert not bad, bad[:10]


def test_sealed_for_a_commit_that_a_full_disk_undid(mnt, store, ctl, tmp):
    """The session goes on, with content that is in blobs/ already."""
    data = content(1, FILE)
    session = ctl.expect_ok("open", path="d", token=1)["session"]
    (mnt.session(session) / "d").write_bytes(data)
    with injecting(mnt, tmp / "log", "pwrite64", "error=ENOSPC", "-P", store.path / "meta.db-wal"):
        ctl.expect_err("ENOSPC", "commit", session=session)
    assert len(store.blobs()) == 1
    report = sweep(mnt)
    assert removed(report) == 0 and report["pinned"] == 1, report
    assert (mnt.session(session) / "d").read_bytes() == data
    ctl.expect_ok("commit", session=session)
    sweep(mnt)
    assert (mnt / "d").read_bytes() == data


def test_renamed_file_of_a_pruned_version(mnt, ctl):
    """A session holds content that it did not write, while its version is replaced and pruned."""
    data = content(1, FILE)
    put(ctl, "d/a", data, parents=1)
    session = ctl.expect_ok("open", path="d", token=2)["session"]
    tree = mnt.session(session)
    os.rename(tree / "d/a", tree / "d/b")
    with mnt.ctl() as other:
        put(other, "d/a", content(2, FILE), token=2)
        report = sweep(mnt, "--keep-last", "1")
    assert report["versions_pruned"] == 1 and removed(report) == 0 and report["pinned"] == 1, report
    assert (tree / "d/b").read_bytes() == data
    reply = ctl.request("commit", session=session)
    if reply.ok:
        assert (mnt / "d/b").read_bytes() == data
    else:
        assert reply.errno_name == "ESTALE", reply.raw
    sweep(mnt)


# ------------------------------------------------------------------- random rounds, all at once

PATHS = [f"p{n}" for n in range(6)]


def random_writer(me, mount, seed: int, rounds: int):
    """Puts, sessions, refusals and restores; what each revision of each path holds."""
    rng = random.Random(seed)
    told = {}
    with Ctl(mount) as ctl:
        for number in range(rounds):
            path = f"{seed}-{rng.choice(PATHS)}"
            size = rng.choice([0, INLINE, FILE, 100_000])
            data = content((seed, number).__repr__(), size)
            what = rng.choice(["put", "session", "refuse", "restore"])
            if what == "put":
                reply = ctl.expect_ok("put", data, path=path, token=10, size=size)
                told[path] = digest(data)
            elif what == "session":
                session = ctl.expect_ok("open", path=path, token=10)["session"]
                with open(f"{mount}/.fence/sessions/{session}/{path}", "wb") as file:
                    file.write(data)
                ctl.expect_ok("commit", session=session)
                told[path] = digest(data)
            elif what == "refuse":
                ctl.expect_ok("claim", path=path, token=10)
                ctl.expect_err("ESTALE", "put", data, path=path, token=9, size=size)
            elif path in told:
                version = ctl.expect_ok("stat", path=path).get("version")
                reply = ctl.request("restore", path=path, token=10, version=max(1, int(version) - 1))
                if reply.ok:
                    told[path] = None  # one of the older ones: the reader knows no better
                else:
                    assert reply.errno_name in ("ENOENT", "ECANCELED"), reply.raw
    return told


def random_reader(me, mount, seconds: float):
    rng = random.Random(0)
    end = time.monotonic() + seconds
    reads = 0
    with Ctl(mount) as ctl:
        while time.monotonic() < end:
            try:
                revision = ctl.expect_ok("hello").int("revision")
                names = os.listdir(f"{mount}/.fence/at/{rng.randint(0, revision)}")
                for name in names:
                    at = rng.choice(["", f".fence/at/{rng.randint(0, revision)}/"])
                    with open(f"{mount}/{at}{name}", "rb") as file:
                        file.read()
                    reads += 1
            except OSError as error:
                assert error.errno in (errno.ENOENT, errno.ESTALE), error
    return reads


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_rounds(mnt, store, seed):
    """Writers, readers and gc --grace 0 that prunes, side by side: what is said to be there is there."""
    writers = [spawn(random_writer, mnt.path, seed * 10 + n, 250) for n in range(2)]
    reader = spawn(random_reader, mnt.path, 5)
    rng = random.Random(seed)
    passes = taken = 0
    while any(writer.is_alive() for writer in writers) or passes < 4:
        keep = rng.choice([(), ("--keep-last", "2"), ("--keep-last", "1")])
        taken += removed(sweep(mnt, *keep))
        passes += 1
    told = {path: data for writer in writers for path, data in writer.result().items()}
    assert reader.result() > 0
    assert taken > 0
    for path, expected in told.items():
        found = digest((mnt / path).read_bytes())
        assert expected is None or found == expected, path
    sweep(mnt, "--keep-last", "1")
    assert store.query("SELECT count(*) FROM garbage") == [(0,)]
    mnt.unmount()
    fence("fsck", "--data", store.path)
    named = {row[0].hex() for row in store.query("SELECT id FROM blob WHERE data IS NULL")}
    assert named == set(blob_files(store))
    used = store.query("SELECT count(*) FROM blob WHERE id NOT IN (SELECT blob FROM entry WHERE blob NOT NULL)")
    assert used == [(0,)]


# ------------------------------------------------------------------------ 2. readers of the past


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
@pytest.mark.parametrize("size", [INLINE, 3_000_000])
def test_open_file_of_a_pruned_version(mnt, ctl, size):
    old, new = content(1, size), content(2, size)
    revision = put(ctl, "a", old)
    put(ctl, "a", new)
    at = mnt / f".fence/at/{revision}/a"
    version = mnt / ".fence/versions/a/1"
    assert at.stat().st_size == size
    with open(at, "rb") as one, open(version, "rb") as two:
        assert one.read(100) == old[:100]
        report = sweep(mnt, "--keep-last", "1")
        assert report["versions_pruned"] == 1 and report["removed"]["pruned"]["count"] == 1, report
        assert one.read() == old[100:] and two.read() == old
    for path in (at, version):
        try:
            path.read_bytes()
        except OSError as error:
            assert error.errno in (errno.ENOENT, errno.ESTALE), error
        else:
            raise AssertionError(f"{path} can still be opened")
    assert (mnt / "a").read_bytes() == new


def walk_past(me, mount, revision: int, expected: dict[str, bytes]):
    me.mark("walking")
    seen = gone = 0
    for directory, _, names in os.walk(f"{mount}/.fence/at/{revision}", onerror=None):
        for name in names:
            try:
                data = Path(directory, name).read_bytes()
            except OSError as error:
                assert error.errno in (errno.ENOENT, errno.ESTALE), error
                gone += 1
            else:
                assert data == expected[name], name
                seen += 1
    return seen, gone


def test_walk_of_the_past_while_it_is_pruned(mnt, ctl):
    old = {f"f{n}": content(n, random.Random(n).choice([INLINE, FILE])) for n in range(200)}
    for name, data in old.items():
        revision = put(ctl, f"d/{name}", data, parents=1)
    for name in old:
        put(ctl, f"d/{name}", b"new")
    child = spawn(walk_past, mnt.path, revision, old).wait_mark("walking")
    report = sweep(mnt, "--keep-last", "1")
    seen, gone = child.result()
    assert report["versions_pruned"] == 200 and seen + gone <= 200
    assert removed(report) == 200


# --------------------------------------------------------------- 3. restored between mark and sweep


def test_restored_between_mark_and_sweep(mnt, store, ctl):
    data = content(1, FILE)
    put(ctl, "a", data)
    put(ctl, "a", content(2, FILE))
    gc(mnt)  # marks nothing: version 1 is kept
    ctl.expect_ok("restore", path="a", token=1, version=1)
    report = sweep(mnt, "--keep-last", "1")
    assert report["removed"]["pruned"]["count"] == 1, report  # of version 2
    assert (mnt / "a").read_bytes() == data


def test_mark_of_what_is_referred_to_is_taken_back(store):
    live = fill(store, 4)
    change(store, "INSERT OR IGNORE INTO garbage SELECT blob, 1 FROM entry WHERE blob IS NOT NULL")
    report = gc(store.path)
    assert removed(report) == 0 and report["waiting"]["count"] == 4, report
    assert store.query("SELECT count(*) FROM garbage") == [(4,)]
    check_live(store, live)


# ----------------------------------------------------------------------------- 4. kill -9 of gc


def fill(store: Store, count: int) -> dict[str, bytes]:
    """Versions and refusals; what must stay, and @count of each that go."""
    mnt = store.mount()
    live = {}
    with mnt.ctl() as ctl:
        for n in range(count):
            size = FILE if n % 2 else INLINE
            put(ctl, f"a{n}", content(("old", n).__repr__(), size))
            live[f"a{n}"] = content(("new", n).__repr__(), size)
            put(ctl, f"a{n}", live[f"a{n}"])
            ctl.expect_ok("claim", path=f"a{n}", token=5)
            data = content(("late", n).__repr__(), size)
            ctl.expect_err("ESTALE", "put", data, path=f"a{n}", token=4, size=size)
    mnt.unmount()
    return live


def check_live(store: Store, live: dict[str, bytes]):
    fence("fsck", "--data", store.path)
    mnt = store.mount()
    for name, data in live.items():
        assert (mnt / name).read_bytes() == data, name
    mnt.unmount()


@pytest.mark.timeout(240)
def test_killed_at_any_moment(store, tmp):
    """A copy of the same store for each, so that there is always something to take away."""
    live = fill(store, 60)
    moment = AnyMoment(4)
    for number in range(100):
        path = tmp / f"copy{number}"
        shutil.copytree(store.path, path)
        copy = Store(path, init=False)
        moment.kill(fence_program(), "gc", "--grace", "0", "--keep-last", "1", path)
        fence("fsck", *(["--data"] if number % 5 == 0 else []), path)
        sweep(path, "--keep-last", "1")
        assert copy.query("SELECT count(*) FROM blob") == [(len(live),)]
        assert len(copy.blobs()) == len(live) // 2
        if number % 20 == 0:
            check_live(copy, live)
        shutil.rmtree(path)
    moment.check()


@pytest.mark.parametrize("call", ["unlinkat", "pwrite64", "fdatasync", "renameat"])
def test_killed_at_every(store, tmp, call):
    live = fill(store, 20)
    for nth in range(1, 200, 1 if call == "renameat" else 7):
        log = tmp / "log"
        command = inject(log, call, f"signal=KILL:when={nth}")
        done = subprocess.run(
            [*command, fence_program(), "gc", "--grace", "0", "--keep-last", "1", store.path],
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            break
        fence("fsck", store.path)
    sweep(store.path)
    assert store.query("SELECT count(*) FROM blob") == [(len(live),)]
    assert len(store.blobs()) == len(live) // 2
    check_live(store, live)


# ------------------------------------------------------------------------------ 5. what fails


def everything(store: Store):
    files = blob_files(store)
    rows = store.query("SELECT count(*), sum(n) FROM blob")
    return files, rows


@pytest.mark.parametrize("what", ["pread64:error=EIO", "getdents64:error=EIO", "getdents64:retval=0"])
@pytest.mark.timeout(240)
def test_nothing_removed_when_reading_fails(store, tmp, what):
    """Each read fails in turn: the pass removes nothing and says so, or does all of its work."""
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # which a tracer does not go with
    call, what = what.split(":")
    fill(store, 10)
    before = everything(store)
    failed = 0
    for nth in range(1, 400, 1 if call == "pread64" else 13):
        copy = tmp / f"copy{nth}"
        shutil.copytree(store.path, copy)
        log = tmp / "log"
        done = subprocess.run(
            [*inject(log, call, f"{what}:when={nth}"), fence_program(), "gc", "--grace", "0", copy],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if not was_injected(log):
            break
        after = everything(Store(copy, init=False))
        if done.returncode == 0:
            assert set(after[0]) <= set(before[0])
        else:
            assert after == before, f"{nth}: {done.stderr}"
            failed += 1
        fence("fsck", copy)
        shutil.rmtree(copy)
    assert failed > 0


def test_damaged_page(store):
    fill(store, 40)
    before = blob_files(store)
    root = store.query("SELECT rootpage FROM sqlite_schema WHERE name = 'entry'")[0][0]
    with open(store.path / "meta.db", "r+b") as file:
        file.seek((root - 1) * 4096)
        page = file.read(4096)
        assert page[0] == 5, "the root of a table of several pages"
        (leaf,) = [int.from_bytes(page[int.from_bytes(page[12:14], "big") :][:4], "big")]
        file.seek((leaf - 1) * 4096)
        file.write(bytes(4096))
    done = fence("gc", "--grace", "0", store.path, rc=20)
    assert "nothing is removed" in done.err, done.err
    assert blob_files(store) == before
    shutil.rmtree(store.path)  # it would fail the check at the end


def test_reference_that_leads_nowhere(store):
    fill(store, 4)
    change(store, "UPDATE entry SET blob = x'00112233445566778899aabbccddeeff' WHERE name = x'6130' AND died IS NULL")
    before = blob_files(store)
    done = fence("gc", "--grace", "0", store.path, rc=20)
    assert "damaged store" in done.err, done.err
    assert blob_files(store) == before
    shutil.rmtree(store.path)


# ----------------------------------------------------------------- 6. clocks, and what is not ours

YEAR = 365 * 86400 * 10**9


def test_clock_stepped(store):
    live = fill(store, 4)
    # Marked a year ahead, as by a clock that has been set back since: the grace begins anew.
    change(store, f"UPDATE garbage SET since = since + {YEAR}")
    report = gc(store.path)
    assert removed(report) == 0 and report["waiting"]["count"] == 4, report
    (newest,) = store.query("SELECT max(since) FROM garbage")[0]
    assert newest <= time.time_ns()
    # A year back, as by one that has been set forward: over.
    change(store, f"UPDATE garbage SET since = since - {YEAR}")
    report = gc(store.path)
    assert removed(report) == 4, report
    # All of history lies in the future.
    change(store, f"UPDATE revision SET at = at + {YEAR}")
    report = sweep(store.path, "--keep-within", "1h")
    assert report["versions_pruned"] == 0, report
    check_live(store, live)


def test_foreign_files(store):
    live = fill(store, 4)
    blobs = store.path / "blobs"
    (blobs / "00/notes.txt").write_text("mine")
    (blobs / "00" / ("ff" * 16)).write_text("in the wrong directory")
    (blobs / "00" / ("00" * 16)).mkdir()
    (blobs / "README").write_text("mine")
    os.symlink("/etc/passwd", blobs / "01" / ("01" * 16))
    future = blobs / "02" / ("02" * 16)
    future.write_bytes(b"of a crash")
    os.utime(future, (time.time() + 10**8,) * 2)
    report = sweep(store.path)
    assert report["foreign"] == 5, report
    assert report["removed"]["crashed"] == {"count": 1, "bytes": 10}, report
    assert not future.exists()
    for path in ("00/notes.txt", "00/" + "ff" * 16, "00/" + "00" * 16, "README", "01/" + "01" * 16):
        assert os.path.lexists(blobs / path), path
        (blobs / path).rmdir() if (blobs / path).is_dir() else (blobs / path).unlink()
    check_live(store, live)


def test_blobs_is_a_symlink(store, tmp):
    fill(store, 2)
    (store.path / "blobs").rename(tmp / "elsewhere")
    os.symlink(tmp / "elsewhere", store.path / "blobs")
    done = fence("gc", "--grace", "0", store.path, rc=1)
    assert "blobs" in done.err
    (store.path / "blobs").unlink()
    (tmp / "elsewhere").rename(store.path / "blobs")
    assert len(store.blobs()) == 3


def test_blobs_of_another_store(store, tmp):
    fill(store, 2)
    other = Store(tmp / "other")
    (uuid,) = [p.name for p in (other.path / "blobs").iterdir() if len(p.name) == 36]
    (store.path / "blobs" / uuid).touch()
    done = fence("gc", "--grace", "0", store.path, rc=1)
    assert f"used by store {uuid}" in done.err, done.err
    (store.path / "blobs" / uuid).unlink()
    assert len(store.blobs()) == 3
    shutil.rmtree(other.path / "blobs")
    shutil.copytree(store.path / "blobs", other.path / "blobs")
    done = fence("gc", "--grace", "0", other.path, rc=1)
    assert "does not belong to this store" in done.err, done.err
    shutil.rmtree(other.path)


# ------------------------------------------------------------------------------- and beside that


def test_marks_wait_for_the_grace(mnt, store, ctl):
    refuse(ctl, "p", content(1, FILE))
    report = gc(mnt)
    assert report["waiting"] == {"count": 1, "bytes": FILE} and removed(report) == 0, report
    assert (mnt / ".fence/rejects/1").read_bytes() == content(1, FILE)
    report = sweep(mnt, "--dry-run")
    assert report["dry_run"] and report["removed"]["refused"] == {"count": 1, "bytes": FILE}
    assert len(store.blobs()) == 1
    report = sweep(mnt)
    assert report["removed"]["refused"] == {"count": 1, "bytes": FILE}, report
    assert store.blobs() == [] and not (mnt / ".fence/rejects/1").exists()
    assert store.query("SELECT count(*) FROM reject WHERE blob IS NOT NULL") == [(0,)]


def test_second_gc(mnt, store, tmp):
    with injecting(mnt, tmp / "log", "fdatasync", "delay_enter=1s"):
        with mnt.ctl() as ctl, mnt.ctl() as other:
            ctl.send("gc")
            wait_until(lambda: other.request("list kind=gc").get("stage"), "gc to run")
            done = fence("gc", mnt, rc=1)
            assert "another gc is running" in done.err, done.err
            assert ctl.reply().ok


def test_offline_beside_a_daemon_goes_through_it(mnt, store, ctl):
    refuse(ctl, "p", content(1, FILE))
    report = sweep(store.path)
    assert removed(report) == 1


def test_staging_is_emptied_offline(store):
    (store.path / "staging" / ("ab" * 16)).write_bytes(b"x" * 77)
    report = gc(store.path, "--dry-run")
    assert report["removed"]["staging"] == {"count": 1, "bytes": 77}, report
    assert len(store.staged()) == 1
    gc(store.path)
    assert store.staged() == []


def test_only_root_or_the_daemons_user(mnt):
    def other(me):
        with Ctl(mnt.path) as ctl:
            return [ctl.request("gc").errno_name, ctl.request("policy keep_last=1").errno_name]

    assert spawn(other, uid=12345).result() == ["EPERM", "EPERM"]


def test_restored_database(store, tmp):
    """A copy of the database is put back: nothing of what it does not know is garbage, no token comes twice."""
    mnt = store.mount()
    with mnt.ctl() as ctl:
        put(ctl, "a", content(1, FILE))
    mnt.unmount()
    shutil.copy(store.path / "meta.db", tmp / "copy.db")
    mnt.start()
    with mnt.ctl() as ctl:
        put(ctl, "a", content(2, FILE))
        token = ctl.expect_ok("acquire", path="b", ttl="1h", keep=1).int("token")
    mnt.unmount()
    for name in ("meta.db-wal", "meta.db-shm"):
        (store.path / name).unlink(missing_ok=True)
    shutil.copy(tmp / "copy.db", store.path / "meta.db")
    done = fence("gc", "--grace", "0", store.path, rc=16)
    assert "--after-restore" in done.err, done.err
    mnt.start()
    assert "database is older than its blobs" in mnt.log()
    fence("gc", "--grace", "0", mnt, rc=16)
    with mnt.ctl() as ctl:
        assert ctl.expect_ok("acquire", path="b", ttl="1h").int("token") > token + 2**31
    assert len(store.blobs()) == 2
    report = sweep(mnt, "--after-restore")
    assert report["restored"] and report["removed"]["crashed"]["count"] == 1, report
    assert removed(sweep(mnt)) == 0
    assert (mnt / "a").read_bytes() == content(1, FILE)


def test_copy_made_while_mounted(store, tmp):
    """The copy and the database it replaces were served by the same daemon, which ended in order."""
    mnt = store.mount()
    with mnt.ctl() as ctl:
        put(ctl, "a", content(1, FILE))
        with contextlib.closing(store.database()) as db:
            with contextlib.closing(sqlite3.connect(tmp / "copy.db")) as copy:
                db.backup(copy)
        put(ctl, "a", content(2, FILE))
    mnt.unmount()
    for name in ("meta.db-wal", "meta.db-shm"):
        (store.path / name).unlink(missing_ok=True)
    shutil.copy(tmp / "copy.db", store.path / "meta.db")
    assert "--accept-pages" in fence("gc", "--grace", "0", store.path, rc=20).err
    fence("fsck", "--accept-pages", store)
    fence("gc", "--grace", "0", store.path, rc=16)
    assert len(store.blobs()) == 2
    sweep(store.path, "--after-restore")
    assert len(store.blobs()) == 1


def test_quota(mnt, store, ctl):
    put(ctl, "a", content(1, FILE))
    fence("policy", "--max-size", str(3 * FILE), mnt)
    put(ctl, "a", content(2, FILE))
    put(ctl, "b", content(3, FILE))
    before = blob_files(store)
    ctl.expect_err("ENOSPC", "put", content(4, INLINE), path="c", token=1, size=INLINE)
    session = ctl.expect_ok("open", path="c", token=1)["session"]
    (mnt.session(session) / "c").write_bytes(content(4, FILE))
    ctl.expect_err("ENOSPC", "commit", session=session)
    ctl.expect_ok("remove", path="b", token=1)
    report = sweep(mnt, "--keep-last", "1")
    assert report["removed"]["pruned"]["count"] == 1, report
    ctl.expect_ok("commit", session=session)
    assert (mnt / "c").read_bytes() == content(4, FILE)
    assert fence("policy", "--json", mnt).json()["max_size"] == 3 * FILE
    (total,) = store.query("SELECT sum(size) FROM blob")[0]
    assert store.query("SELECT value FROM setting WHERE name = 'blob_bytes'") == [(total,)]
    fence("policy", "--max-size", "0", mnt)
    put(ctl, "d", content(5, FILE))
    assert before


def test_policy_is_used(mnt, ctl):
    for n in range(5):
        put(ctl, "a", content(n, INLINE))
    assert removed(sweep(mnt)) == 0
    fence("policy", "--keep-last", "2", mnt)
    assert sweep(mnt)["versions_pruned"] == 3
    assert sweep(mnt, "--keep-last", "1")["versions_pruned"] == 1


def test_paths(mnt, ctl):
    for path in ("a/x", "b/x", "c"):
        for n in range(3):
            put(ctl, path, content(n, INLINE), parents=1)
    report = sweep(mnt, "--keep-last", "1", "--path", "a", "--path", mnt / "c")
    assert report["versions_pruned"] == 4, report
    assert len(fence("log", mnt / "b/x").lines) == 4


def test_removed_directories(mnt, store, ctl):
    for n in range(3):
        put(ctl, f"d/e/f{n}", content(n, INLINE), parents=1)
    session = ctl.expect_ok("open", path="d", token=2)["session"]
    shutil.rmtree(mnt.session(session) / "d")
    ctl.expect_ok("commit", session=session)
    time.sleep(1.1)
    report = sweep(mnt, "--keep-within", "1s")
    assert report["versions_pruned"] == 0, report  # they were current when the newest revision was made
    put(ctl, "other", b"x")
    report = sweep(mnt, "--keep-within", "1s")
    assert report["versions_pruned"] == 5 and removed(report) == 3, report
    assert store.query("SELECT count(*) FROM entry WHERE died IS NOT NULL") == [(0,)]


def test_forget_fences(store):
    mnt = store.mount()
    with mnt.ctl() as ctl:
        ctl.expect_ok("claim", path="gone", token=7)
        ctl.expect_ok("claim", path="fresh", token=7)
        put(ctl, "there", b"x", token=7)
        ctl.expect_ok("acquire", path="leased", ttl="1h", keep=1)
    mnt.unmount()
    change(store, f"UPDATE fence SET updated = updated - 6 * {YEAR} WHERE path <> x'6672657368'")
    assert gc(store.path)["fences_forgotten"] == 0
    assert gc(store.path, "--forget-fences", "5y", "--dry-run")["fences_forgotten"] == 1
    assert gc(store.path, "--forget-fences", "5y")["fences_forgotten"] == 1
    left = {row[0].decode() for row in store.query("SELECT path FROM fence")}
    assert left == {"fresh", "there", "leased"}, left
