# SPDX-License-Identifier: MIT
"""fence doctor: one line for each thing, with the remedy; 1 if something is missing."""

import os
import re
import subprocess

import pytest
from fenceharness import *
from fenceharness import kernel

MACHINE = [
    "fuse device",
    "kernel",
    "daemon",
    "io_uring",
    "fusermount3",
    "fuse.conf",
    "AppArmor",
    "open files",
    "SQLite",
]
STORE = ["file system", "reflink", "space", "inodes", "served by"]


def doctor(*args, **how) -> dict:
    """check: (state, text, remedy)"""
    data = fence("doctor", "--json", *args, **how).json()
    missing = [check for check in data["checks"] if check["state"] == "missing"]
    assert data["ok"] == (not missing)
    return {c["check"]: (c["state"], c["text"], c["remedy"]) for c in data["checks"]}


def in_namespace(script, *args, rc) -> str:
    """A shell with mounts of its own; $1 is fence."""
    return run(
        *own_mounts(), "sh", "-ec", script, "sh", fence_program(), *args, rc=rc
    ).stdout


def test_the_machine():
    found = doctor()
    assert list(found) == MACHINE
    assert found["fuse device"] == ("ok", "/dev/fuse can be opened", None)
    assert os.uname().release in found["kernel"][1]
    libfuse = run(fencefs_program(), "--version").stdout.split()[-1]
    assert found["daemon"][1].startswith("fencefs ") and f"libfuse {libfuse}" in found["daemon"][1]
    for state, _, remedy in found.values():
        assert (state == "ok") == (remedy is None)


def test_one_line_each():
    lines = fence("doctor").lines
    assert len(lines) == len(MACHINE)
    for line, check in zip(lines, MACHINE, strict=True):
        assert re.fullmatch(rf"(ok     |note   )  {check:11}  \S.*", line), line
        assert ("; remedy: " in line) == line.startswith("note"), line


def test_a_mounted_store(mnt, store):
    found = doctor(mnt.path)
    assert list(found) == MACHINE + STORE + ["mount point"]
    again = doctor(store.path)  # what is free has changed meanwhile
    assert list(again) == list(found) and again["served by"] == found["served by"]
    data = fence("doctor", "--json", mnt.path).json()
    assert data["store"] == str(store.path) and data["mount"] == str(mnt.path)
    assert found["served by"][1].endswith(f"has the store, at {mnt.path}")
    assert found["file system"][0] == "ok"
    assert (mnt.path / ".fence/ctl").exists()


def test_nothing_is_changed_or_left(tmp):
    fence("init", tmp / "store")
    before = run("sh", "-c", 'cd "$1" && find . -ls', "sh", tmp / "store").stdout
    found = doctor(tmp / "store")
    assert found["served by"] == ("ok", "no process has the store", None)
    assert "mount point" not in found
    assert run("sh", "-c", 'cd "$1" && find . -ls', "sh", tmp / "store").stdout == before


def test_immutable_mount_point(tmp):
    fence("init", tmp / "store")
    point = tmp / "mnt"
    point.mkdir()
    fence("mount", tmp / "store", point)
    state, text, remedy = doctor(point)["mount point"]
    assert state == "note" and "bare directory" in text and f"chattr +i {point};" in remedy
    fence("umount", point)
    done = subprocess.run(["chattr", "+i", point], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"chattr: {done.stderr}")
    try:
        fence("mount", tmp / "store", point)
        state, text, _ = doctor(tmp / "store")["mount point"]
        assert state == "ok" and f"{point} is immutable" in text
        fence("umount", point)
    finally:
        run("chattr", "-i", point)


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_reflink(kind):
    with loop_fs(kind, "320M") as disk:
        fence("init", disk / "store")
        found = doctor(disk / "store")
    assert found["file system"] == ("ok", f"the store lies on {kind}", None)
    assert found["reflink"][0] == ("ok" if kind == "xfs" else "note")


def test_a_full_tmpfs(tmp):
    script = """
        mount -t tmpfs -o size=8m none "$2"
        "$1" init "$2/store"
        dd if=/dev/zero of="$2/fill" bs=64k 2>/dev/null || true
        "$1" doctor "$2/store"
    """
    text = in_namespace(script, tmp, rc=1)
    assert re.search(r"^missing  space        no space is free: .*; remedy: fence gc", text, re.M)
    assert re.search(r"^note     file system  the store lies on tmpfs: ", text, re.M), text


def test_without_the_device():
    text = in_namespace('mount -t tmpfs none /dev; "$1" doctor', rc=1)
    why = "/dev/fuse cannot be opened: No such file or directory"
    assert text.startswith(f"missing  fuse device  {why}; remedy: modprobe fuse"), text


def test_an_ordinary_user(mnt):
    with kernel.fuse_device_for_all():
        found = doctor(mnt.path, uid=65534)
    assert found["store"][:2] == ("note", "the store cannot be examined: Permission denied")
    assert found["mount point"][0] == found["kernel"][0] == "note"


def test_what_is_no_store(tmp):
    assert fence("doctor", tmp, rc=10).err == f"fence: doctor {tmp}: not a fencefs mount or store\n"
    assert fence("doctor", tmp / "no", rc=10).out == ""
