# SPDX-License-Identifier: MIT
"""mount.fencefs, called by hand and by mount(8); umount and mount again."""

import os
import subprocess

import pytest
from fenceharness import *
from fenceharness import kernel
from fencelib.mounting import HELPER, installed, new_store


def helper(*args, rc=0, env=None):
    result = subprocess.run(
        [HELPER, *map(str, args)], capture_output=True, text=True, timeout=60, env=env
    )
    assert result.returncode == rc, result
    return result.stderr


def mounted(point) -> bool:
    return kernel.mount_at(point) is not None


def umount(point):
    """Waits for the daemon's end, too."""
    fence("umount", point)


def test_options(tmp):
    store, point = new_store(tmp)
    options = (
        "rw,noauto,user,nofail,_netdev,x-systemd.automount,X-mount.mkdir,comment=ours,relatime,"
        "noexec,passthrough=off,x-fence.timeout=20"
    )
    assert helper(store, point, "-n", "-o", options, "-t", "fuse.fencefs") == ""
    with open("/proc/self/mountinfo") as f:
        line = next(l for l in f if f" {point} " in l)
    assert "noexec" in line and f" - fuse.fencefs {store} " in line, line
    umount(point)


def test_fencefs_takes_the_same_options(tmp):
    """One table: what the helper drops is nobody's business, whoever is called."""
    store, point = new_store(tmp)
    unsafe = (
        "not available, since after a crash it would let unfenced writes into the bare directory: "
        "'auto_unmount'\n"
    )
    for option in ("atime", "noowner", "lazytime", "X-mount.mkdir", "user=somebody", "silent"):
        fence("mount", "-o", option, store, point)
        assert mounted(point)
        umount(point)
    for option, said in (
        ("context", "fencefs: no such option: 'context'\n"),
        ("ro=1", "fencefs: no such option: 'ro=1'\n"),
        ("auto_unmount", f"fencefs: {unsafe}"),
    ):
        assert fence("mount", "-o", option, store, point, rc=2).err.startswith(said), option
        assert not mounted(point)
    assert helper(store, point, "-o", "context", rc=1).startswith(
        "mount.fencefs: unknown option 'context'"
    )
    assert helper(store, point, "-o", "auto_unmount", rc=1) == (
        f"mount.fencefs: {unsafe}"
    )


def test_refusals(tmp):
    store, point = new_store(tmp)
    assert helper(store, point, "-o", "rw,passthru=off", rc=1) == (
        "mount.fencefs: unknown option 'passthru=off'; did you mean 'passthrough'?\n"
    )
    assert helper(store, point, "-o", "remount,ro", rc=32) == (
        f"mount.fencefs: {point}: fencefs cannot be remounted with other options; unmount, then mount again\n"
    )
    assert helper(tmp / "no", point, rc=32) == (
        f"mount.fencefs: {tmp}/no is not a store: No such file or directory\n"
    )
    assert helper(store, tmp / "no", rc=32) == (
        f"mount.fencefs: mount point {tmp}/no: No such file or directory\n"
    )
    assert helper(store, point, "-o", "x-fence.timeout=soon", rc=1) == (
        "mount.fencefs: x-fence.timeout=soon: expected seconds, 1 to 86400\n"
    )
    assert helper(store, point, "-o", "passthrough=maybe", rc=1).startswith("fencefs: expected auto, on or off")
    assert "usage: mount.fencefs" in helper(store, rc=1)
    assert helper(tmp, point, rc=32).startswith(f"fencefs: {tmp} is not a fencefs store")
    assert not mounted(point)


def test_sloppy_and_fake(tmp):
    store, point = new_store(tmp)
    assert helper(store, point, "-f") == ""
    assert not mounted(point)
    assert helper(store, point, "-s", "-o", "nonsense") == (
        "mount.fencefs: warning: unknown option 'nonsense'\n"
    )
    assert mounted(point)
    busy = helper(store, point, rc=32)
    assert busy.startswith(f"fencefs: store {store} is served by fencefs (pid ") and str(point) in busy
    umount(point)


def test_verbose_without_environment(tmp):
    store, point = new_store(tmp)
    said = helper(store, point, "-v", env={})
    assert said.endswith(f"fencefs -- {store} {point}\n"), said
    umount(point)


def test_through_mount8(tmp):
    store, point = new_store(tmp, "a store, odd")
    with installed():
        subprocess.run(["mount", "-t", "fencefs", store, point], check=True, timeout=60, env={"PATH": os.environ["PATH"]})
        found = subprocess.run(
            ["findmnt", "-n", "-t", "fuse.fencefs", "-o", "SOURCE", point], capture_output=True, text=True
        )
        assert found.stdout == f"{store}\n", found
        umount(point)


def test_mount_all_mounts_once(tmp):
    store, point = new_store(tmp, "a store")
    fstab = tmp / "fstab"
    spec = str(store).replace(" ", "\\040")
    fstab.write_text(f"{spec} {point} fencefs defaults,nofail,x-systemd.automount 0 0\n")
    with installed():
        for _ in range(2):
            subprocess.run(["mount", "-a", "-T", fstab], check=True, timeout=60)
        with open("/proc/self/mountinfo") as f:
            assert sum(f" {point} " in line for line in f) == 1
        umount(point)


def test_dead_mount_is_healed(tmp):
    store, point = new_store(tmp)
    helper(store, point)
    fence("put", "-t", "1", "-", point / "f", input="kept")
    os.kill(int((store / "lock").read_text().split()[0]), 9)
    wait_until(lambda: dead(point), "the mount is dead")
    helper(store, point)
    assert (point / "f").read_text() == "kept"
    umount(point)


def dead(point) -> bool:
    try:
        os.stat(point)
        return False
    except OSError as e:
        return e.errno == 107


@pytest.mark.timeout(120)
def test_mount_right_after_umount(tmp):
    store, point = new_store(tmp)
    for _ in range(40):
        helper(store, point)
        subprocess.run(["umount", point], check=True, timeout=30)
    helper(store, point)
    umount(point)
