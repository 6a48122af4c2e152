#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a lease costs: `fence run P -- true` beside `flock F true`, acquire and release beside an fsync.

Both take turns, so that what else the machine does falls on both; what is printed are medians, and
the least, which is what the thing costs when nothing else is in the way.

    FENCE_BUILD=build python3 tests/bench/leases.py [--runs N]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/harness"))

from fenceharness import Store, fence_program, kernel, paths  # noqa: E402


def timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def in_turn(runs: int, *functions) -> list[list[float]]:
    """Each once before it counts."""
    for function in functions:
        function()
    times = [[timed(function) for function in functions] for _ in range(runs)]
    return [list(column) for column in zip(*times)]


def program(*argv):
    argv = [os.fspath(word) for word in argv]
    return lambda: subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def processes(mnt, scratch: Path, runs: int) -> dict[str, list[float]]:
    """Whole processes: seconds of each run."""
    with mnt.ctl() as ctl:
        ctl.expect_ok("open", path="dir/", token=0)
        ctl.expect_ok("commit")
    commands = {
        "true": ["true"],
        "flock F true": ["flock", scratch / "lock", "true"],
        "fence run --no-wait P -- true": [fence_program(), "run", "-n", mnt / "dir", "--", "true"],
        "fence run --token N Q -- true": [fence_program(), "run", "--token", 99, mnt / "q", "--", "true"],
    }
    if shutil.which("etcdctl") and os.environ.get("ETCDCTL_ENDPOINTS"):
        commands["etcdctl lock L true"] = ["etcdctl", "lock", "fence-bench", "true"]
    return dict(zip(commands, in_turn(runs, *(program(*map(str, argv)) for argv in commands.values()))))


def cycles(mnt, scratch: Path, runs: int) -> dict[str, list[float]]:
    """One conversation, beside what a durable line costs at least: one write and one fsync. Seconds of each run."""
    fd = os.open(scratch / "append", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with mnt.ctl() as ctl:
        acquire = b"acquire path=p ttl=30s owner=o\n"

        def cycle():
            os.write(ctl.fd, acquire)
            token = os.read(ctl.fd, 4096).split()[1]
            os.write(ctl.fd, b"release path=p owner=o " + token + b"\n")
            assert os.read(ctl.fd, 4096) == b"ok\n"

        def renew():
            os.write(ctl.fd, b"renew path=held ttl=30s owner=o token=" + held + b"\n")
            assert os.read(ctl.fd, 4096).startswith(b"ok ")

        def append():
            os.write(fd, b"x" * 100)
            os.fsync(fd)

        held = ctl.expect_ok("acquire", path="held", ttl="30s", owner="o")["token"].encode()
        columns = in_turn(runs, append, cycle, renew)
    os.close(fd)
    return dict(zip(("append 100 bytes, fsync", "acquire + release", "renew"), columns))


def print_times(times: dict[str, list[float]], native: str):
    base = statistics.median(times[native])
    for name, column in times.items():
        middle, least = statistics.median(column), min(column)
        print(f"{name:<40}{middle * 1e3:8.2f} ms{least * 1e3:8.2f} least{middle / base:8.1f} x {native}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="how often each (default: 100)")
    args = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="fence-bench-", dir=paths.scratch_root()))
    paths.set_private_dir(scratch)
    try:
        mnt = Store(scratch / "store").mount()
        try:
            print_times(processes(mnt, scratch, args.runs), "flock F true")
            print_times(cycles(mnt, scratch, args.runs * 5), "append 100 bytes, fsync")
        finally:
            mnt.unmount()
    finally:
        for mount in reversed(kernel.mounts_beneath(scratch)):
            kernel.unmount_lazily(mount)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
