# SPDX-License-Identifier: MIT
"""Runs the tests of one file and prints TAP.

Two processes per test: the runner, which never touches a mount and so cannot hang, and a child that
runs the test. The runner adopts (as subreaper) whatever the child leaves, so it can end all of it by
process id, abort the FUSE connections and take down the mounts beneath the test's own directory.
"""

import argparse
import contextlib
import ctypes
import fnmatch
import inspect
import itertools
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
import traceback
from pathlib import Path

from . import kernel, mount, paths, process
from .ctl import Ctl

DEFAULT_SECONDS = 60
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """The test cannot run here."""


# ------------------------------------------------------------------------------ what a file may say


def skip(reason: str):
    """Ends the running test as skipped."""
    raise Skip(reason)


def skip_unless(condition, reason: str):
    """Decorator: skips the test unless @condition (a value, or a function called at run time)."""

    def mark(function):
        function.fence_skip = [*getattr(function, "fence_skip", []), (condition, reason)]
        return function

    return mark


def timeout(seconds: float):
    """Decorator: the test may take @seconds instead of 60."""

    def mark(function):
        function.fence_seconds = seconds
        return function

    return mark


def params(**lists):
    """Decorator: runs the test with every combination; the names are its arguments."""

    def mark(function):
        function.fence_params = {**lists, **getattr(function, "fence_params", {})}
        return function

    return mark


def mount_options(*options):
    """Decorator: runs the test once per string; `mnt` is mounted with -o that string."""

    def mark(function):
        function.fence_options = list(options)
        return function

    return mark


# -------------------------------------------------------------------------------------- collecting


class Case:
    """A test function with one choice of its parameters."""

    def __init__(self, function, arguments: dict, option: str | None):
        self.function = function
        self.arguments = arguments
        self.option = option
        labels = [f"{k}={v}" for k, v in arguments.items()] + ([option] if option else [])
        text = re.sub(r"[\s#]+", "_", ",".join(labels))
        self.name = function.__name__ + (f"[{text}]" if text else "")
        self.seconds = getattr(function, "fence_seconds", DEFAULT_SECONDS)


def _cases(module, default_options) -> list[Case]:
    functions = [
        value
        for name, value in vars(module).items()
        if name.startswith("test_") and inspect.isfunction(value)
    ]
    cases = []
    for function in functions:
        wanted = inspect.signature(function).parameters
        options = getattr(function, "fence_options", default_options)
        if not {"mnt", "ctl"} & set(wanted):
            options = None
        lists = getattr(function, "fence_params", {})
        for values in itertools.product(*lists.values()):
            arguments = dict(zip(lists, values))
            cases += [Case(function, arguments, option) for option in options or [None]]
    return cases


def _is_wanted(case: Case, patterns) -> bool:
    function = case.function.__name__
    return not patterns or any(
        pattern == case.name
        or fnmatch.fnmatchcase(function, pattern)
        or fnmatch.fnmatchcase(function, "test_" + pattern)
        for pattern in patterns
    )


# ---------------------------------------------------------------------------- in the test's process


class _Fixtures:
    """Makes what a test's arguments name, each once."""

    def __init__(self, case: Case, directory: Path):
        self.case = case
        self.directory = directory
        self.made = dict(case.arguments)

    def get(self, name: str):
        if name not in self.made:
            make = getattr(self, "_" + name, None)
            if not make:
                raise TypeError(f"{self.case.function.__name__}: no fixture named {name}")
            self.made[name] = make()
        return self.made[name]

    def _tmp(self):
        path = self.directory / "tmp"
        path.mkdir()
        return path

    def _store(self):
        return mount.Store(self.directory / "store")

    def _mnt(self):
        path = self.directory / "mnt"
        path.mkdir()
        options = self.case.option.split(",") if self.case.option else []
        return mount.Mount(self.get("store"), *options, mountpoint=path).start()

    def _ctl(self):
        return Ctl(self.get("mnt"))

    def close(self):
        if "ctl" in self.made and isinstance(self.made["ctl"], Ctl):
            self.made["ctl"].close()


def _run_case(case: Case, directory: Path) -> tuple[str, str]:
    """Returns (status, reason); whatever it prints is shown when the test fails."""
    paths.set_private_dir(directory)
    fixtures = _Fixtures(case, directory)
    try:
        for condition, reason in getattr(case.function, "fence_skip", []):
            if not (condition() if callable(condition) else condition):
                raise Skip(reason)
        names = inspect.signature(case.function).parameters
        case.function(**{name: fixtures.get(name) for name in names})
        process.kill_started()
        fixtures.close()
        mount.finish_all()
        return "ok", ""
    except BaseException as error:
        skipped = isinstance(error, Skip)
        if not skipped:
            traceback.print_exc()
            with contextlib.suppress(OSError):
                mount.print_logs()
        with contextlib.suppress(Exception):
            process.kill_started()
        with contextlib.suppress(Exception):
            mount.abandon_all()
        return ("skip", str(error)) if skipped else ("fail", f"{type(error).__name__}: {error}")


def _child(case: Case, directory: Path, report: int, output: int):
    os.setsid()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, report)
    os.closerange(report + 1, 4096)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    result = _run_case(case, directory)
    sys.stdout.flush()
    os.write(report, pickle.dumps(result))
    os._exit(0)


# -------------------------------------------------------------------------------- in the runner


def _describe_hang(case: Case, pid: int) -> list[str]:
    lines = [f"still running after {case.seconds * paths.time_scale():g} s; this is where:"]
    for one in [pid, *kernel.descendants(pid)]:
        lines += kernel.describe(one)
    return lines


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


def _supervise(case: Case, directory: Path) -> tuple[str, list[str]]:
    """Runs @case; returns its status and the lines that explain it."""
    read_end, write_end = os.pipe()
    log = directory / "test-output.log"
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            _child(case, directory, write_end, output)
        finally:
            os._exit(70)
    os.close(write_end)
    os.close(output)

    lines: list[str] = []
    data = b""
    handle = os.pidfd_open(pid)
    ended = select.select([handle], [], [], case.seconds * paths.time_scale())[0]
    if ended:
        os.set_blocking(read_end, False)
        with contextlib.suppress(BlockingIOError):
            data = os.read(read_end, 65536)
        status, reason = pickle.loads(data) if data else ("fail", "the test's process died")
    else:
        status, reason = "fail", f"timeout: {case.name}"
        lines += _describe_hang(case, pid)
    os.close(handle)
    os.close(read_end)

    left = _clean(directory)
    if status == "ok" and left:
        status, reason = "fail", "left behind by a test that passed"
    if status == "fail":
        text = log.read_text(encoding="utf-8", errors="replace")
        if "--- " not in text:  # the test could not print them itself any more
            text += _daemon_logs(directory)
        lines = [*reason.splitlines()[:1], *lines, *left, *text.splitlines()[-400:]]
    elif status == "skip":
        lines = [" ".join(reason.split())]
    return status, lines


def _run_all(cases: list[Case], keep: bool) -> int:
    failed = 0
    root = paths.scratch_root()
    print(f"1..{len(cases)}", flush=True)
    for number, case in enumerate(cases, 1):
        name = re.sub(r"[^A-Za-z0-9_]+", "-", case.name)[:40]
        directory = Path(tempfile.mkdtemp(prefix=f"fence-{name}-", dir=root))
        directory.chmod(0o755)
        start = time.monotonic()
        try:
            status, lines = _supervise(case, directory)
        finally:
            _clean(directory)
            if keep:
                print(f"# kept: {directory}")
            else:
                _remove(directory)
        took = time.monotonic() - start
        if status == "skip":
            print(f"ok {number} - {case.name} # SKIP {lines[0]}")
        else:
            print(f"{'ok' if status == 'ok' else 'not ok'} {number} - {case.name}")
            for line in lines:
                print("# " + "".join(c if c.isprintable() or c == "\t" else "?" for c in line))
        print(f"# {took:.2f} s", flush=True)
        failed += status == "fail"
    return failed


def _end(number, _frame):
    raise SystemExit(128 + number)


def main(mount_options=None):
    """Runs the calling script's test_* functions. @mount_options: for all tests that mount."""
    parser = argparse.ArgumentParser(description="Runs the tests of this file, prints TAP.")
    parser.add_argument("names", nargs="*", help="test functions, with or without test_; * matches")
    parser.add_argument("--list", action="store_true", help="only print their names")
    parser.add_argument("--keep", action="store_true", help="leave their directories")
    wanted = parser.parse_args()
    patterns = wanted.names or os.environ.get("FENCE_TESTS", "").split()

    cases = _cases(sys.modules["__main__"], mount_options)
    cases = [case for case in cases if _is_wanted(case, patterns)]
    if wanted.list:
        print("\n".join(case.name for case in cases))
        return
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return
    if not cases:
        print("1..0 # SKIP no test of that name")
        return
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, _end)
    sys.exit(1 if _run_all(cases, wanted.keep) else 0)
