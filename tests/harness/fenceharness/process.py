# SPDX-License-Identifier: MIT
"""Processes that a test starts, stops in the middle of something, continues and waits for."""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback

from . import kernel
from .paths import program_env, time_scale

_started: list["Child"] = []


class ChildFailed(AssertionError):
    """The function that a child ran raised, or the child died."""


def wait_until(condition, what: str, seconds: float = 20, interval: float = 0.01):
    """Returns the first true value of condition(). For what gives no event to wait for."""
    end = time.monotonic() + seconds * time_scale()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds:g} s in vain for: {what}")
        time.sleep(interval)


def run(*args, rc=0, input=None, cwd=None, env=None, timeout=60, uid=None):
    """Runs a program to its end; returns subprocess.CompletedProcess with str output.

    @rc is the exit status it must have, None for any. @uid: as that user, of that group only.
    """
    argv = [os.fspath(a) if not isinstance(a, (int, float)) else str(a) for a in args]
    extra = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run(
        argv,
        input=input,
        stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True,
        cwd=cwd,
        env=program_env(env),
        timeout=timeout * time_scale(),
        check=False,
        **extra,
    )
    done.stdout = done.stdout.decode("utf-8", "surrogateescape")
    done.stderr = done.stderr.decode("utf-8", "surrogateescape")
    if rc is not None and done.returncode != rc:
        raise AssertionError(
            f"{argv} ended with {done.returncode}, not {rc}\n"
            f"stdout: {done.stdout[-4000:]}\nstderr: {done.stderr[-4000:]}"
        )
    return done


def stop_process(pid: int):
    """SIGSTOP, and back only when every thread of @pid really is stopped."""
    os.kill(pid, signal.SIGSTOP)
    wait_stopped(pid)


def continue_process(pid: int):
    os.kill(pid, signal.SIGCONT)


def wait_stopped(pid: int, seconds: float = 20):
    def stopped():
        found = kernel.states(pid)
        if not found:
            raise AssertionError(f"process {pid} is gone, it should be stopped")
        return all(state in "Tt" for state in found)

    wait_until(stopped, f"process {pid} to be stopped", seconds)


class _Channel:
    """Messages over a socket: a length, then pickled bytes."""

    def __init__(self, end: socket.socket):
        self.end = end

    def send(self, kind: str, value=None):
        data = pickle.dumps((kind, value))
        self.end.sendall(struct.pack("=I", len(data)) + data)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.end.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self, seconds: float | None = None):
        if seconds is not None and not select.select([self.end], [], [], seconds)[0]:
            raise TimeoutError
        (size,) = struct.unpack("=I", self._exactly(4))
        return pickle.loads(self._exactly(size))


class Me:
    """Given to the function that a child runs."""

    def __init__(self, channel: _Channel):
        self._channel = channel

    def mark(self, name: str):
        """Tells the parent that this point is reached, and goes on."""
        self._channel.send("mark", name)

    def pause(self, name: str):
        """Tells the parent that this point is reached, and waits for its resume()."""
        self._channel.send("mark", name)
        self._channel.receive()

    def stop(self, name: str):
        """Tells the parent that this point is reached, and stops with SIGSTOP, as a paused job does."""
        self._channel.send("mark", name)
        os.kill(os.getpid(), signal.SIGSTOP)


class Child:
    """A forked Python process that runs one function; see spawn()."""

    def __init__(self, pid: int, channel: _Channel, name: str):
        self.pid = pid
        self.name = name
        self._channel = channel
        self._outcome = None
        self._status = None
        self._marks: list[str] = []

    def _next(self, seconds: float):
        try:
            kind, value = self._channel.receive(seconds * time_scale())
        except TimeoutError:
            where = "\n".join(kernel.describe(self.pid))
            raise AssertionError(f"child {self.name} said nothing for {seconds:g} s\n{where}") from None
        except EOFError:
            kind, value = "died", None
        if kind == "mark":
            self._marks.append(value)
        else:
            self._outcome = (kind, value)

    def wait_mark(self, name: str, seconds: float = 30):
        """Waits until the child reaches mark(name), pause(name) or stop(name)."""
        while name not in self._marks:
            if self._outcome:
                self.result()
                raise AssertionError(f"child {self.name} ended without reaching {name!r}")
            self._next(seconds)
        self._marks.remove(name)
        return self

    def wait_stopped(self, name: str | None = None, seconds: float = 30):
        """Waits until the child is stopped, in the state that /proc shows (after stop(name))."""
        if name is not None:
            self.wait_mark(name, seconds)
        wait_stopped(self.pid, seconds)
        return self

    def resume(self):
        """Lets a child go on that waits in pause()."""
        self._channel.send("resume")

    def stop(self):
        stop_process(self.pid)

    def cont(self):
        continue_process(self.pid)

    def result(self, seconds: float = 60):
        """What the function returned. Raises ChildFailed with its traceback when it raised."""
        while not self._outcome:
            self._next(seconds)
        kind, value = self._outcome
        self.wait(seconds)
        if kind == "died":
            raise ChildFailed(f"child {self.name} died: wait status {self._status}")
        if kind == "raised":
            raise ChildFailed(f"in child {self.name}: {value}")
        return value

    def wait(self, seconds: float = 30) -> int:
        """Waits for its end; returns the exit status, -N for signal N."""
        if self._status is None:
            wait_until(self._reap, f"child {self.name} to end", seconds)
        return self._status

    def _reap(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._status = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def is_alive(self) -> bool:
        return self._status is None and not self._reap()

    def kill(self, sig: int = signal.SIGKILL):
        """Sends @sig, waits for the end when it is SIGKILL."""
        if self._status is None:
            os.kill(self.pid, sig)
            if sig == signal.SIGKILL:
                self.wait()
        return self


def spawn(function, *args, uid=None, gid=None, groups=(), keep_fds=(), cwd=None) -> Child:
    """Forks a child that runs function(me, *args); @me is a Me.

    The child has none of this process's descriptors but those in @keep_fds: a ctl conversation that
    it held open, too, would not end with its owner. With @uid it runs as that user.
    """
    ours, theirs = socket.socketpair()
    name = getattr(function, "__name__", "function")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _in_child(function, args, theirs, uid, gid, groups, keep_fds, cwd)
    theirs.close()
    child = Child(pid, _Channel(ours), name)
    _started.append(child)
    return child


def _in_child(function, args, end, uid, gid, groups, keep_fds, cwd):
    code = 1
    try:
        _started.clear()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        keep = {0, 1, 2, end.fileno(), *keep_fds}
        low = 3
        for fd in sorted(keep - {0, 1, 2}) + [65536]:
            os.closerange(low, fd)
            low = fd + 1
        if cwd is not None:
            os.chdir(cwd)
        if uid is not None:
            gid = uid if gid is None else gid
            os.setgroups(list(groups))
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        channel = _Channel(end)
        try:
            value = function(Me(channel), *args)
            channel.send("returned", value)
            code = 0
        except BaseException:
            channel.send("raised", traceback.format_exc())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def kill_started():
    """Ends the children that a test left running."""
    for child in _started:
        with contextlib.suppress(OSError, AssertionError):
            child.kill()
    _started.clear()
