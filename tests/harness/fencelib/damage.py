# SPDX-License-Identifier: MIT
"""A store with known content, damage done to it, and what fsck then finds. No tests here."""

import os
import random
from pathlib import Path

from fenceharness import Ctl, Store, fence

BIG = 100_000


def content(name: str, version: int, size: int) -> bytes:
    return random.Random(f"{name}{version}").randbytes(size)


def publish(ctl: Ctl, path: str, version: int, size: int) -> bytes:
    data = content(path, version, size)
    ctl.expect_ok("put", data, path=path, token=1, size=size)
    return data


def expected(names: dict[str, int], version: int = 2) -> dict[str, bytes]:
    return {name: content(name, version, size) for name, size in names.items()}


NAMES = {"d/a": BIG, "d/b": BIG, "d/c": BIG, "small": 500, "other": 500}


def fill(store: Store):
    """Two versions of each of NAMES."""
    mnt = store.mount()
    with mnt.ctl() as ctl:
        ctl.expect_ok("open", path="d/", token=1)
        ctl.expect_ok("commit")
        for version in (1, 2):
            for name, size in NAMES.items():
                publish(ctl, name, version, size)
    mnt.unmount()
    fsck(store, "--data", rc=0)


def fsck(store, *options, rc=None):
    """(findings of damage, notes)"""
    result = fence("fsck", "--json", *options, store, rc=rc)
    found = result.json()["findings"]
    damage = [f for f in found if f["kind"] == "damage"]
    assert (result.rc == 20) == bool(damage) and result.json()["exit"] == result.rc
    assert result.json()["damage"] == len(damage)
    return damage, [f for f in found if f["kind"] == "note"]


def blob_of(store: Store, path: str, seq: int) -> str:
    name = os.fsencode(os.path.basename(path))
    return store.query("SELECT lower(hex(blob)) FROM entry WHERE name = ? AND seq = ?", name, seq)[0][0]


def file_of(store: Store, path: str, seq: int) -> Path:
    blob = blob_of(store, path, seq)
    return store.path / "blobs" / blob[:2] / blob


def flip(file: Path, offset: int):
    mode = file.stat().st_mode
    file.chmod(0o600)
    with open(file, "r+b") as opened:
        opened.seek(offset)
        byte = opened.read(1)[0]
        opened.seek(offset)
        opened.write(bytes([byte ^ 0x40]))
    file.chmod(mode & 0o777)


def discard(store: Store):
    """It stays damaged: not to be checked at the end of the test."""
    store.path.rename(store.path.with_name("discarded"))


def expect_one(found, rule, path, version):
    assert [(f["rule"], f["path"], f["version"]) for f in found] == [(rule, path, version)], found
    assert found[0]["what"] and found[0]["consequence"] and found[0]["remedy"]
