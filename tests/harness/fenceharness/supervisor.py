# SPDX-License-Identifier: MIT
"""Runs each test in a process of its own, and takes away what it leaves.

Two processes per test: pytest's (with xdist a worker's), which never touches a mount and so cannot
hang, and a child that sets the test up, runs it and sends the reports back. The first adopts (as
subreaper) whatever the child leaves, so it can end all of it by process id, abort the FUSE
connections and take down the mounts beneath the test's own directory.
"""

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from _pytest.runner import runtestprotocol
from pytest import Item, TestReport

from . import kernel, mount, namespace, paths, process

DEFAULT_SECONDS = 60
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SHOWN_LINES = 400

_libc = ctypes.CDLL(None, use_errno=True)


def prepare():
    """Before the first test: adopt what tests leave, and clean up also when told to end."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, all that was here before it
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, _end)


def _end(number, _frame):
    raise KeyboardInterrupt(f"signal {number}")


def seconds_of(item: Item) -> float:
    """What @item may take: its mark "timeout", longer in builds with sanitizers."""
    mark = item.get_closest_marker("timeout")
    return (mark.args[0] if mark else DEFAULT_SECONDS) * paths.time_scale()


# ---------------------------------------------------------------------------- in the test's process


def finish(ctl):
    """At the end of a test's function, when it passed: all that it started must end cleanly."""
    process.kill_started()
    if ctl:
        ctl.close()
    mount.finish_all()
    namespace.check_left()


def _give_up():
    """After a failure nothing may wait for a mount."""
    with contextlib.suppress(OSError):
        mount.print_logs()
    with contextlib.suppress(Exception):
        process.kill_started()
    with contextlib.suppress(Exception):
        mount.abandon_all()


def _child(item: Item, directory: Path, results: int, output: int):
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(sig, signal.SIG_DFL)
    if not item.config.option.usepdb:
        _be_alone(results, output)
    paths.set_private_dir(directory)
    reports = runtestprotocol(item, log=False, nextitem=None)
    if any(report.failed for report in reports):
        _give_up()
    serialize = item.config.hook.pytest_report_to_serializable
    data = pickle.dumps([serialize(config=item.config, report=report) for report in reports])
    sys.stdout.flush()
    os.pwrite(results, data, 0)


def _be_alone(results: int, output: int):
    """No terminal, no descriptors of ours: what it says goes to @output."""
    os.setsid()
    faulthandler.disable()  # a test may want to die of SIGBUS, and its descriptor goes
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, results)
    os.closerange(results + 1, 4096)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)


# ------------------------------------------------------------------------------------- beside it


@dataclass
class Verdict:
    """What a child has reported, and what there is to say about it beyond that."""

    reports: list[TestReport]
    failure: str = ""  # why it failed although no report says so
    left: tuple[str, ...] = ()  # what it should have taken away

    @property
    def skipped(self) -> bool:
        return any(report.skipped for report in self.reports)

    @property
    def failed(self) -> bool:
        return bool(self.failure) or any(report.failed for report in self.reports)


def run(item: Item) -> list[TestReport]:
    """Runs @item; the reports of its phases."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", item.name)[:40]
    directory = Path(tempfile.mkdtemp(prefix=f"fence-{name}-", dir=paths.scratch_root()))
    directory.chmod(0o755)
    start = time.monotonic()
    log = directory / "test-output.log"
    try:
        verdict = _supervise(item, directory, log)
        reports = _judge(item, verdict, time.monotonic() - start)
        if verdict.failed:
            reports[-1].sections.append(("output", _shown(directory, log)))
        if item.config.option.keep:
            reports[-1].user_properties.append(("kept", str(directory)))
    finally:
        _clean(directory)
        if not item.config.option.keep:
            _remove(directory)
    return reports


def _supervise(item: Item, directory: Path, log: Path) -> Verdict:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    results = os.memfd_create("results")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            _child(item, directory, results, output)
            os._exit(0)
        finally:
            os._exit(70)
    os.close(output)
    try:
        ended = _wait(pid, None if item.config.option.usepdb else seconds_of(item))
        verdict = _read(item, results) if ended else Verdict([], _describe_hang(item, pid))
    finally:
        os.close(results)
    left = tuple(_clean(directory))
    if left and not verdict.failed and not verdict.skipped:
        verdict.failure = "left behind by a test that passed: " + ", ".join(left)
    verdict.left = left
    return verdict


def _wait(pid: int, seconds: float | None) -> bool:
    """Whether @pid ended in time. Looks up now and then: a worker is interrupted by a mere flag, and may be left alone."""
    end = None if seconds is None else time.monotonic() + seconds
    parent = os.getppid()
    handle = os.pidfd_open(pid)
    try:
        while end is None or time.monotonic() < end:
            if select.select([handle], [], [], 0.5)[0]:
                return True
            if os.getppid() != parent:
                raise KeyboardInterrupt("the process that gave the orders is gone")
        return False
    finally:
        os.close(handle)


def _read(item: Item, results: int) -> Verdict:
    data = os.pread(results, os.fstat(results).st_size, 0)
    if not data:
        return Verdict([], "the test's process died")
    load = item.config.hook.pytest_report_from_serializable
    return Verdict([load(config=item.config, data=one) for one in pickle.loads(data)])


def _describe_hang(item: Item, pid: int) -> str:
    lines = [f"timeout: still running after {seconds_of(item):g} s; this is where:"]
    for one in [pid, *kernel.descendants(pid)]:
        lines += kernel.describe(one)
    return "\n".join(lines)


def _judge(item: Item, verdict: Verdict, took: float) -> list[TestReport]:
    """The reports to hand on: those of the child, or one of a failure that it could not tell."""
    if verdict.failure:
        return [_failed_report(item, verdict.failure, took)]
    if verdict.left:
        verdict.reports[-1].sections.append(("left behind", "\n".join(verdict.left)))
    return verdict.reports


def _failed_report(item: Item, why: str, took: float) -> TestReport:
    return TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={name: 1 for name in item.keywords},
        outcome="failed",
        longrepr=why,
        when="call",
        duration=took,
    )


# ---------------------------------------------------------------------------------- what is left


def _shown(directory: Path, log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    if "--- " not in text:  # the test could not print them itself any more
        text += _daemon_logs(directory)
    lines = text.splitlines()[-SHOWN_LINES:]
    return "\n".join("".join(c if c.isprintable() or c == "\t" else "?" for c in line) for line in lines)


def _daemon_logs(directory: Path) -> str:
    found = ""
    for log in sorted(directory.glob("*-daemon*.log")):
        found += f"\n--- {log.name}\n" + log.read_text(encoding="utf-8", errors="replace")[-8000:]
    return found


def _clean(directory: Path) -> list[str]:
    """Takes away all that a test has left. Returns what should not have been there."""
    left = []
    for _ in range(10):
        mounts = kernel.mounts_beneath(directory)
        alive = [p for p in kernel.descendants(os.getpid()) if not _is_zombie(p)]
        _reap()
        if not mounts and not alive:
            break
        for one in mounts:
            left.append(f"mount {one.fstype} at {one.path}")
            if kernel.is_fuse(one):
                kernel.abort_fuse(one)
        for pid in alive:
            if "fencefs" in kernel.command(pid).split(" ")[0]:
                left.append(f"process {pid} {kernel.command(pid)}")
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for one in reversed(mounts):
            kernel.unmount_lazily(one)
        time.sleep(0.02)
        _reap()
    _detach_loops(directory)
    return list(dict.fromkeys(left))


def _is_zombie(pid: int) -> bool:
    return (kernel.stat_fields(pid) or ["Z"])[0] in "ZX"


def _reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _detach_loops(directory: Path):
    if not any(directory.glob("*.img")):
        return
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-FILE"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in listed.stdout.splitlines():
        name, _, file = line.partition(" ")
        if kernel.is_beneath(file, str(directory)):
            subprocess.run(["losetup", "--detach", name], capture_output=True, check=False)


def _remove(directory: Path):
    if not kernel.mounts_beneath(directory):
        shutil.rmtree(directory, ignore_errors=True)
