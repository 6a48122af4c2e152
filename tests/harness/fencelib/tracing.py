# SPDX-License-Identifier: MIT
"""The daemon under strace: what it does, and system calls of it that fail, wait or kill it."""

import contextlib
import ctypes
import fnmatch
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

from fenceharness import Mount, wait_until

CALL = re.compile(r"(\d+) +(\w+)\(")


def strace(log: Path, *options) -> list[str]:
    """A wrapper for Mount. @options such as "--trace=fsync", "--inject=fsync:error=EIO:when=1"."""
    log.unlink(missing_ok=True)
    # With --seccomp-bpf, which is much quicker, strace 6.1 sends no signals.
    words = [str(option) for option in options]
    quick = [] if any("signal=" in word for word in words) else ["--seccomp-bpf"]
    return ["strace", "-f", "-qq", *quick, "-o", str(log), *words]


def inject(log: Path, calls: str, what: str, *options) -> list[str]:
    """Does @what, such as "error=EIO:when=3", to @calls; `when` counts in each thread by itself."""
    return strace(log, f"--trace={calls}", f"--inject={calls}:{what}", *options)


def calls(log: Path) -> list[tuple[int, str]]:
    """(thread, system call) of each line that begins one."""
    found = [CALL.match(line) for line in log.read_text(errors="replace").splitlines()]
    return [(int(match[1]), match[2]) for match in found if match]


def most_in_a_thread(log: Path) -> int:
    """How many calls the busiest thread made: the highest `when` that can strike."""
    return max(Counter(thread for thread, _ in calls(log)).values(), default=0)


def was_injected(log: Path) -> bool:
    return "INJECTED" in log.read_text(errors="replace")


def threads(mnt: Mount, name: str = "*") -> list[int]:
    """Those of the daemon that have this name."""
    found = []
    for comm in Path(f"/proc/{mnt.pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # it has ended
            if fnmatch.fnmatchcase(comm.read_text().strip(), name):
                found.append(int(comm.parent.name))
    return found


@contextlib.contextmanager
def injecting(mnt: Mount, log: Path, calls: str, what: str, *options, only: str | None = None):
    """Does @what to @calls of the running daemon, or of its threads of the name @only, until the block ends, `when`
    counting from here; yields @log.
    """
    log.write_text("")
    which = [f"--attach={thread}" for thread in threads(mnt, only)] if only else ["-f", f"--attach={mnt.pid}"]
    tracer = subprocess.Popen(
        ["strace", "-qq", "-o", log, f"--trace={calls}", f"--inject={calls}:{what}", *options, *which],
        stdin=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: is_traced(mnt, tracer, only), "strace to have these threads of the daemon")
        yield log
    finally:
        tracer.kill()  # what it traces goes on, undelayed
        tracer.wait()


def held_up(mnt: Mount, log: Path, call: str, *options, only: str | None = None):
    """Each such call waits before it is made, until the block ends."""
    return injecting(mnt, log, call, "delay_enter=1000s", *options, only=only)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_PTRACE_DETACH, _PTRACE_SEIZE, _PTRACE_INTERRUPT = 17, 0x4206, 0x4207
_WALL = 0x40000000


def _ptrace(request: int, thread: int):
    if _libc.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {thread}")


@contextlib.contextmanager
def frozen(mnt: Mount, name: str):
    """The daemon's threads of that name stand still until the block ends; the others go on."""
    found = threads(mnt, name)
    assert found, f"no thread is named {name}"
    for thread in found:
        _ptrace(_PTRACE_SEIZE, thread)
        _ptrace(_PTRACE_INTERRUPT, thread)
        os.waitpid(thread, _WALL)
    try:
        yield
    finally:
        for thread in found:
            _ptrace(_PTRACE_DETACH, thread)


def is_traced(mnt: Mount, tracer: subprocess.Popen, only: str | None) -> bool:
    assert tracer.poll() is None, "strace ended"
    found = [Path(f"/proc/{mnt.pid}/task/{thread}/status") for thread in threads(mnt, only or "*")]
    return bool(found) and all(f"TracerPid:\t{tracer.pid}\n" in status.read_text() for status in found)


def is_held_up(log: Path, call: str) -> bool:
    """Whether the daemon waits in @call."""
    return call + "(" in log.read_text(errors="replace")
