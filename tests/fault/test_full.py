# SPDX-License-Identifier: MIT
"""A full disk: the client gets ENOSPC, nothing is published in part, and the same session commits later."""

import contextlib
import errno
import mmap
import os
from collections import Counter
from pathlib import Path

import pytest
from fenceharness import *
from fencelib.commit_loop import content
from fencelib.tracing import injecting, was_injected

SIZE = {"ext4": "64M", "xfs": "320M"}
MIB = 1 << 20


@contextlib.contextmanager
def store_on_small_disk(fstype: str, *options, mkfs=()):
    """(disk, mount, ctl): a store on a file system of its own."""
    with loop_fs(fstype, SIZE[fstype], mkfs=mkfs) as disk:
        mnt = Store(disk / "store").mount(*options)
        with mnt.ctl() as ctl:
            ctl.expect_ok("put", b"old", path="p", token=1, size=3)
            ctl.expect_ok("open", path="d/", token=1)
            ctl.expect_ok("commit")
            yield disk, mnt, ctl
        mnt.unmount()


def write_until_full(path: Path, piece: bytes) -> int:
    """Writes @piece over and over until there is no space left; the size of what was taken."""
    taken = 0
    with open(path, "wb", buffering=0) as file:
        while True:
            try:
                taken += file.write(piece[taken % len(piece) :])
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
                return taken


def open_session(ctl: Ctl, path: str, token: int) -> tuple[str, str]:
    """(its id, where its path is in the mount)"""
    reply = ctl.expect_ok("open", path=path, token=token)
    return reply["session"], reply["path"]


def sessions(ctl: Ctl) -> list[str]:
    reply = ctl.expect_ok("list kind=session")
    return [] if "end" in reply else [reply["id"] + " " + reply["state"]]


def check_unpublished(mnt: Mount, ctl: Ctl, session: str, revision: int):
    assert ctl.expect_ok("hello").int("revision") == revision, "a refused commit made a revision"
    assert (mnt / "p").read_bytes() == b"old"
    assert os.listdir(mnt / "d") == []
    assert sessions(ctl) == [f"{session} open"]
    assert ctl.expect_ok("outcome", session=session)["outcome"] == "open"


@pytest.mark.timeout(90)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_full_in_mid_write(fstype, passthrough):
    with store_on_small_disk(fstype, f"passthrough={passthrough}") as (disk, mnt, ctl):
        session, path = open_session(ctl, "p", 2)
        disk.fill(leave=8 * MIB)
        piece = content(2, "p", MIB)
        taken = write_until_full(mnt / path, piece)
        assert taken > 4 * MIB
        disk.free()
        with open(mnt / path, "r+b") as file:
            file.seek(taken)
            file.write(piece[taken % MIB :] + piece)
        expected = (mnt / path).read_bytes()
        assert expected == piece * (len(expected) // MIB)
        ctl.expect_ok("commit", session=session)
        assert (mnt / "p").read_bytes() == expected


@pytest.mark.timeout(90)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_full_at_commit_of_a_blob(fstype):
    """A writer is still there, so what is sealed is a copy, and there is no space for it."""
    no_reflink = ["-m", "reflink=0"] if fstype == "xfs" else []
    with store_on_small_disk(fstype, mkfs=no_reflink) as (disk, mnt, ctl):
        session, path = open_session(ctl, "d/big", 2)
        revision = ctl.expect_ok("hello").int("revision")
        data = content(2, "big", 8 * MIB)
        (mnt / path).write_bytes(data)
        with open(mnt / path, "r+b") as file, mmap.mmap(file.fileno(), 0):
            disk.fill(leave=2 * MIB)
            ctl.expect_err("ENOSPC", "commit", session=session)
            check_unpublished(mnt, ctl, session, revision)
            ctl.expect_err("ENOSPC", "commit", session=session)
            disk.free()
            ctl.expect_ok("commit", session=session)
        assert (mnt / "d/big").read_bytes() == data
        assert (mnt / "p").read_bytes() == b"old"


@pytest.mark.timeout(90)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_full_at_commit_of_the_database(fstype):
    """Small files live in the database, which is to grow by more than there is."""
    with store_on_small_disk(fstype) as (disk, mnt, ctl):
        session, path = open_session(ctl, "d", 2)
        revision = ctl.expect_ok("hello").int("revision")
        data = {f"f{i}": content(2, f"f{i}", 16_000) for i in range(600)}
        for name, text in data.items():
            (mnt / path / name).write_bytes(text)
        big = content(2, "big", MIB)
        (mnt / path / "big").write_bytes(big)
        run("sync", "-f", disk.path)
        disk.fill(leave=MIB)
        ctl.expect_err("ENOSPC", "commit", session=session)
        check_unpublished(mnt, ctl, session, revision)
        (mnt / path / "f0").unlink()
        disk.free()
        ctl.expect_ok("commit", session=session)
        found = {name: (mnt / "d" / name).read_bytes() for name in os.listdir(mnt / "d")}
        del data["f0"]
        assert found == data | {"big": big}


@pytest.mark.timeout(90)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_full_at_put(fstype):
    with store_on_small_disk(fstype) as (disk, mnt, ctl):
        big = content(2, "big", 4 * MIB)
        small = content(2, "small", 16_000)
        disk.fill(leave=MIB)
        ctl.expect_err("ENOSPC", "put", big, path="d/big", token=2, size=len(big))
        assert os.listdir(mnt / "d") == [] and ctl.expect_ok("stat", path="d/big")["kind"] == "absent"
        for number in range(1, 5000):
            reply = ctl.request("put", small, path=f"d/small{number}", token=2, size=len(small))
            if not reply.ok:
                break
        assert reply.errno_name == "ENOSPC", reply.raw
        accepted = {f"small{i}" for i in range(1, number)}
        assert set(os.listdir(mnt / "d")) == accepted
        disk.free()
        for name, data in (("big", big), (f"small{number}", small)):
            ctl.expect_ok("put", data, path=f"d/{name}", token=2, size=len(data))
            assert (mnt / "d" / name).read_bytes() == data
        assert all((mnt / "d" / name).read_bytes() == small for name in accepted)


@pytest.mark.timeout(90)
@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_killed_on_a_full_disk(fstype):
    """Nothing acknowledged is missing afterwards, with or without space."""
    with store_on_small_disk(fstype) as (disk, mnt, ctl):
        session, path = open_session(ctl, "d/big", 2)
        (mnt / path).write_bytes(content(2, "big", 4 * MIB))
        disk.fill()
        ctl.request("commit", session=session)
        accepted = []
        for number in range(5000):
            data = content(3, f"n{number}", 3000)
            if not ctl.request("put", data, path=f"d/n{number}", token=3, size=len(data)).ok:
                break
            accepted.append(number)
        published = set(os.listdir(mnt / "d"))
        mnt.kill()
        with contextlib.suppress(OSError):
            ctl.close()
        with contextlib.suppress(AssertionError):
            mnt.start()  # it may say that there is no space, or serve
        if mnt.daemon.is_alive():
            assert set(os.listdir(mnt / "d")) == published
            mnt.unmount()
        disk.free()
        mnt.start()
        assert set(os.listdir(mnt / "d")) == published
        assert {f"n{number}" for number in accepted} <= published
        for number in accepted:
            assert (mnt / f"d/n{number}").read_bytes() == content(3, f"n{number}", 3000)


def try_until_ok(ctl: Ctl, error: str, request, **fields) -> int:
    """How often it was refused with @error before it was done: in each thread that seals, perhaps."""
    for refusals in range(10):
        reply = ctl.request(request, **fields)
        if reply.ok:
            return refusals
        assert reply.errno_name == error, f"{request}: {reply.raw}"
    raise AssertionError(f"{request}: 10 times {error}")


def commit_in_spite(_me, mount, path: str, error: str, size: int) -> dict[str, int]:
    """open, write, commit and put, each tried again until it is accepted."""
    mount = Path(mount)
    refused = {}
    with Ctl(mount) as ctl:
        refused["open"] = try_until_ok(ctl, error, "open", path=f"{path}/", token=2)
        reply = ctl.expect_ok("open", path=f"{path}/", token=2)  # the same again
        for name in ("a", "b"):
            (mount / reply["path"] / name).write_bytes(content(2, name, size))
        revision = ctl.expect_ok("hello").int("revision")
        refused["commit"] = try_until_ok(ctl, error, "commit", session=reply["session"])
        assert ctl.expect_ok("hello").int("revision") == revision + 1
        assert sorted(os.listdir(mount / path)) == ["a", "b"]
        for name in ("a", "b"):
            assert (mount / path / name).read_bytes() == content(2, name, size)
    return refused


@pytest.mark.timeout(120)
@pytest.mark.parametrize("call", ["pwrite64", "renameat2"])
@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT"])
def test_no_space_at_every_call(mnt, tmp, call, error):
    """The Nth write to the disk of any thread fails so, for each N; what is tried again succeeds."""
    refused = Counter()
    for nth in range(1, 100):
        with injecting(mnt, tmp / "log", call, f"error={error}:when={nth}..{nth + 1}") as log:
            size = 4000 if call == "pwrite64" else 40_000
            refused += Counter(spawn(commit_in_spite, mnt.path, f"d{nth}", error, size).result())
        if not was_injected(log):
            break
    assert nth > 1 and refused["commit"] > 0
    assert mnt.store.staged() == []
