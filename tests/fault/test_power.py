# SPDX-License-Identifier: MIT
"""Power loss, simulated by shutting the store's file system down while commits run.

What is not on the disk at that moment never gets there. Controls with an unsafe daemon must be seen to
lose something: else these tests would prove nothing.

Who loses power sends no acknowledgement after it; here they may still come. And they can be wrong: an fdatasync(2)
that is under way when ext4 is shut down without flushing its log can succeed although nothing reaches the disk (seen
with plain appends on Linux 6.18: 6 of 180 writers missed their last record). So only what was acknowledged before
the shutdown began has to be there.
"""

import errno
import os
import random
import time

import pytest
from fenceharness import *
from fencelib import commit_loop
from fencelib.commit_loop import BLOB, INLINE, Step, Writer, is_tree, perform, read_tree

SIZE = {"ext4": "160M", "xfs": "320M"}
# A commit of this many small files makes the WAL longer than it may get, so that the next ones overwrite it:
# then no growing file carries what a missing fsync has left in the file system's journal.
WAL_FILES = 1200
# What a writer may be told while the disk is gone; what it reads then can look like anything.
FAILURES = {errno.EIO, errno.EREMOTEIO, errno.EROFS, errno.EUCLEAN}


class Lost(Exception):
    """Something acknowledged is missing."""


def grow_wal(_me, mount):
    with Ctl(mount) as ctl:
        perform(mount, ctl, "wal", Step(0, "tree", {f"set/{i}": 16_000 for i in range(WAL_FILES)}))


def unmount_when_free(disk: LoopFs):
    """The kernel gives back the backing files of a mount that is gone a moment later."""
    wait_until(lambda: run("umount", disk.path, rc=None).returncode == 0, "the file system to be free")


def unmount_dead(mnt: Mount, disk: LoopFs):
    """Takes down the mount of a daemon that is gone, then the file system it had served from."""
    run("umount", "--lazy", mnt.path)
    unmount_when_free(disk)


def lose_power(disk: LoopFs, mnt: Mount, writers: list[Writer], rng: random.Random, flush: bool):
    """Commits until the power goes, then checks what is left. Raises Lost."""
    children = [spawn(commit_loop.work, mnt.path, writer) for writer in writers]
    for child in children:
        child.wait_mark("running")
    time.sleep(rng.uniform(0.02, 0.15))  # waits for nothing: any moment of the loop will do
    cut = time.monotonic()
    disk.shutdown(flush)
    reports = [child.result() for child in children]
    for report in reports:
        assert report.error and report.error.errno in FAILURES, f"ended by {report.error!r}"
    mnt.kill()
    unmount_dead(mnt, disk)
    disk.mount()
    try:
        mnt.start()
        with mnt.ctl() as ctl:
            for writer, report in zip(writers, reports):
                writer.check(mnt.path, ctl, report.before(cut))
    except (AssertionError, OSError) as error:
        raise Lost(str(error)) from error


def end(disk: LoopFs, mnt: Mount):
    if mnt.daemon.is_alive():
        mnt.unmount()
    elif mnt.is_mounted():
        run("umount", "--lazy", mnt.path)
    unmount_when_free(disk)
    disk.check()
    disk.mount()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
@pytest.mark.parametrize("flush", [False, True])
def test_power_lost_while_commits_run(fstype, flush):
    rng = random.Random(f"{fstype}{flush}")
    with loop_fs(fstype, SIZE[fstype]) as disk:
        mnt = Store(disk / "store").mount()
        writers = [Writer(number, fstype) for number in range(2)]
        for number in range(6):
            if number == 3:
                spawn(grow_wal, mnt.path).result()
            lose_power(disk, mnt, writers, rng, flush)
        assert sum(writer.acked for writer in writers) >= 12  # each is waited for in each round
        assert mnt.store.query("PRAGMA integrity_check") == [("ok",)]
        end(disk, mnt)


def publish_under_leases(me, mount, rounds: int):
    """Only grant and commit wait for the disk; what the last round leaves is deferred."""
    ctl = Ctl(mount)
    committed = []
    for number in range(rounds):
        token = ctl.expect_ok("acquire", path="job", ttl="1h", owner="o").int("token")
        session = ctl.expect_ok("open", path="job", token=token, owner="o")
        (mount / session["path"]).write_text(f"{number} under {token}")
        ctl.expect_ok("commit")
        committed.append(session["session"])
        ctl.expect_ok("release", path="job", token=token, owner="o")
    still_open = ctl.expect_ok("open", path="job", token=token)["session"]
    me.pause("done")
    return committed, still_open, token


@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
@pytest.mark.parametrize("flush", [False, True])
def test_what_is_deferred_is_lost_only_at_the_end(fstype, flush):
    """A release and an open need not survive; what came before them does, and P7 holds."""
    with loop_fs(fstype, SIZE[fstype]) as disk:
        mnt = Store(disk / "store").mount()
        child = spawn(publish_under_leases, mnt.path, 5)
        child.wait_mark("done")
        disk.shutdown(flush)
        child.resume()
        committed, still_open, token = child.result()
        mnt.kill()
        unmount_dead(mnt, disk)
        disk.mount()
        mnt.start()
        assert (mnt / "job").read_text() == f"4 under {token}"
        with mnt.ctl() as ctl:
            for session in committed:
                assert ctl.expect_ok("outcome", session=session)["outcome"] == "committed"
            assert ctl.expect_ok("outcome", session=still_open)["outcome"] in ("aborted", "unknown")
            ctl.expect_err("ESTALE", "claim", path="job", token=token - 1)
            if ctl.expect_ok("stat", path="job").get("lease_owner"):
                ctl.expect_ok("release", path="job", token=token, owner="o")
            assert ctl.expect_ok("acquire", path="job", ttl="1h").int("token") > token
        end(disk, mnt)


# Variable of the daemon's environment: its value, what is written, how the loss shows.
CONTROLS = {
    "FENCEFS_UNSAFE_SYNCHRONOUS": ("normal", INLINE, AssertionError),  # an older tree
    "FENCEFS_UNSAFE_NO_DIR_FSYNC": ("1", BLOB, OSError),  # content that cannot be opened
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
@pytest.mark.parametrize("unsafe", list(CONTROLS))
def test_loss_is_seen(fstype, unsafe):
    """The control: without that fsync, the same check of the same commits finds a loss."""
    value, sizes, how = CONTROLS[unsafe]
    rng = random.Random(unsafe)
    for _ in range(10):
        with loop_fs(fstype, SIZE[fstype]) as disk:
            mnt = Mount(Store(disk / "store"), env={unsafe: value}).start()
            spawn(grow_wal, mnt.path).result()
            try:
                lose_power(disk, mnt, [Writer(0, unsafe, sizes)], rng, False)
            except Lost as lost:
                assert isinstance(lost.__cause__, how), lost
                return
            finally:
                mnt.env = None
                if mnt.daemon.is_alive():
                    mnt.unmount()
    raise AssertionError("nothing was lost in 10 rounds: this test cannot see a loss")


@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_disk_that_cannot_be_read(fstype):
    """Each reader gets an error; the daemon goes on, and all is there when the disk is back."""
    files = {f"set/{i}": 5000 for i in range(1000)}
    with loop_fs(fstype, SIZE[fstype]) as disk:
        mnt = Store(disk / "store").mount()
        step = Step(0, "tree", files)
        with mnt.ctl() as ctl:
            perform(mnt.path, ctl, "w", step)
        mnt.remount()
        drop_cache(mnt.store.path / "meta.db")
        disk.shutdown()
        for name in list(files)[::50]:
            try:
                (mnt / "w" / name).read_bytes()
            except OSError as error:
                assert error.errno in FAILURES, error
            else:
                raise AssertionError(f"{name} was read from a disk that is gone")
        assert mnt.daemon.is_alive()
        with mnt.ctl() as ctl:
            ctl.expect_ok("hello")
        mnt.kill()
        unmount_dead(mnt, disk)
        disk.mount()
        mnt.start()
        assert is_tree(read_tree(mnt / "w"), step.apply({}))
        end(disk, mnt)


def drop_cache(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
