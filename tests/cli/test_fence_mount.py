# SPDX-License-Identifier: MIT
"""fence init, mount and umount."""

import os
import subprocess

from fenceharness import *
from fenceharness import kernel


def is_mounted(path) -> bool:
    return kernel.mount_at(path) is not None


def test_init(tmp):
    store = tmp / "store"
    result = fence("init", store)
    assert result.out == result.err == ""
    assert {"format", "meta.db", "blobs", "staging"} <= set(os.listdir(store))
    assert os.stat(store).st_mode & 0o777 == 0o700
    assert fence("init", "--json", tmp / "second").json() == {"store": str(tmp / "second")}
    result = fence("init", "-v", tmp / "third")
    assert result.out == (
        f"made the store {tmp}/third; now mount it: fence mount {tmp}/third MOUNTPOINT\n"
    )


def test_init_refuses(tmp):
    fence("init", tmp / "store")
    result = fence("init", tmp / "store", rc=1)
    assert result.err == f"fence: init: {tmp}/store is a store already\n", result.err
    (tmp / "full").mkdir()
    (tmp / "full/file").touch()
    result = fence("init", tmp / "full", rc=1)
    assert result.err == f"fence: init: {tmp}/full is not empty and not a store\n", result.err
    assert os.listdir(tmp / "full") == ["file"]
    result = fence("init", tmp / "no/such/parent", rc=1)
    assert len(result.err.splitlines()) == 1 and result.err.startswith("fence: init: ")


def test_mount_umount_in_a_loop(tmp):
    store, point = tmp / "store", tmp / "mnt"
    point.mkdir()
    fence("init", store)
    for n in range(5):
        result = fence("mount", store, point)
        assert result.out == "", result.out
        assert is_mounted(point)
        fence("put", "-t", n, "-", point / "f", input=str(n))
        assert fence("umount", point).out == ""
        assert not is_mounted(point)
    # The store is free at once.
    fence("init", store, rc=1)


def test_mount_refuses(tmp):
    (tmp / "mnt").mkdir()
    result = fence("mount", tmp / "nothing", tmp / "mnt", rc=None)
    assert result.rc != 0 and result.err, result
    fence("init", tmp / "store")
    result = fence("mount", tmp / "store", tmp / "missing", rc=None)
    assert result.rc != 0 and result.err, result
    assert not is_mounted(tmp / "mnt")


def test_mount_options(tmp):
    (tmp / "mnt").mkdir()
    fence("init", tmp / "store")
    fence("mount", "-o", "passthrough=off", tmp / "store", tmp / "mnt")
    ctl = Ctl(tmp / "mnt")
    assert "passthrough" not in ctl.expect_ok("hello").get("features", "").split(",")
    ctl.close()
    fence("umount", tmp / "mnt")


def test_umount_when_busy(mnt):
    fence("put", "-t", 1, "-", mnt / "f", input="x")
    holder = subprocess.Popen(["sleep", "1000"], cwd=mnt.path, stdin=open(mnt / "f"))
    try:
        result = fence("umount", mnt.path, rc=1)
        lines = result.err.splitlines()
        assert lines[0] == (
            f"fence: umount {mnt.path}: busy: sleep (pid {holder.pid}, working directory)"
        ), result.err
        assert lines[1] == (
            "fence: stop what uses it, or detach it now: fence umount --lazy"
        )
        assert is_mounted(mnt.path)
    finally:
        holder.kill()
        holder.wait()


def test_umount_says_who_has_a_file_open(mnt):
    fence("put", "-t", 1, "-", mnt / "f", input="x")
    with open(mnt / "f") as file:
        result = fence("umount", mnt.path, rc=1)
        assert f"(pid {os.getpid()}, open file)" in result.err, result.err
        assert file.read() == "x"


def test_lazy_umount(tmp):
    fence("init", tmp / "store")
    (tmp / "mnt").mkdir()
    fence("mount", tmp / "store", tmp / "mnt")
    fence("put", "-t", 1, "-", tmp / "mnt/f", input="x")
    with open(tmp / "mnt/f") as file:
        fence("umount", "--lazy", tmp / "mnt")
        assert not is_mounted(tmp / "mnt")
        assert file.read() == "x"

    def again():
        return fence("mount", tmp / "store", tmp / "mnt", rc=None).rc == 0

    wait_until(again, "the store to be free", interval=0.1)
    assert (tmp / "mnt/f").read_text() == "x"
    fence("umount", tmp / "mnt")


def test_umount_by_other_names(tmp):
    fence("init", tmp / "store")
    (tmp / "mnt").mkdir()
    (tmp / "link").symlink_to(tmp)
    for given, cwd in [
        (f"{tmp}/mnt/", "/"),
        ("mnt", tmp),
        ("./mnt//", tmp),
        ("../" + tmp.name + "/mnt", tmp),
        (tmp / "link/mnt", "/"),
    ]:
        fence("mount", tmp / "store", tmp / "mnt")
        fence("umount", given, cwd=cwd)
        assert not is_mounted(tmp / "mnt"), given


def test_a_relative_store(tmp):
    (tmp / "mnt").mkdir()
    fence("init", "store", cwd=tmp)
    for _ in range(3):
        fence("mount", "store", "mnt", cwd=tmp)
        assert kernel.mount_at(tmp / "mnt").source == str(tmp / "store")
        fence("umount", "mnt", cwd=tmp)


def test_an_ordinary_user(tmp):
    tmp.chmod(0o777)
    run("mkdir", tmp / "mnt", uid=65534)
    fence("init", "store", cwd=tmp, uid=65534)
    with kernel.fuse_device_for_all():
        fence("mount", "store", "mnt", cwd=tmp, uid=65534)
    fence("put", "-t", 1, "-", tmp / "mnt/f", input="x", uid=65534)
    assert run("cat", tmp / "mnt/f", uid=65534).stdout == "x"
    script = 'cd "$1" && exec "$0" umount .'
    result = run("sh", "-c", script, fence_program(), tmp / "mnt", uid=65534)
    assert not is_mounted(tmp / "mnt"), result


def test_umount_of_what_is_none(mnt, tmp):
    (tmp / "other").mkdir()
    for path in (tmp / "other", tmp / "missing", mnt / "f", "/"):
        result = fence("umount", path, rc=10)
        assert result.err == f"fence: umount {path}: no fencefs is mounted there\n", result.err


def test_umount_of_a_dead_mount(mnt):
    mnt.kill()
    fence("umount", mnt.path)
    assert not is_mounted(mnt.path)


def test_umount_of_a_dead_mount_while_the_store_is_served_elsewhere(mnt):
    mnt.kill()
    other = mnt.store.mount()
    fence("umount", mnt.path)
    assert not is_mounted(mnt.path) and other.is_mounted() and other.daemon.is_alive()


def daemons_at(point) -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if kernel.command(pid).endswith(f" {point}")]


def test_umount_waits_for_the_daemon(tmp):
    fence("init", tmp / "store")
    (tmp / "mnt").mkdir()
    fence("mount", tmp / "store", tmp / "mnt")
    assert daemons_at(tmp / "mnt")
    fence("umount", tmp / "mnt")
    assert daemons_at(tmp / "mnt") == []
    fence("mount", tmp / "store", tmp / "mnt")
    fence("umount", "--no-wait", tmp / "mnt")
    wait_until(lambda: daemons_at(tmp / "mnt") == [], "the daemon to end")
