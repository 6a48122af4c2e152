# SPDX-License-Identifier: MIT
""".fence/events: every fact once and in order, to each reader at his own pace, and only what he may know."""

import contextlib
import errno
import json
import os
import select
import signal
import time

import pytest
from fenceharness import *

OTHER = 65534
KEEP = 200000


class Events:
    """An open .fence/events."""

    def __init__(self, mnt, since=None):
        self.fd = os.open(os.path.join(mnt, ".fence/events"), os.O_RDWR | os.O_CLOEXEC)
        self.rest = b""
        if since is not None:
            self.seek(f"since={since}\n".encode())

    def seek(self, line: bytes):
        os.write(self.fd, line)
        self.rest = b""

    def fileno(self):
        return self.fd

    def ready(self, seconds=0) -> bool:
        return bool(select.select([self.fd], [], [], seconds)[0])

    def next(self) -> dict:
        while b"\n" not in self.rest:
            part = os.read(self.fd, 65536)
            assert part.endswith(b"\n"), part
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def until(self, last) -> list[dict]:
        """All up to the first for which last(event)."""
        found = [self.next()]
        while not last(found[-1]):
            found.append(self.next())
        return found

    def close(self):
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close


def put(ctl, path="f", content=b"x", token=1, owner="job", **fields):
    reply = ctl.expect_ok("put", content, path=path, token=token, owner=owner, size=len(content), **fields)
    return reply.int("revision")


def at_revision(revision):
    return lambda e: e["event"] == "commit" and e["revision"] == revision


def test_every_kind_is_told(mnt, ctl):
    events = Events(mnt)
    with mnt.ctl() as first, mnt.ctl() as second:
        t1 = first.expect_ok("acquire", path="p", ttl="300ms", owner="a", keep=1).int("token")
        e = events.next()
        assert (e["event"], e["path"], e["token"], e["owner"], e["uid"]) == ("grant", "p", str(t1), "a", 0)
        assert e["ttl"] == 0.3 and e["revision"] == 0
        assert events.next()["event"] == "expire"
        t2 = second.expect_ok("acquire", path="p", ttl="1h", owner="b").int("token")
        assert events.next()["event"] == "grant"
        put(second, "p", token=t2, owner="b")
        e = events.next()
        assert (e["event"], e["revision"], e["changed"], e["token"]) == ("commit", 1, 1, str(t2))
        first.expect_err("ESTALE", "put", b"x", path="p", token=t1, owner="a", size=1)
        e = events.next()
        assert (e["event"], e["stage"], e["why"], e["token"]) == ("refuse", "put", "ESTALE", str(t1))
        assert (e["highest"], e["held_by"], e["owner"]) == (str(t2), "b", "a")
        second.expect_ok("release", path="p", token=t2, owner="b")
        assert events.next()["event"] == "release"
        t3 = second.expect_ok("acquire", path="p", ttl="1h", owner="b").int("token")
        assert events.next()["event"] == "grant"
        first.expect_ok("claim", path="p", token=1000, owner="c")
        kinds = {(e := events.next())["event"]: e for _ in range(2)}
        assert set(kinds) == {"claim", "lose"}, kinds
        assert (kinds["lose"]["token"], kinds["lose"]["held_by"]) == (str(t3), "c")
        first.expect_ok("reset", path="p", token=5)
        e = events.next()
        assert (e["event"], e["token"], e["highest"]) == ("reset", "5", "1000")
    assert not events.ready()


def test_select_wakes_and_tells_no_lie(mnt, ctl):
    events = Events(mnt)
    poll = select.poll()
    poll.register(events.fd, select.POLLIN)
    assert not events.ready() and poll.poll(0) == []

    def wait(me, mount):
        reader = Events(mount)
        me.mark("open")
        assert reader.ready(30)
        return reader.next()["revision"]

    waiter = spawn(wait, str(mnt.path)).wait_mark("open")
    time.sleep(0.1)  # it is in select() by now, or will find the event there: both must work
    put(ctl)
    assert waiter.result() == 1
    assert events.ready() and poll.poll(0) == [(events.fd, select.POLLIN)]
    assert events.next()["revision"] == 1 and not events.ready()


def test_poll_passes_over_what_one_may_not_see(mnt, ctl):
    """Ready must mean that a read finds a line: else a program in a poll loop hangs in read."""
    view = mnt / ctl.expect_ok("open", path=".", token=1)["dir"]
    (view / "closed").mkdir(0o700)
    (view / "open").mkdir(0o755)
    ctl.expect_ok("commit")

    def watch(me, mount):
        reader = Events(mount)
        me.mark("open")
        me.pause("hidden")
        assert not reader.ready(0.2), reader.next()
        me.pause("seen")
        assert reader.ready(30)
        return reader.next()

    watcher = spawn(watch, str(mnt.path), uid=OTHER).wait_mark("open")
    watcher.wait_mark("hidden")
    put(ctl, "closed/secret")
    watcher.resume()
    watcher.wait_mark("seen")
    put(ctl, "closed/secret")
    put(ctl, "open/f")
    watcher.resume()
    assert watcher.result()["path"] == "open/f"
    # The same goes for the past.
    paths = spawn(lambda me, m: [e["path"] for e in Events(m, 0).until(at_revision(4))], str(mnt.path), uid=OTHER)
    assert not [p for p in paths.result() if p.startswith("closed")]


def test_since(mnt, ctl):
    ctl.expect_ok("claim", path="before", token=1, owner="a")
    for _ in range(5):
        put(ctl)
    ctl.expect_ok("claim", path="after", token=1, owner="a")
    told = lambda since: [
        e["path"] if e["event"] == "claim" else e["revision"]
        for e in Events(mnt, since).until(lambda e: e["path"] == "after")
    ]
    assert told(0) == ["before", 1, 2, 3, 4, 5, "after"]
    assert told(3) == [4, 5, "after"]
    assert told(5) == ["after"]  # what came after the newest revision is not lost
    assert told(99) == ["after"]
    events = Events(mnt, 0)
    for bad in (b"since=-1\n", b"since=x\n", b"\n", b"since=\n", b"1" * 30, b"since=1 2\n", b"x" * 200):
        try:
            events.seek(bad)
            raise AssertionError(bad)
        except OSError as error:
            assert error.errno == errno.EINVAL, bad
    assert events.next()["path"] == "before"  # they moved nothing
    events.seek(b"4")
    assert events.next()["revision"] == 5


def test_two_readers_and_ids(mnt, ctl):
    readers = [Events(mnt), Events(mnt)]
    for _ in range(50):
        put(ctl)
    first, second = (r.until(at_revision(50)) for r in readers)
    assert first == second and [e["revision"] for e in first] == list(range(1, 51))
    ids = [e["id"] for e in first]
    assert ids == sorted(set(ids))
    assert Events(mnt, 0).until(at_revision(50)) == first


def test_an_event_is_told_when_it_can_be_seen(mnt, ctl):
    """Who reads of a commit finds it."""

    def follow(me, mount):
        reader = Events(mount)
        me.mark("open")
        for i in range(1, 201):
            assert reader.next()["revision"] == i
            assert int(os.getxattr(f"{mount}/f", "user.fence.revision")) >= i
        return True

    follower = spawn(follow, str(mnt.path)).wait_mark("open")
    for _ in range(200):
        put(ctl)
    assert follower.result()


def test_a_slow_reader_holds_up_nobody(mnt, ctl):
    def sleep(me, mount):
        reader = Events(mount)
        me.stop("open")
        return len(reader.until(at_revision(300)))

    sleeper = spawn(sleep, str(mnt.path)).wait_stopped("open")
    for _ in range(300):
        put(ctl)  # each is answered
    sleeper.cont()
    assert sleeper.result() == 300


def test_a_reader_that_is_killed_or_interrupted(mnt, ctl):
    def read_on(me, mount):
        reader = Events(mount)
        me.mark("open")
        reader.next()

    def until_signal(me, mount):
        def interrupted(*_):
            raise InterruptedError

        signal.signal(signal.SIGUSR1, interrupted)
        reader = Events(mount)
        me.mark("open")
        with contextlib.suppress(InterruptedError):
            reader.next()
            return "no signal"
        me.pause("interrupted")
        return reader.next()["revision"]

    def in_read(child):
        child.wait_mark("open")
        wait_until(lambda: os.read(os.open(f"/proc/{child.pid}/syscall", os.O_RDONLY), 4).startswith(b"0 "), "a read")
        return child

    killed = in_read(spawn(read_on, str(mnt.path)))
    killed.kill()
    child = in_read(spawn(until_signal, str(mnt.path)))
    child.kill(signal.SIGUSR1)
    child.wait_mark("interrupted")
    put(ctl)
    child.resume()
    assert child.result() == 1
    assert Events(mnt, 0).next()["revision"] == 1


def test_many_readers_come_and_go(mnt, ctl):
    def come_and_go(me, mount):
        for _ in range(100):
            reader = Events(mount, 0)
            reader.ready()
            reader.next()
            reader.close()
        return True

    put(ctl)
    children = [spawn(come_and_go, str(mnt.path)) for _ in range(8)]
    while any(child.is_alive() for child in children):
        put(ctl)
    assert all(child.result() for child in children)


def test_what_was_dropped_is_said(mnt):
    """Older events than the newest 200,000 are dropped, 1,024 at a time: here by hand, in the unmounted store."""
    with mnt.ctl() as ctl:
        for _ in range(20):
            put(ctl)
    mnt.unmount()
    with changing(mnt.store.path / "meta.db") as db:
        (first, *_), *_ = db.execute("SELECT min(id) FROM event").fetchall()
        db.execute("DELETE FROM event WHERE revision <= 12")
    assert first == 1
    mnt.start()
    events = Events(mnt, 3)
    assert events.next() == {"event": "missed", "from_revision": 13}
    assert [e["revision"] for e in events.until(at_revision(20))] == list(range(13, 21))
    assert not events.ready()
    # Nothing that was dropped is later than revision 13 or 20.
    assert Events(mnt, 13).next()["revision"] == 14
    with mnt.ctl() as ctl:
        put(ctl)
    assert Events(mnt, 20).next()["revision"] == 21
    text = run("timeout", "-s", "INT", "--preserve-status", "2", fence_program(), "watch", "--since", "2", mnt.path)
    lines = text.stdout.splitlines()
    assert lines[0] == (
        "-- some events were missed: they are no longer kept; continuing from revision 13 --"
    ), lines[0]
    assert len(lines) == 10


@pytest.mark.timeout(120)
def test_the_table_is_bounded_and_a_late_reader_is_told(mnt):
    """A reader whose place is dropped while he sleeps."""
    mnt.unmount()
    with changing(mnt.store.path / "meta.db") as db:
        row = "1000000000, 3, 0, CAST('p' AS BLOB), 1, 'a', 0, -1, '', '', 0"
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO event(id, at, kind, revision, path, token, owner, uid, highest, other, detail, n)"
            f" SELECT i, {row} FROM n",
            [KEEP + 500],
        )
    mnt.start()
    events = Events(mnt, 0)
    assert events.next()["id"] == 1
    with mnt.ctl() as ctl:
        for _ in range(1024):
            put(ctl)
    ((first, count),) = mnt.store.query("SELECT min(id), count(*) FROM event")
    assert first > 400 and count <= KEEP + 1024, (first, count)
    events.seek(b"since=0\n")
    assert events.next() == {"event": "missed", "from_revision": 0}
    assert events.next()["id"] == first


def test_the_end_of_the_mount_ends_the_wait(mnt, ctl):
    def wait(me, mount):
        reader = Events(mount)
        me.mark("open")
        try:
            return os.read(reader.fd, 1000)
        except OSError as error:
            return error.errno

    waiter = spawn(wait, str(mnt.path)).wait_mark("open")
    ctl.close()
    mnt.terminate()
    assert waiter.result() in (b"", errno.ENOTCONN, errno.ECONNABORTED)


def test_names_of_any_bytes(mnt, ctl):
    names = ["a b", "new\nline", 'quo"te', "back\\slash", "é😀", "\x7f\x01", os.fsdecode(b"\xff\xc3")]
    events = Events(mnt)
    for name in names:
        put(ctl, name, owner=f"job {name}" if "\n" not in name and "\x01" not in name else "job")
    found = events.until(at_revision(len(names)))
    assert [e["path"] for e in found] == names
