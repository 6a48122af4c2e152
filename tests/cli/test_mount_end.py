# SPDX-License-Identifier: MIT
"""How mounts end, and that nothing is left of them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel
from fencelib.mounting import HELPER, daemon_pid, new_store
from fencelib.tracing import held_up, is_held_up

NOT_READ = "have not read their replies"


def check_closed(store):
    """The WAL is in the database, the lock is free, nothing is staged."""
    wal = store.path / "meta.db-wal"
    assert not wal.exists() or wal.stat().st_size == 0
    assert not store.staged()
    again = store.mount()
    again.unmount()


def change(ctl, path):
    ctl.expect_ok("put", b"x" * 50_000, path=path, token=1, size=50_000)


def test_lazy_umount_then_the_last_close(store):
    mnt = store.mount()
    ctl = mnt.ctl()
    change(ctl, "p")
    with open(mnt / "p", "rb") as file:
        done = run("umount", mnt.path, rc=32)
        assert "busy" in done.stderr, done
        run("umount", "--lazy", mnt.path)
        assert not mnt.is_mounted() and os.listdir(mnt.path) == []
        change(ctl, "q")
        ctl.close()
        assert file.read(10) == b"x" * 10
        assert mnt.daemon.is_alive()
    assert mnt.daemon.wait() == 0
    check_closed(store)
    mnt.start()
    assert sorted(os.listdir(mnt.path)) == ["p", "q"]


@pytest.mark.parametrize("how", ["SIGTERM", "umount"])
def test_the_store_is_closed(store, how):
    mnt = store.mount()
    with mnt.ctl() as ctl:
        change(ctl, "p")
        assert (store.path / "meta.db-wal").stat().st_size > 0
        session = ctl.expect_ok("open", path="q", token=1)["session"]
        (mnt.session(session) / "q").write_bytes(b"x" * 50_000)
    mnt.terminate() if how == "SIGTERM" else mnt.unmount()
    check_closed(store)


def put(me, mount, path):
    with Ctl(mount) as ctl:
        assert ctl.send("put", b"x", path=path, token=1, size=1) is None
        me.pause("acknowledged")
        return ctl.reply()["revision"]


def test_sigterm_finishes_what_was_accepted_and_refuses_the_rest(store, tmp):
    mnt = store.mount()
    late = mnt.ctl()
    with held_up(mnt, tmp / "log", "fdatasync") as log:
        accepted = spawn(put, mnt.path, "accepted")
        wait_until(lambda: is_held_up(log, "fdatasync"), "the commit to wait for the disk")
        mnt.daemon.signal(signal.SIGTERM)
        wait_until(lambda: "finishing" in mnt.log(), "the daemon to hear of it")
        wait_until(lambda: refused(late), "the refusal")
        assert mnt.is_mounted() and mnt.daemon.is_alive()
    accepted.wait_mark("acknowledged")  # its write has returned: the reply can still be read
    accepted.resume()
    assert accepted.result() == "1"
    assert mnt.daemon.wait() == 0 and not mnt.is_mounted()
    late.close()
    check_closed(store)
    mnt.start()
    assert os.listdir(mnt.path) == ["accepted"]


def test_sigterm_waits_for_no_one_who_never_reads(store):
    mnt = store.mount()
    with mnt.ctl() as ctl:
        assert ctl.send("claim", path="p", token=1) is None
        mnt.terminate()
    assert NOT_READ in mnt.log(), mnt.log()
    check_closed(store)


def abort_connection(mnt):
    number = os.minor(os.stat(mnt.path).st_dev)
    Path(f"/sys/fs/fuse/connections/{number}/abort").write_text("1")


def test_no_one_is_waited_for_who_cannot_read(store):
    mnt = store.mount()
    with mnt.ctl() as ctl:
        assert ctl.send("claim", path="p", token=1) is None
        abort_connection(mnt)
        assert mnt.daemon.wait() == 0
    assert NOT_READ not in mnt.log(), mnt.log()
    mnt.start()
    with mnt.ctl() as ctl:
        ctl.expect_err("ESTALE", "claim", path="p", token=0)


def refused(ctl) -> bool:
    reply = ctl.request("claim", path="late", token=1)
    if reply.ok:  # it was not closing yet
        return False
    assert reply.errno_name == "ESHUTDOWN", reply.raw
    return True


def processes_of(directory) -> list[str]:
    """With a name beneath @directory on their command line, or something of it open."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if pid == os.getpid():
            continue
        try:
            links = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
            open_files = [os.readlink(link) for link in links]
        except OSError:  # gone by now
            continue
        if str(directory) in kernel.command(pid) or any(str(directory) in name for name in open_files):
            found.append(f"{pid} {kernel.command(pid)}")
    return found


def files_of(store) -> set[str]:
    return {os.path.relpath(os.path.join(d, name), store) for d, _, names in os.walk(store) for name in names}


def leave_a_session(point):
    with Ctl(point) as ctl:
        ctl.expect_ok("put", b"x", path="f", token=1, size=1)
        session = ctl.expect_ok("open", path="s", token=1)["session"]
        (point / f".fence/sessions/{session}/s").write_bytes(b"x" * 20_000)


@pytest.mark.timeout(60)
def test_started_without_streams(tmp):
    """Then the next that is opened gets their numbers: the store, its lock, the pipe to who waits."""
    store, point = new_store(tmp)
    fencefs = build_dir() / "fs/fencefs"
    done = subprocess.run(["sh", "-c", '"$0" "$1" "$2" <&- >&- 2>&-', fencefs, store, point], timeout=30)
    assert done.returncode == 0
    descriptors = Path(f"/proc/{daemon_pid(store)}/fd")
    assert {os.readlink(descriptors / str(number)) for number in range(3)} == {"/dev/null"}
    assert str(store) in [os.readlink(fd) for fd in descriptors.iterdir()]
    fence("umount", point)


@pytest.mark.timeout(180)
def test_200_mounts_leave_nothing(tmp):
    store, point = new_store(tmp)
    before = sorted(os.listdir(f"/proc/{os.getpid()}/fd"))
    files = None
    for number in range(200):
        subprocess.run([HELPER, store, point], check=True, timeout=60)
        guards = kernel.children(daemon_pid(store))
        if number % 10 == 0:
            leave_a_session(point)
        subprocess.run(["umount", point], check=True, timeout=60)
        if number in (0, 199):
            wait_until(lambda: not processes_of(tmp), "the daemon to end")
            found = {name for name in files_of(store) if not name.startswith("staging/")}  # spares are kept
            assert files is None or found == files
            files = found
    assert len(guards) == 1 and kernel.states(guards[0]) in ([], ["Z"])
    assert mounts_beneath(tmp) == []
    assert sorted(os.listdir(f"/proc/{os.getpid()}/fd")) == before
    assert not any(path.stat().st_size for path in (store / "staging").iterdir())
    assert len(os.listdir(store / "staging")) < 100
