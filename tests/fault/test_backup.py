# SPDX-License-Identifier: MIT
"""Backup and restore: of one revision whatever goes on, whole at every moment, tokens above all that were."""

import itertools
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from fenceharness import *

BIG = 40_000


def content(number: int, size: int) -> bytes:
    return random.Random(number).randbytes(size)


def publish(ctl: Ctl, path: str, number: int, size: int = BIG, token: int = 1):
    ctl.expect_ok("put", content(number, size), path=path, token=token, size=size)


def backup(source, dest, rc=0, *options):
    return fence("backup", "--json", *options, source, dest, rc=rc).json()


def restore(dest, path) -> tuple[Store, dict]:
    told = fence("restore-store", "--json", dest, path).json()
    fence("fsck", "--data", path)
    return Store(path, init=False), told


def tree(top: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(Path(folder) / name, top): (Path(folder) / name).read_bytes()
        for folder, _, names in os.walk(top)
        for name in names
    }


def commits(me, path, least, stop):
    """Each makes one revision: a counter in one small and two large files. Not fewer than @least, until @stop is there."""
    with Ctl(path) as ctl:
        for number in itertools.takewhile(lambda n: n <= least or not stop.exists(), itertools.count(1)):
            reply = ctl.expect_ok("open", path="set/", token=1)
            for name, size in (("a", 100), ("b", BIG), ("c", BIG)):
                (Path(path) / reply["path"] / name).write_bytes(b"%8d" % number + content(number, size))
            ctl.expect_ok("commit")
            if number == 20:
                me.mark("running")
    return number


@pytest.mark.timeout(300)
def test_backups_during_a_thousand_commits(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    stop = tmp / "stop"
    child = spawn(commits, mnt.path, 1000, stop)
    child.wait_mark("running")
    revisions = []
    for number in range(12):
        told = backup(mnt, tmp / "dest")
        revisions.append(told["revision"])
        copy, restored = restore(tmp / "dest", tmp / f"r{number}")
        assert restored["revision"] == told["revision"]
        shown = copy.mount()
        now = tree(shown.path)
        assert {int(data[:8]) for data in now.values()} == {int(now["set/a"][:8])}, "of two commits"
        assert now == tree(mnt / f".fence/at/{told['revision']}")
        with shown.ctl() as ctl:
            assert ctl.expect_ok("hello").int("revision") == told["revision"]
        shown.unmount()
        run("rm", "-rf", copy.path)
    stop.touch()
    assert child.result(200) >= 1000
    assert len(set(revisions)) == 12, revisions


@pytest.mark.timeout(120)
def test_second_backup_copies_what_is_new(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(30):
            publish(ctl, f"n{number}", number)
        assert backup(mnt, tmp / "dest")["new_blobs"] == 30
        assert backup(mnt, tmp / "dest")["new_blobs"] == 0
        before = {p.name: p.stat().st_ino for p in (tmp / "dest/blobs").glob("??/*")}
        publish(ctl, "n3", 100)
        publish(ctl, "new", 101, 100)
        told = backup(mnt, tmp / "dest")
        assert (told["new_blobs"], told["new_bytes"], told["blobs"]) == (1, BIG, 31)
        after = {p.name: p.stat().st_ino for p in (tmp / "dest/blobs").glob("??/*")}
        assert before.items() <= after.items() and len(after) == 31
    mnt.unmount()
    assert backup(store, tmp / "dest")["new_blobs"] == 0
    copy, _ = restore(tmp / "dest", tmp / "r")
    mnt = copy.mount()
    assert (mnt / "n3").read_bytes() == content(100, BIG) and (mnt / "new").read_bytes() == content(101, 100)
    assert (mnt / ".fence/versions/n3/1").read_bytes() == content(3, BIG)


def test_tokens_after_a_restore_are_above_all_before(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        first = ctl.expect_ok("acquire", path="job/", ttl="1h").int("token")
        ctl.expect_ok("claim", path="ext", token=1000)
        held = ctl.expect_ok("claim", path="job/x", token=first).int("token")
        assert held == first
        backup(mnt, tmp / "dest")
        issued = [
            ctl.expect_ok("acquire", path=f"later{n}", ttl="1h").int("token") for n in range(50)
        ]
    mnt.unmount()
    fences = dict(store.query("SELECT path, token FROM fence"))
    copy, told = restore(tmp / "dest", tmp / "r")
    assert int(told["token_after"]) >= int(told["token_before"]) + 2**32
    assert told["leases"] == 1 and told["uuid"] != told["restored_from"]
    restored = dict(copy.query("SELECT path, token FROM fence"))
    assert all(restored[p] >= t for p, t in fences.items() if not p.startswith(b"later"))
    settings = dict(copy.query("SELECT name, value FROM setting"))
    assert settings["restored_from"] == told["restored_from"] and settings["restored_token"] == int(told["token_before"])
    mnt = copy.mount()
    with mnt.ctl() as ctl:
        new = ctl.expect_ok("acquire", path="job/", ttl="1h").int("token")
        assert new > max(issued)
        ctl.expect_err("ESTALE", "claim", path="job/x", token=max(issued))
        ctl.expect_err("ESTALE", "claim", path="ext", token=999)
        assert ctl.expect_ok("hello")["store"] == told["uuid"]


def test_what_it_refuses(tmp):
    store, other = Store(tmp / "s"), Store(tmp / "o")
    backup(store, tmp / "dest")
    assert "another store" in fence("backup", other, tmp / "dest", rc=1).err
    (tmp / "full").mkdir()
    (tmp / "full/file").write_text("mine")
    assert "not empty" in fence("backup", store, tmp / "full", rc=1).err
    assert "not a backup" in fence("restore-store", other, tmp / "r", rc=10).err
    assert not (tmp / "r").exists()
    assert "not empty" in fence("restore-store", tmp / "dest", tmp / "full", rc=1).err
    assert "already" in fence("restore-store", tmp / "dest", other, rc=1).err
    assert (tmp / "full/file").read_text() == "mine"
    assert fence("fsck", tmp / "dest", rc=10)
    text = fence("restore-store", tmp / "dest", tmp / "r").out
    for words in ("revision 0", "gone back", "tokens", "UUID"):
        assert words in text, words


@pytest.mark.parametrize("link", [False, True])
def test_damaged_content_is_named_and_the_rest_is_there(tmp, link):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(5):
            publish(ctl, f"n{number}", number)
    mnt.unmount()
    blob = store.query("SELECT lower(hex(blob)) FROM entry WHERE name = ?", b"n3")[0][0]
    file = store.path / "blobs" / blob[:2] / blob
    file.chmod(0o600)
    with open(file, "r+b") as opened:
        opened.write(b"\0")
    file.chmod(0o400)
    told = backup(store, tmp / "dest", 20, *(["--link"] if link else []))
    assert [(f["path"], f["version"]) for f in told["lost"]] == [("n3", 1)]
    assert {p.name for p in (tmp / "dest/blobs").glob("??/*")} == {p.name for p in store.blobs()} - {blob}
    if link:
        assert all(p.stat().st_nlink == 2 for p in (tmp / "dest/blobs").glob("??/*"))
    assert fence("restore-store", "--json", tmp / "dest", tmp / "r", rc=20).json()["lost"][0]["path"] == "n3"
    copy = Store(tmp / "r", init=False)
    mnt = copy.mount()
    mnt.allow_log("is missing")
    assert (mnt / "n2").read_bytes() == content(2, BIG)
    mnt.unmount()
    copy.path.rename(tmp / "discarded")
    store.path.rename(tmp / "discarded2")


@pytest.mark.timeout(300)
def test_killed_at_any_moment(tmp):
    """DEST is the old backup or the new one, whole; the next run completes."""
    store = Store(tmp / "s")
    mnt = store.mount()
    moment = AnyMoment(2)
    with mnt.ctl() as ctl:
        for number in range(200):
            publish(ctl, f"n{number}", number)
        base = ctl.expect_ok("hello").int("revision")
        for number in range(100):
            publish(ctl, f"n{number % 200}", 1000 + number)
            publish(ctl, f"new{number}", 2000 + number)
            moment.kill(fence_program(), "backup", mnt.path, tmp / "dest")
            if number % 10 == 0 and (tmp / "dest/meta.db").exists():
                copy, told = restore(tmp / "dest", tmp / f"r{number}")
                assert told["lost"] == [] and base <= told["revision"] <= base + 2 * number + 2
                run("rm", "-rf", copy.path)
        told = backup(mnt, tmp / "dest")
        assert told["revision"] == base + 200 and told["new_blobs"] < 400
    live = tree(mnt.path)
    copy, _ = restore(tmp / "dest", tmp / "last")
    shown = copy.mount()
    assert tree(shown.path) == live
    moment.check()
    names = {p.name for p in (tmp / "dest/blobs").glob("??/*")}
    assert names == {p.name for p in store.blobs()} and not list((tmp / "dest/staging").iterdir())


@pytest.mark.timeout(120)
def test_restore_killed_at_any_moment(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(150):
            publish(ctl, f"n{number}", number)
    live = tree(mnt.path)
    mnt.unmount()
    backup(store, tmp / "dest")
    moment = AnyMoment(3)
    for number in range(30):
        path = tmp / f"r{number}"
        moment.kill(fence_program(), "restore-store", tmp / "dest", path)
        if not (path / "format").exists():
            fence("restore-store", tmp / "dest", path)
        copy = Store(path, init=False)
        fence("fsck", "--data", path)
        if number % 10 == 0:
            shown = copy.mount()
            assert tree(shown.path) == live
            shown.unmount()
        run("rm", "-rf", path)
    moment.check()


@pytest.mark.timeout(120)
def test_interrupted_by_a_signal(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for number in range(300):
            publish(ctl, f"n{number}", number, 100_000)
    args = [fence_program(), "backup", mnt.path, tmp / "dest"]
    process = subprocess.Popen(list(map(os.fspath, args)), stderr=subprocess.PIPE)
    wait_until(lambda: (tmp / "dest/meta.db.new").exists(), "the backup to begin")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 1 and b"interrupted" in err, (process.returncode, err)
    assert "no complete backup" in fence("restore-store", tmp / "dest", tmp / "r", rc=10).err
    backup(mnt, tmp / "dest")


@pytest.mark.timeout(200)
def test_beside_gc(tmp):
    """gc takes content away while it is being copied: the backup has what its database says."""
    store = Store(tmp / "s")
    mnt = store.mount()

    stop = tmp / "stop"

    def churn(me, path):
        with Ctl(path) as ctl:
            for number in itertools.takewhile(lambda _: not stop.exists(), itertools.count()):
                publish(ctl, f"n{number % 20}", number)
                ctl.request("put", content(number, BIG), path="n0", token=0, size=BIG)
                if number == 20:
                    me.mark("running")

    def collect(_me, path):
        while not stop.exists():
            fence("gc", "--grace", "0", "--keep-last", "1", path)

    children = [spawn(churn, mnt.path)]
    children[0].wait_mark("running")
    children.append(spawn(collect, mnt.path))
    for number in range(25):
        told = backup(mnt, tmp / "dest")
        assert told["lost"] == [], told["lost"]
        if number % 8 == 0:
            copy, _ = restore(tmp / "dest", tmp / f"r{number}")
            run("rm", "-rf", copy.path)
    stop.touch()
    for child in children:
        child.result()


def test_df(tmp):
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        publish(ctl, "a", 1)
        publish(ctl, "a", 2)
        publish(ctl, "b", 3, token=5)
        ctl.expect_err("ESTALE", "put", content(4, BIG), path="b", token=4, size=BIG)
        reply = ctl.expect_ok("open", path="c", token=1)
        (mnt / reply["path"]).write_bytes(bytes(100_000))
        for target in (mnt, store):
            told = fence("df", "--json", target).json()
            assert told["live"] == {"count": 2, "bytes": 2 * BIG}
            assert told["history"] == {"count": 1, "bytes": BIG}
            assert told["orphans"] == {"count": 1, "bytes": BIG}
            assert told["staging"]["count"] == 1 and told["staging"]["bytes"] >= 100_000
            assert told["database"]["bytes"] > 0 and 0 < told["free"] < told["total"]
        ctl.expect_ok("abort")
    assert "history" in fence("df", mnt).out
    fence("df", tmp, rc=10)
