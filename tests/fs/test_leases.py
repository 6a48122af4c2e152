# SPDX-License-Identifier: MIT
"""Leases: who holds one, who waits, what the others can still do. The numbers P1, P2, P7 are those of fs/README.md."""

import random
import signal
import subprocess
import time

import pytest
from fenceharness import continue_process, fence, fence_program, spawn, wait_until
from fencelib.dialog import make_dir
from fencelib.workspace import fails

NOBODY = 65534

GRANT, RELEASE, EXPIRE, LOSE = 4, 5, 6, 7  # kinds of events in the database


def leases(mnt, path: str = ".") -> list[dict]:
    """What the daemon says of live leases on @path and beneath it."""
    found = []
    with mnt.ctl() as ctl:
        after = {}
        while True:
            reply = ctl.expect_ok("list", kind="lease", path=path, **after)
            if "end" in reply:
                return found
            found.append(reply.fields)
            after = {"after": reply["id"]}


def waiters(mnt, path: str) -> int:
    return sum(int(lease["waiters"]) for lease in leases(mnt, path))


def expired(mnt, path: str):
    wait_until(lambda: not leases(mnt, path), f"the lease on {path} to expire")


def token_of(mnt, path: str, **fields) -> int:
    """Acquires and keeps."""
    with mnt.ctl() as ctl:
        return ctl.expect_ok("acquire", path=path, keep=1, **fields).int("token")


# ------------------------------------------------------------------------------- a lease that is lost


def test_granted_is_enough(mnt):
    """B has been granted the lease and has written nothing: A is refused already (P1)."""
    with mnt.ctl() as a, mnt.ctl() as b:
        old = a.expect_ok("acquire", path="p", ttl="200ms", owner="a")["token"]
        session = a.expect_ok("open", path="p/", token=old, owner="a")
        view = mnt / session["path"]
        (view / "f").write_text("late")
        new = b.expect_ok("acquire", path="p", ttl="30s", wait="20s", owner="b")["token"]
        assert int(new) > int(old)
        with fails("ESTALE"):
            (view / "g").write_text("later")
        refused = a.expect_err("ESTALE", "commit", session=session["session"])
        assert (refused["token"], refused["highest"], refused["set_by"]) == (old, new, "b")
        a.expect_err("ESTALE", "put", b"x", path="p/f", token=old, size=1)
        a.expect_err("ESTALE", "claim", path="p/q", token=old)
        assert not (mnt / "p").exists()


def test_expiry_alone_revokes_nothing(mnt, ctl):
    token = token_of(mnt, "p", ttl="100ms")
    expired(mnt, "p")
    ctl.expect_ok("put", b"x", path="p", token=token, size=1)
    assert (mnt / "p").read_text() == "x"


def test_a_claim_above_overtakes_every_lease_beneath(mnt, ctl):
    """Not only the first in the order of paths: one beneath may stand under a token of its own that is higher."""
    ctl.expect_ok("claim", path="a/m", token=90)
    high = token_of(mnt, "a/m", ttl="60s", owner="high")
    ctl.expect_ok("reset", path="a", token=50)
    lows = {path: token_of(mnt, path, ttl="60s", owner="low") for path in ("a-b", "a/k", "a/x", "a/y/z")}
    ctl.expect_ok("claim", path="a", token=max(lows.values()) + 1000, owner="above")
    assert [lease["path"] for lease in leases(mnt)] == ["a-b"]
    for path, token in lows.items():
        if path != "a-b":
            ctl.expect_err("ESTALE", "renew", path=path, token=token, owner="low")
    ctl.expect_err("ESTALE", "renew", path="a/m", token=high, owner="high")


def ask_for_lease(me, mnt, path):
    with mnt.ctl() as ctl:
        return ctl.request(f"acquire path={path} ttl=60s wait=60s owner=nobody")


def test_a_waiter_who_lost_permission_gets_nothing(mnt, ctl):
    """What was allowed when it was asked for is judged again when it is granted (P8)."""
    make_dir(mnt, "u", uid=NOBODY, mode=0o755)
    token = token_of(mnt, "u/x", ttl="60s", owner="root")
    asking = spawn(ask_for_lease, mnt, "u/x", uid=NOBODY)
    wait_until(lambda: waiters(mnt, "u/x") == 1, "nobody to wait")
    make_dir(mnt, "u", uid=0, mode=0o700)
    ctl.expect_ok("release", path="u/x", token=token, owner="root")
    reply = asking.result()
    assert reply.errno_name == "EACCES", reply.raw
    assert ctl.expect_ok("stat", path="u/x")["highest"] == str(token)


def test_an_overtaken_lease_is_over(mnt, ctl):
    """A claim from outside with a higher token takes the lease, and those beneath it."""
    ctl.expect_ok("acquire", path="p/q", ttl="30s", owner="a")
    ctl.expect_ok("claim", path="p", token=1000, owner="b")
    assert leases(mnt) == []
    lost = ctl.expect_err("ESTALE", "renew", path="p/q", token=1, owner="a")
    assert (lost["highest"], lost["set_by"], lost["held_path"]) == ("1000", "b", "p")
    assert ctl.expect_ok("acquire", path="p/q", ttl="30s").int("token") == 1001


# ----------------------------------------------------------------------------------- renew and release


def test_renewal_keeps_the_token(mnt, ctl):
    token = ctl.expect_ok("acquire", path="p", ttl="10s", owner="a")["token"]
    for ttl, low, high in ((None, 9, 10), ("20s", 19, 20), (None, 19, 20)):
        fields = {"ttl": ttl} if ttl else {}
        reply = ctl.expect_ok("renew", path="p", token=token, owner="a", **fields)
        assert reply["token"] == token
        assert low < float(reply["expires_in"]) <= high
    assert ctl.expect_ok("stat", path="p")["lease_token"] == token
    assert ctl.expect_ok("stat", path="p/deep/er")["lease_path"] == "p"


def test_others_cannot_touch_a_lease(mnt):
    with mnt.ctl() as a, mnt.ctl() as b:
        old = a.expect_ok("acquire", path="p", ttl="100ms", owner="a")["token"]
        expired(mnt, "p")
        new = b.expect_ok("acquire", path="p", ttl="30s", owner="b")["token"]
        for verb in ("renew", "release"):
            lost = a.expect_err("ESTALE", verb, path="p", token=old, owner="a")
            assert lost["highest"] == new
            a.expect_err("EPERM", verb, path="p", token=new, owner="a")
            a.expect_err("ETIME", verb, path="p", token=int(new) + 1, owner="b")
            a.expect_err("ETIME", verb, path="p/q", token=new, owner="b")
        (held,) = leases(mnt)
        assert (held["token"], held["owner"], held["path"]) == (new, "b", "p")


def test_renewal_of_an_expired_lease_never_revives_it(mnt, ctl):
    token = ctl.expect_ok("acquire", path="p", ttl="100ms", owner="a")["token"]
    expired(mnt, "p")
    for _ in range(3):
        ctl.expect_err("ETIME", "renew", path="p", token=token, owner="a", ttl="1h")
        assert leases(mnt) == []
    ctl.expect_err("ETIME", "release", path="p", token=token, owner="a")
    assert ctl.expect_ok("acquire", path="p", ttl="30s").int("token") > int(token)


def test_what_ends_with_its_conversation(mnt, ctl):
    with mnt.ctl() as other:
        other.expect_ok("acquire", path="p", ttl="1h")
        kept = other.expect_ok("acquire", path="q", ttl="1h", keep=1)["token"]
        ctl.expect_err("EBUSY", "acquire", path="p", ttl="1s")
    assert ctl.expect_ok("acquire", path="p", ttl="1s", wait="20s").ok
    assert ctl.expect_err("EBUSY", "acquire", path="q", ttl="1s")["token"] == kept


@pytest.mark.parametrize("held", ["a/b"])
@pytest.mark.parametrize("wanted", ["a", "a/b", "a/b/c", "."])
def test_conflict_with_ancestors_and_descendants(mnt, ctl, held, wanted):
    token_of(mnt, held, ttl="30s", owner="x")
    busy = ctl.expect_err("EBUSY", "acquire", path=wanted, ttl="1s")
    assert busy["holder"] == "x" and busy.get("held_path", wanted) == held
    assert 0 < float(busy["remaining"]) <= 30


def test_beside_it_there_is_no_conflict(mnt, ctl):
    token_of(mnt, "a/b", ttl="30s")
    for path in ("a/bb", "a/b-", "a/b.c", "a/c", "b"):
        ctl.expect_ok("acquire", path=path, ttl="30s")


# ----------------------------------------------------------------------------------- many at one time


def acquire_once(me, mnt, path):
    with mnt.ctl() as ctl:
        me.pause("ready")
        reply = ctl.request("acquire", path=path, ttl="60s", keep=1)
        assert reply.ok or reply.errno_name == "EBUSY", reply.raw
        return int(reply["token"]) if reply.ok else None


@pytest.mark.timeout(180)
def test_a_hundred_first_acquisitions(mnt):
    children = [spawn(acquire_once, mnt, "new/path") for _ in range(100)]
    for child in children:
        child.wait_mark("ready")
    for child in children:
        child.resume()
    got = [child.result() for child in children]
    (token,) = [token for token in got if token is not None]
    (held,) = leases(mnt)
    assert held["token"] == str(token)
    assert mnt.store.query("SELECT count(*) FROM event WHERE kind = ?", GRANT) == [(1,)]


def cycle(me, mnt, notes, times):
    """Acquires and releases; while it holds the lease it is the only one that writes to @notes."""
    with mnt.ctl() as ctl, open(notes, "ab", buffering=0) as file:
        me.pause("ready")
        for _ in range(times):
            token = ctl.expect_ok("acquire", path="p", ttl="60s", wait="100s", owner="x")["token"]
            (held,) = leases(mnt, "p")
            assert held["token"] == token, f"{held} is held as well as {token}"
            file.write(f"{token} taken\n".encode())
            file.write(f"{token} left\n".encode())
            ctl.expect_ok("release", path="p", token=token, owner="x")


@pytest.mark.timeout(300)
def test_a_thousand_cycles_of_sixteen_processes(mnt, tmp):
    notes = tmp / "notes"
    times = [63] * 8 + [62] * 8
    children = [spawn(cycle, mnt, notes, n) for n in times]
    for child in children:
        child.wait_mark("ready")
        child.resume()
    for child in children:
        child.result(250)
    lines = [line.split() for line in notes.read_text().splitlines()]
    tokens = [int(token) for token, what in lines if what == "taken"]
    assert len(tokens) == 1000
    assert tokens == sorted(set(tokens)), "tokens do not strictly increase"
    assert [t for t, _ in lines[::2]] == [t for t, _ in lines[1::2]], "two at one time"
    check_record(mnt, "p", 1000)


def check_record(mnt, path: str, grants: int | None = None):
    """By the daemon's own record there was never more than one holder, and tokens rose."""
    live, last, n = None, 0, 0
    for kind, token in mnt.store.query(
        "SELECT kind, token FROM event WHERE kind IN (4, 5, 6, 7) AND path = ? ORDER BY id",
        path.encode(),
    ):
        if kind == GRANT:
            assert live is None, f"{token} was granted while {live} was held"
            assert token > last, f"{token} was granted after {last}"
            live, last, n = token, token, n + 1
        else:
            assert token == live, f"{token} ended, {live} was held"
            live = None
    assert grants is None or n == grants


# --------------------------------------------------------------------------------------------- waiters


def wait_for_lease(me, mnt, number):
    with mnt.ctl() as ctl:
        ctl.send("acquire", path="p", ttl="60s", wait="50s", owner=f"w{number}")
        me.mark("asked")
        token = ctl.reply()["token"]
        me.mark("granted")
        ctl.expect_ok("release", path="p", token=token, owner=f"w{number}")
        return int(token)


def test_waiters_keep_their_order(mnt, ctl):
    """One of them is killed with -9 in the middle of the queue: no hole."""
    first = ctl.expect_ok("acquire", path="p", ttl="60s", owner="h")["token"]
    queue = []
    for number in range(6):
        queue.append(spawn(wait_for_lease, mnt, number).wait_mark("asked"))
        wait_until(lambda n=number: waiters(mnt, "p") == n + 1, "it to be in the queue")
    queue[2].kill(signal.SIGKILL)
    wait_until(lambda: waiters(mnt, "p") == 5, "the killed one to be gone")
    ctl.expect_ok("release", path="p", token=first, owner="h")
    tokens = [child.result() for number, child in enumerate(queue) if number != 2]
    assert tokens == sorted(tokens) and tokens[0] > int(first)
    owners = mnt.store.query("SELECT owner FROM event WHERE kind = ? ORDER BY id", GRANT)
    assert [o for (o,) in owners] == ["h", "w0", "w1", "w3", "w4", "w5"]


def test_waiters_of_the_whole_tree(mnt, ctl):
    """First come, first served across paths that stand against each other."""
    token = ctl.expect_ok("acquire", path="a/b", ttl="60s", owner="h")["token"]
    above = mnt.ctl()
    above.send("acquire", path="a", ttl="30s", wait="50s", owner="above")
    wait_until(lambda: waiters(mnt, "a/b") == 1, "one waiter")
    beside = ctl.expect_err("EBUSY", "acquire", path="a/c", ttl="1s")
    assert "holder" not in beside and "others are waiting" in beside.text, beside.raw
    ctl.expect_ok("acquire", path="b", ttl="1s")
    ctl.expect_ok("release", path="a/b", token=token, owner="h")
    assert above.reply()["token"]
    above.close()


def test_a_waiter_with_a_timeout(mnt, ctl):
    token_of(mnt, "p", ttl="60s", owner="h")
    start = time.monotonic()
    late = ctl.expect_err("ETIMEDOUT", "acquire", path="p", ttl="1s", wait="300ms", late=True)
    assert time.monotonic() - start >= 0.3 and late["holder"] == "h"
    assert fence("acquire", "--wait", "300ms", mnt / "p", rc=12).out == ""
    assert fence("acquire", mnt / "p", rc=11).out == ""
    assert fence("run", "--wait", "300ms", mnt / "p", "--", "true", rc=12).out == ""
    assert waiters(mnt, "p") == 0


@pytest.mark.parametrize("verb", ["acquire", "run"])
def test_ctrl_c_leaves_at_once(mnt, verb):
    token_of(mnt, "p", ttl="60s")
    command = ["--", "true"] if verb == "run" else []
    waiter = subprocess.Popen([fence_program(), verb, "--wait", "50s", mnt / "p", *command])
    wait_until(lambda: waiters(mnt, "p") == 1, "it to wait")
    start = time.monotonic()
    waiter.send_signal(signal.SIGINT)
    assert waiter.wait(20) == -signal.SIGINT
    wait_until(lambda: waiters(mnt, "p") == 0, "it to be out of the queue")
    assert time.monotonic() - start < 10


def test_a_read_that_was_interrupted_can_be_repeated(mnt, ctl):
    """A waiter that is stopped and continued still gets its answer."""
    token = ctl.expect_ok("acquire", path="p", ttl="60s", owner="h")["token"]
    waiter = spawn(wait_for_lease, mnt, 1).wait_mark("asked")
    wait_until(lambda: waiters(mnt, "p") == 1, "it to wait")
    for _ in range(3):
        waiter.stop()
        continue_process(waiter.pid)
    ctl.expect_ok("release", path="p", token=token, owner="h")
    assert waiter.result() > int(token)


# -------------------------------------------------------------------------- tokens from two sources


def test_a_store_token_beats_every_one_it_can_see(mnt, ctl):
    ctl.expect_ok("claim", path="a/b/c", token=10**6)
    assert ctl.expect_ok("acquire", path="a", ttl="1s").int("token") == 10**6 + 1  # above it
    ctl.expect_ok("claim", path="x", token=2 * 10**6)
    assert ctl.expect_ok("acquire", path="x/y/z", ttl="1s").int("token") == 2 * 10**6 + 1  # beneath
    ctl.expect_ok("claim", path="q", token=3 * 10**6)
    assert ctl.expect_ok("acquire", path="q", ttl="1s").int("token") == 3 * 10**6 + 1
    assert ctl.expect_ok("acquire", path="elsewhere", ttl="1s").int("token") == 3 * 10**6 + 2
    ctl.expect_ok("claim", path="end", token=2**63 - 1)
    ctl.expect_err("ERANGE", "acquire", path="end", ttl="1s")
    ctl.expect_ok("reset", path="end", token=5)
    ctl.expect_ok("acquire", path="end", ttl="1s")


# ------------------------------------------------------------------------------ the daemon is killed


def hold(me, mnt, number, seed):
    """Takes and renews and gives back until the daemon is gone; returns what it was told, in order."""
    rng = random.Random(seed)
    told = []
    try:
        with mnt.ctl() as ctl:
            while True:
                path = f"p{rng.randrange(4)}"
                reply = ctl.request("acquire", path=path, ttl="30s", wait="20s", owner=f"o{number}", keep=1)
                told.append(int(reply["token"]))
                if len(told) == 5:
                    me.mark("busy")
                if rng.random() < 0.5:
                    ctl.request("renew", path=path, token=reply["token"], owner=f"o{number}")
                ctl.request("release", path=path, token=reply["token"], owner=f"o{number}")
    except (OSError, AssertionError):
        return told


@pytest.mark.timeout(240)
def test_kill_of_the_daemon_while_leases_are_held(mnt):
    highest = 0
    for turn in range(4):
        held = {f"h{i}": token_of(mnt, f"h{i}", ttl="60s", owner=f"k{turn}") for i in range(3)}
        children = [spawn(hold, mnt, i, f"{turn} {i}") for i in range(8)]
        for child in children:
            child.wait_mark("busy")
        mnt.kill()
        told = [token for child in children for token in child.result()]
        assert len(set(told)) == len(told), "a token was given out twice"
        assert min(told) > highest
        highest = max(told + list(held.values()))
        mnt.remount()
        with mnt.ctl() as ctl:
            for path, token in held.items():  # the holder has it again, for its full time
                busy = ctl.expect_err("EBUSY", "acquire", path=path, ttl="1s")
                assert busy["token"] == str(token) and float(busy["remaining"]) > 30
                ctl.expect_err("ESTALE", "claim", path=path, token=token - 1)
                renewed = ctl.expect_ok("renew", path=path, token=token, owner=f"k{turn}")
                assert renewed["token"] == str(token)
                ctl.expect_ok("release", path=path, token=token, owner=f"k{turn}")
                ctl.expect_err("ETIME", "renew", path=path, token=token, owner=f"k{turn}")
            new = ctl.expect_ok("acquire", path="new", ttl="1s").int("token")
            assert new > highest, "the counter went back"
            highest = new
            ctl.expect_ok("release", path="new", token=new)
        for i in range(4):
            for lease in leases(mnt, f"p{i}"):
                fence("release", "--force", mnt / f"p{i}")
                highest = max(highest, int(lease["token"]))
            check_record(mnt, f"p{i}")


def test_after_a_restart_a_lease_has_its_full_time_again(mnt):
    ttl = 6
    token = token_of(mnt, "p", ttl=f"{ttl}s", owner="a")
    wait_until(lambda: float(leases(mnt)[0]["remaining"]) < ttl - 1, "a second of it to pass")
    mnt.kill()
    before = time.monotonic()
    mnt.remount()
    (held,) = leases(mnt)
    assert held["token"] == str(token)
    assert float(held["remaining"]) > ttl - (time.monotonic() - before) - 0.01, held
    with mnt.ctl() as ctl:
        new = ctl.expect_ok("acquire", path="p", ttl="30s", wait="20s", owner="b")["token"]
        lost = ctl.expect_err("ESTALE", "renew", path="p", token=token, owner="a")
        assert lost["highest"] == new
    check_record(mnt, "p", 2)


# ---------------------------------------------------------------------------------- the tool's verbs


def test_the_verbs_of_the_tool(mnt):
    token = fence("acquire", "--ttl", "1m", "-o", "job a", mnt / "p").out.strip()
    assert token == "1"
    (one,) = fence("leases", "--json", mnt.path).json()
    assert (one["path"], one["token"], one["owner"], one["keep"]) == ("p", "1", "job a", True)
    assert one["waiters"] == 0 and 50 < float(one["remaining"]) <= 60
    head, row = fence("leases", mnt.path).lines
    assert head.split() == ["TOKEN", "HOLDER", "REMAINING", "TTL", "WAITING", "PATH"]
    assert row.split()[0] == "1" and row.endswith("  p")
    held = fence("acquire", mnt / "p/q", rc=11)
    assert held.out == "" and held.err.startswith(f"fence: acquire {mnt.path}/p/q: job a holds a lease on p")
    assert fence("renew", "-t", 1, "--ttl", "2m", "-v", mnt / "p").out.startswith("token 1, 1")
    wrong = fence("release", "-t", 1, "-o", "job b", mnt / "p", rc=1)
    assert "belongs to another owner" in wrong.err
    assert fence("release", "-t", 1, mnt / "p").out == ""
    assert fence("release", "-t", 1, mnt / "p", rc=14).out == ""
    assert fence("leases", mnt.path).out == ""
    assert fence("acquire", mnt / "p", env={"FENCE_OWNER": "b"}).out == "2\n"
    late = fence("renew", "-t", 1, mnt / "p", rc=13)
    assert f"fence: renew {mnt.path}/p: stale token 1 < 2 (set by b at " in late.err


def test_release_by_force(mnt):
    token_of(mnt, "p", ttl="1m", owner="a")
    refused = fence("release", "--force", mnt / "p", uid=65534, rc=1)
    assert refused.err.startswith("fence: release "), refused.err
    fence("release", "--force", mnt / "p")
    assert leases(mnt) == []
    assert mnt.store.query("SELECT kind, owner, uid FROM event ORDER BY id DESC LIMIT 1") == [
        (RELEASE, "a", 0)
    ]
    fence("release", "--force", mnt / "p", rc=1)
    assert "released by force by uid 0" in mnt.log()
