#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gc costs on a large store: time and memory offline, and what commits notice of it when mounted.

    FENCE_BUILD=build python3 tests/bench/gc.py [--blobs 1000000] [--orphans 300000]

`git prune` and `ostree prune` on as many objects to be removed are run beside it where they are installed.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from hashlib import sha1
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/harness"))

from fenceharness import Ctl, Store, changing, fence_program, paths  # noqa: E402

SIZE = 32


def rows(count: int, orphans: int):
    """Ids of blobs; the first @orphans are files that nothing refers to."""
    for n in range(count):
        yield n, n < orphans, os.urandom(16)


def fill(store: Store, blobs: int, orphans: int):
    """Straight into the database: a million commits would be another bench."""
    hashed = bytes(16)
    with changing(store.path / "meta.db") as db:
        add_blob = "INSERT INTO blob(id, size, hash, data) VALUES(?, ?, ?, ?)"
        add_entry = (
            "INSERT INTO entry(dir, name, born, seq, kind, blob, size, mode, uid, gid, mtime,"
            " token, owner) VALUES(1, ?, 0, 1, 1, ?, ?, 420, 0, 0, 0, 0, '')"
        )
        for n, is_orphan, ident in rows(blobs, orphans):
            db.execute(add_blob, (ident, SIZE, hashed, None if is_orphan else bytes(SIZE)))
            if is_orphan:
                name = ident.hex()
                with open(store.path / "blobs" / name[:2] / name, "wb") as file:
                    file.write(bytes(SIZE))
            else:
                db.execute(add_entry, (b"f%d" % n, ident, SIZE))
    os.sync()


def offline(store: Store, orphans: int):
    start = time.perf_counter()
    process = subprocess.Popen(
        [fence_program(), "gc", "--grace", "0", "--json", store.path], stdout=subprocess.PIPE
    )
    peak = watch(process.pid, process.poll)
    out = process.stdout.read().decode()
    seconds = time.perf_counter() - start
    assert process.returncode == 0 and f'"count": {orphans}' in out, out
    print(f"gc offline: {seconds:.1f} s, {orphans / seconds:.0f} orphans/s, memory {peak} MiB")


def anonymous(pid: int) -> int:
    """KiB of a process that are not a file's."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    return 0


def watch(pid: int, ended) -> int:
    """The most anonymous memory that it had, in MiB."""
    peak = 0
    while ended() is None:
        peak = max(peak, anonymous(pid))
        time.sleep(0.01)
    return peak // 1024


def puts(mount, seconds: float, until=lambda: False) -> list[float]:
    """Latencies of commits one after another, in ms."""
    found = []
    end = time.perf_counter() + seconds
    with Ctl(mount) as ctl:
        while time.perf_counter() < end and not until():
            start = time.perf_counter()
            ctl.expect_ok("put", b"x" * 4096, path="bench", token=1, size=4096)
            found.append((time.perf_counter() - start) * 1000)
    return found


def mounted(store: Store, orphans: int):
    mnt = store.mount()
    try:
        puts(mnt.path, 2)
        idle = puts(mnt.path, 5)
        before = anonymous(mnt.pid)
        start = time.perf_counter()
        process = subprocess.Popen([fence_program(), "gc", "--grace", "0", mnt.path])
        peaks: list[int] = []
        watcher = threading.Thread(target=lambda: peaks.append(watch(mnt.pid, process.poll)))
        watcher.start()
        busy = puts(mnt.path, 600, lambda: process.poll() is not None)
        seconds = time.perf_counter() - start
        watcher.join()
        assert process.returncode == 0
    finally:
        mnt.unmount()
    one, two = statistics.median(idle), statistics.median(busy)
    print(f"gc mounted, commits meanwhile: {seconds:.1f} s, {orphans / seconds:.0f} orphans/s")
    print(f"  memory of the daemon {before // 1024} -> at most {peaks[0]} MiB")
    print(f"  commit, median: {one:.2f} ms alone, {two:.2f} ms beside gc, ratio {two / one:.2f}")
    for q in (95, 99):
        a, b = (statistics.quantiles(times, n=100)[q - 1] for times in (idle, busy))
        print(f"  commit, {q} %: {a:.2f} ms alone, {b:.2f} ms beside gc")


def git_prune(root: Path, orphans: int):
    if not shutil.which("git"):
        return
    repo = root / "git"
    subprocess.run(["git", "init", "-q", "--bare", repo], check=True)
    for n in range(orphans):
        data = b"blob 32\0" + os.urandom(SIZE)
        name = sha1(data).hexdigest()
        (repo / "objects" / name[:2]).mkdir(exist_ok=True)
        (repo / "objects" / name[:2] / name[2:]).write_bytes(zlib.compress(data, 1))
    os.sync()
    start = time.perf_counter()
    subprocess.run(["git", "-C", repo, "prune", "--expire=now"], check=True)
    seconds = time.perf_counter() - start
    print(f"git prune of as many: {seconds:.1f} s, {orphans / seconds:.0f} objects/s")
    shutil.rmtree(repo)


def ostree_prune(root: Path, orphans: int):
    if not shutil.which("ostree"):
        return
    repo, tree = root / "ostree", root / "tree"
    subprocess.run(["ostree", "init", f"--repo={repo}", "--mode=bare-user-only"], check=True)
    for n in range(orphans):
        top = tree / f"{n % 256:02x}"
        top.mkdir(parents=True, exist_ok=True)
        (top / f"{n}").write_bytes(b"%032d" % n)
    commit = ["ostree", "commit", f"--repo={repo}", "--branch=gone", "--consume", tree]
    subprocess.run(commit, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ostree", "refs", f"--repo={repo}", "--delete", "gone"], check=True)
    os.sync()
    start = time.perf_counter()
    subprocess.run(
        ["ostree", "prune", f"--repo={repo}", "--refs-only"], check=True, stdout=subprocess.DEVNULL
    )
    seconds = time.perf_counter() - start
    print(f"ostree prune of as many: {seconds:.1f} s, {orphans / seconds:.0f} objects/s")
    shutil.rmtree(repo)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blobs", type=int, default=1_000_000)
    parser.add_argument("--orphans", type=int, default=300_000)
    parser.add_argument("--only", choices=["offline", "mounted", "git", "ostree"])
    wanted = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="fence-bench-gc-", dir=paths.scratch_root()))
    paths.set_private_dir(root)
    try:
        for run in (offline, mounted):
            if wanted.only not in (None, run.__name__):
                continue
            store = Store(root / run.__name__)
            fill(store, wanted.blobs, wanted.orphans)
            run(store, wanted.orphans)
            shutil.rmtree(store.path)
        if wanted.only in (None, "git"):
            git_prune(root, wanted.orphans)
        if wanted.only in (None, "ostree"):
            ostree_prune(root, wanted.orphans)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
