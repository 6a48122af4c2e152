# SPDX-License-Identifier: MIT
"""Damage of every kind: fsck finds and names it, and the rest of the tree stays readable."""

import contextlib
import errno
import os
import random
import re
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from fenceharness import *
from fencelib.damage import BIG, NAMES, blob_of, content, discard, expect_one, expected, file_of, fill, flip, fsck, publish
from fencelib.tracing import inject, was_injected

PAGE = 4096


def check_rest(store: Store, bad: dict[str, int], *options):
    """All but @bad can be read; @bad gives EIO, in the tree and as a version."""
    mnt = store.mount(*options)
    mnt.allow_log("is damaged|is missing or has the wrong size|database")
    for name, data in expected(NAMES).items():
        if name not in bad:
            assert (mnt / name).read_bytes() == data, name
    for name, seq in bad.items():
        for path in ([mnt / name] if seq == 2 else []) + [mnt / f".fence/versions/{name}/{seq}"]:
            try:
                path.read_bytes()
            except OSError as error:
                assert error.errno == errno.EIO, f"{path}: {error}"
            else:
                raise AssertionError(f"{path} was read")
    with mnt.ctl() as ctl:
        assert publish(ctl, "new", 1, BIG) == (mnt / "new").read_bytes()
    mnt.unmount()


@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_flipped_byte_in_a_blob(tmp, passthrough):
    store = Store(tmp / "s")
    fill(store)
    flip(file_of(store, "d/b", 2), 77_777)
    assert fsck(store)[0] == [], "sizes do not tell"
    expect_one(fsck(store, "--data")[0], "content", "d/b", 2)
    expect_one(fsck(store)[0], "marked", "d/b", 2)
    check_rest(store, {"d/b": 2}, f"passthrough={passthrough}")
    flip(file_of(store, "d/b", 2), 77_777)
    assert [f["rule"] for f in fsck(store, "--data")[0]] == ["marked"]
    assert fsck(store, "--data", rc=0) == ([], [])
    check_rest(store, {})


def test_flipped_byte_in_the_past(tmp):
    store = Store(tmp / "s")
    fill(store)
    flip(file_of(store, "d/b", 1), 3)
    found = fsck(store, "--data")[0]
    expect_one(found, "content", "d/b", 1)
    assert found[0]["current"] is False
    check_rest(store, {"d/b": 1})
    discard(store)


def test_flipped_byte_while_mounted(tmp):
    """The daemon is told, and refuses from then on."""
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    flip(file_of(store, "d/b", 2), 5)
    expect_one(fsck(mnt, "--data")[0], "content", "d/b", 2)
    for path in (mnt / "d/b", mnt / ".fence/versions/d/b/2"):
        try:
            path.read_bytes()
            raise AssertionError("damaged content was read")
        except OSError as error:
            assert error.errno == errno.EIO
    with mnt.ctl() as ctl:
        reply = ctl.expect_ok("open", path="d/b", token=1)
        try:
            with open(mnt / reply["path"], "r+b"):
                raise AssertionError("damaged content was copied")
        except OSError as error:
            assert error.errno == errno.EIO
        ctl.expect_ok("abort")
    flip(file_of(store, "d/b", 2), 5)
    fsck(mnt, "--data", rc=20)
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
    fsck(mnt, "--data", rc=0)


def test_marks_are_roots(tmp):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    blob = blob_of(store, "d/b", 2)
    with mnt.ctl() as ctl:
        ctl.expect_err("ENOENT", "damaged", blob="0" * 32)
        ctl.expect_err("EINVAL", "damaged", blob="xyz")

    def other(_me, path):
        os.setuid(12345)
        with Ctl(path) as ctl:
            ctl.expect_err("EPERM", "damaged", blob=blob)

    spawn(other, mnt.path).result()
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)


def find_bytes(store: Store, data: bytes) -> tuple[Path, int]:
    """Where the database has @data."""
    for file in (store.path / "meta.db", store.path / "meta.db-wal"):
        if file.exists() and (at := file.read_bytes().find(data)) >= 0:
            return file, at
    raise AssertionError("not in the database")


def test_flipped_byte_in_an_inline_blob(tmp):
    store = Store(tmp / "s")
    fill(store)
    file, at = find_bytes(store, content("small", 2, 500)[:100])
    flip(file, at + 50)
    expect = {("database", ""), ("content", "small")}
    assert {(f["rule"], f.get("path") or "") for f in fsck(store)[0]} == expect
    check_rest(store, {"small": 2})  # found by the first read
    expect_one(fsck(store, "--data")[0], "content", "small", 2)
    check_rest(store, {"small": 2})
    discard(store)


@pytest.mark.timeout(120)
def test_flipped_byte_in_a_page_of_the_database(tmp):
    """Any byte of any page, free ones and those of content among them."""
    store = Store(tmp / "s")
    fill(store)
    file = store.path / "meta.db"
    whole = file.read_bytes()
    pages = len(whole) // PAGE
    assert pages > 20
    rng = random.Random(7)
    for page in range(pages):
        at = rng.randrange(PAGE)
        flip(file, page * PAGE + at)
        result = fence("fsck", store, rc=None)
        assert result.rc == 20, (page + 1, at, result)
        told = f"page {page + 1} does not match its checksum", f"page {page + 1} is damaged"
        assert any(words in result.out + result.err for words in told), result
        file.write_bytes(whole)
    # Two pages in each other's place, each whole.
    one, two = (whole[n * PAGE : (n + 1) * PAGE] for n in (9, 10))
    file.write_bytes(whole[: 9 * PAGE] + two + one + whole[11 * PAGE :])
    out = fence("fsck", store, rc=20).out
    assert "page 10 does not match" in out and "page 11 does not match" in out, out
    file.write_bytes(whole)
    fsck(store, rc=0)


@pytest.mark.timeout(120)
def test_pages_that_the_disk_does_not_give(tmp):
    """Each read of a page fails in turn: it is told of, and the check goes on."""
    store = Store(tmp / "s")
    fill(store)
    log, pages = tmp / "log", os.stat(store.path / "meta.db").st_size // PAGE
    seen = set()
    for nth in range(1, 2 * pages, 3):
        wrapper = inject(log, "pread64", f"error=EIO:when={nth}", "-P", store.path / "meta.db")
        done = run(*wrapper, fence_program(), "fsck", store.path, rc=None)
        assert was_injected(log) and done.returncode in (1, 20), (nth, done)
        assert done.returncode == 20 or "Input/output error" in done.stderr or "I/O error" in done.stderr, (nth, done)
        seen |= set(re.findall(r"page \d+ cannot be read: Input/output error", done.stdout))
    assert len(seen) > pages // 6, seen


def damage_rows_of(store: Store, name: bytes) -> dict[str, int]:
    """On the page that has the row of @name in the tree; what fsck names, each with its version."""
    file = store.path / "meta.db"
    whole = file.read_bytes()
    for at in range(0, len(whole), PAGE):
        if whole[at] != 13 or name not in whole[at : at + PAGE]:  # 13: a leaf of a table
            continue
        flip(file, at + 2000)
        found = fsck(store)[0]
        named = {f["path"]: f["version"] for f in found if f["rule"] == "database" and f.get("path")}
        if named:
            return named
        file.write_bytes(whole)  # it was of another table: of events, say
    raise AssertionError(f"no row of {name!r} was damaged")


@pytest.mark.timeout(120)
def test_the_rest_of_the_tree_stays_readable(tmp):
    """Rows on a damaged page are named, and cannot be read; all others can."""
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(400):
            path = f"d{number % 8}/f{number:03}"
            ctl.expect_ok("put", content(path, 1, 300), path=path, token=1, size=300, parents=1)
    mnt.unmount()
    named = damage_rows_of(store, b"f200")
    assert "d0/f200" in named and len(named) < 100 and set(named.values()) == {1}, named
    mnt = store.mount()
    mnt.allow_log("database|damaged")
    unreadable = set()
    for number in range(400):
        path = f"d{number % 8}/f{number:03}"
        try:
            assert (mnt / path).read_bytes() == content(path, 1, 300)
        except OSError as error:
            assert error.errno in (errno.EIO, errno.EUCLEAN), error
            unreadable.add(path)
    assert unreadable == {path for path in named if "/" in path}
    told = fence("status", "--check", mnt, rc=20)
    assert "damaged database" in told.out, told
    mnt.unmount()
    discard(store)


def test_damaged_index_names_the_path(tmp):
    store = Store(tmp / "s")
    fill(store)
    with contextlib.closing(sqlite3.connect(store.path / "meta.db")) as db:
        root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'entry_current'").fetchone()[0]
    file = store.path / "meta.db"
    page = file.read_bytes()[(root - 1) * 4096 : root * 4096]
    at = page.find(b"small")
    assert at > 0
    flip(file, (root - 1) * 4096 + at)
    found = fsck(store)[0]
    assert ("database", "small", 2) in [(f["rule"], f.get("path"), f.get("version")) for f in found]
    discard(store)


def test_database_written_by_another_program(tmp):
    """A copy by SQLite's own means knows nothing of the sums; it can be taken as it is."""
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for version in (1, 2):
            publish(ctl, "a", version, 500)
    with contextlib.closing(store.database()) as db, contextlib.closing(sqlite3.connect(tmp / "copy")) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("VACUUM")
    assert "is served by fencefs" in fence("fsck", "--accept-pages", store, rc=1).err
    assert "unmount it first" in fence("fsck", "--accept-pages", mnt, rc=1).err
    mnt.unmount()
    assert "nothing to accept" in fence("fsck", "--accept-pages", store, rc=0).err
    assert list((store.path / "lost+found").iterdir()) == []
    (tmp / "copy").replace(store.path / "meta.db")
    before = (store.path / "meta.db").read_bytes()
    assert fence("fsck", store, rc=20)
    accepted = fence("fsck", "--accept-pages", store, rc=0)
    assert re.search(r"fence: \d+ pages of meta\.db were accepted as they are", accepted.err), accepted.err
    (kept,) = (store.path / "lost+found").glob("meta.db-*")
    assert kept.read_bytes() == before
    fsck(store, "--data", rc=0)
    mnt = store.mount()
    assert (mnt / "a").read_bytes() == content("a", 2, 500)
    mnt.unmount()


@pytest.mark.parametrize("how", ["truncated", "longer", "missing", "directory", "symlink", "swapped"])
def test_files_of_blobs(tmp, how):
    store = Store(tmp / "s")
    fill(store)
    file, other = file_of(store, "d/a", 2), file_of(store, "d/c", 2)
    rule, bad = "blob-file", {"d/a": 2}
    file.chmod(0o600)
    if how == "truncated":
        os.truncate(file, BIG - 1)
    elif how == "longer":
        os.truncate(file, BIG + 1)
    elif how == "swapped":
        file.rename(tmp / "x")
        other.rename(file)
        (tmp / "x").rename(other)
        rule, bad = "content", {"d/a": 2, "d/c": 2}
    else:
        file.unlink()
    if how == "directory":
        file.mkdir()
    elif how == "symlink":
        file.symlink_to("/etc/passwd")
    else:
        with contextlib.suppress(OSError):
            file.chmod(0o400)
            other.chmod(0o400)
    found = fsck(store, "--data")[0]
    assert {(f["rule"], f["path"], f["version"]) for f in found} == {
        (rule, path, seq) for path, seq in bad.items()
    }
    assert len(found) == len(bad)
    check_rest(store, bad)
    discard(store)


def test_foreign_files_are_left_alone(tmp):
    store = Store(tmp / "s")
    fill(store)
    foreign = [
        store.path / "blobs/README",
        store.path / "blobs/00/README",
        store.path / "blobs/00/ff000000000000000000000000000000",
        store.path / "staging/README",
    ]
    for file in foreign:
        file.write_text("mine")
    (store.path / "blobs/mine").mkdir()
    orphan = store.path / "blobs/00" / ("00" * 16)
    orphan.write_text("of a crash")
    damage, notes = fsck(store, "--data", rc=0)
    assert damage == []
    assert sorted(f["rule"] for f in notes) == ["foreign"] * 5 + ["orphan"]
    assert all(file.read_text() == "mine" for file in foreign) and orphan.exists()


def test_repair_asks_and_needs_the_store(tmp):
    store = Store(tmp / "s")
    fill(store)
    flip(file_of(store, "d/b", 2), 9)
    result = fence("fsck", "--data", "--repair", store, rc=20, input="")
    assert "repair: move the file to STORE/lost+found" in result.out
    assert "nothing was changed" in result.err and not (store.path / "lost+found").exists()
    mnt = store.mount()
    assert "unmount it first" in fence("fsck", "--repair", "--yes", store, rc=1).err
    assert "unmount it first" in fence("fsck", "--repair", "--yes", mnt, rc=1).err
    mnt.unmount()
    bad = file_of(store, "d/b", 2).read_bytes()
    blob = blob_of(store, "d/b", 2)
    fence("fsck", "--data", "--repair", "--yes", store, rc=0)
    assert (store.path / "lost+found" / blob).read_bytes() == bad
    assert [f["rule"] for f in fsck(store, "--data", rc=0)[1]] == ["set-aside"]
    check_rest(store, {"d/b": 2})
    # A good copy comes back.
    (store.path / "lost+found" / blob).rename(file_of(store, "d/b", 2))
    flip(file_of(store, "d/b", 2), 9)
    fsck(store, "--data", rc=0)
    assert fsck(store, rc=0) == ([], [])
    check_rest(store, {})


def damage_much(store: Store):
    """Files and rows, so that a repair takes a while."""
    for name in ("d/a", "d/b", "d/c"):
        for seq in (1, 2):
            flip(file_of(store, name, seq), 5)
    with changing(store.path / "meta.db") as db:
        row = db.execute("SELECT id FROM entry WHERE name = ? AND died IS NULL", (b"other",)).fetchone()
        db.execute("UPDATE entry SET dir = 77 WHERE id = ?", row)
        db.executemany("INSERT INTO dirtime VALUES(?, 1, 1)", [(n,) for n in range(1000, 3000)])


@pytest.mark.timeout(500)
def test_repair_killed_at_any_moment(tmp):
    """The next one completes; nothing is lost that was there."""
    first = Store(tmp / "first")
    fill(first)
    damage_much(first)
    blobs = {blob_of(first, name, seq) for name in ("d/a", "d/b", "d/c") for seq in (1, 2)}
    moment = AnyMoment(1)
    for number in range(100):
        path = tmp / f"copy{number}"
        run("cp", "-a", first.path, path)
        moment.kill(fence_program(), "fsck", "--data", "--repair", "--yes", path)
        copy = Store(path, init=False)
        fence("fsck", "--data", "--repair", "--yes", path, rc=None)
        damage, _ = fsck(copy, "--data", rc=0)
        assert damage == []
        found = {p.name for p in (path / "lost+found").iterdir()} | {p.name for p in copy.blobs()}
        assert blobs <= found, blobs - found
        if number % 10 == 0:
            mnt = copy.mount()
            mnt.allow_log("is damaged")
            assert (mnt / "lost+found/dir-77/other").read_bytes() == content("other", 2, 500)
            assert (mnt / "small").read_bytes() == content("small", 2, 500)
            mnt.unmount()
        run("rm", "-rf", path)
    moment.check()
    discard(first)


@pytest.mark.timeout(120)
def test_interrupted_check_goes_on(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(40):
            publish(ctl, f"n{number}", 1, BIG)
    mnt.unmount()
    flip(file_of(store, "n39", 1), 1)
    state = tmp / "state"
    args = [fence_program(), "fsck", "--data", "--rate", "400K", "--resume", state, store]
    process = subprocess.Popen(list(map(os.fspath, args)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(state.exists, "the first note of how far it came")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 1 and b"same command continues" in err, (process.returncode, out, err)
    done = int(state.read_text().split()[3])
    assert 0 < done < 40, done
    other = Store(tmp / "other")
    assert "another store" in fence("fsck", "--data", "--resume", state, other, rc=1).err
    found = fsck(store, "--data", "--resume", state)[0]
    expect_one(found, "content", "n39", 1)
    assert not state.exists()
    discard(store)


@pytest.mark.timeout(120)
def test_no_false_alarm_beside_commits(tmp):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()

    def commit(me, path):
        with Ctl(path) as ctl:
            me.mark("running")
            version = 0
            while True:
                version += 1
                publish(ctl, "d/a", version, BIG)
                ctl.request("put", b"x" * 20_000, path="d/b", token=0, size=20_000)

    child = spawn(commit, mnt.path)
    child.wait_mark("running")
    for number in range(150):
        fsck(mnt, *(["--data"] if number % 5 == 0 else []), rc=0)
    child.kill()
