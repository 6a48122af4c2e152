# SPDX-License-Identifier: MIT
"""A store, the daemon that serves it, and the mount that shows it."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from . import cli, kernel
from .ctl import Ctl
from .paths import fencefs_program, private_dir, program_env, time_scale
from .process import stop_process, continue_process, wait_until

# Lines of a daemon's log that fail a test even when all else went well.
SUSPICIOUS = re.compile(r"[Aa]ssert|ERROR|runtime error|Sanitizer|\bleak|BUG|panic")

_stores: list["Store"] = []
_mounts: list["Mount"] = []


def _number() -> int:
    return len(_stores) + len(_mounts)


class Daemon:
    """A running `fencefs -f`, in a session of its own, its output in a file."""

    def __init__(self, argv, log: Path, env=None, wrapper=()):
        self.log = log
        self.returncode = None
        self._wrapped = bool(wrapper)
        extra = dict(env or {})
        if wrapper:  # LeakSanitizer cannot run under a tracer
            extra.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        with open(log, "ab") as out:
            self._process = subprocess.Popen(
                [*map(os.fspath, wrapper), *map(os.fspath, argv)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=program_env(extra),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of fencefs itself, also under a wrapper such as strace."""
        if self._wrapped:
            for pid in kernel.descendants(self._process.pid):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(fencefs_program()):
                        return pid
        return self._process.pid

    def is_alive(self) -> bool:
        if self.returncode is None:
            self.returncode = self._process.poll()
        return self.returncode is None

    def wait(self, seconds: float = 30) -> int:
        """The exit status, -N for signal N."""
        try:
            self.returncode = self._process.wait(seconds * time_scale())
        except subprocess.TimeoutExpired:
            where = "\n".join(kernel.describe(self.pid))
            raise AssertionError(f"daemon still runs after {seconds:g} s\n{where}") from None
        return self.returncode

    def signal(self, sig: int):
        os.kill(self.pid, sig)

    def stop(self):
        stop_process(self.pid)

    def cont(self):
        continue_process(self.pid)

    def kill_group(self):
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


class Store:
    """A store directory in the test's private directory."""

    def __init__(self, path=None, init=True, init_args=()):
        self.path = Path(path) if path else private_dir() / f"store{_number() or ''}"
        _stores.append(self)
        if init:
            cli.fence("init", *init_args, self.path)

    def __fspath__(self) -> str:
        return str(self.path)

    def mount(self, *options, **kwargs) -> "Mount":
        """Mounts it and returns when the mount answers; the arguments are Mount's."""
        return Mount(self, *options, **kwargs).start()

    def database(self) -> sqlite3.Connection:
        """A read-only connection to meta.db."""
        return sqlite3.connect(f"file:{self.path}/meta.db?mode=ro", uri=True)

    def query(self, sql: str, *args) -> list[tuple]:
        with contextlib.closing(self.database()) as connection:
            return connection.execute(sql, args).fetchall()

    def blobs(self) -> list[Path]:
        """The files of sealed content."""
        return sorted(p for p in (self.path / "blobs").glob("??/*") if p.is_file())

    def staged(self) -> list[Path]:
        """Staged files with something in them: empty ones may be spares (fs/store/blob/spare.h)."""
        found = []
        for path in (self.path / "staging").iterdir():
            with contextlib.suppress(FileNotFoundError):  # by now
                if path.stat().st_size:
                    found.append(path)
        return sorted(found)

    def check(self):
        """`fence fsck` must find it clean, in builds that have that verb."""
        if cli.has_verb("fsck"):
            cli.fence("fsck", self.path, timeout=300)


class Mount:
    """A store, mounted. `mnt / "a/b"` is a Path in it, `mnt.ctl()` a conversation."""

    def __init__(self, store: Store, *options, mountpoint=None, env=None, wrapper=()):
        """@options: strings for -o. @wrapper: words put before fencefs, such as strace's."""
        self.store = store
        self.options = options
        self.env = env
        self.wrapper = wrapper
        self.daemon: Daemon | None = None
        self._daemons: list[Daemon] = []
        self._allowed: list[str] = []
        self._info: kernel.MountInfo | None = None
        self._killed = False
        self.path = Path(mountpoint) if mountpoint else private_dir() / f"mnt{_number()}"
        if not mountpoint:
            self.path.mkdir()
        _mounts.append(self)

    def __truediv__(self, name) -> Path:
        return self.path / name

    def __fspath__(self) -> str:
        return str(self.path)

    def ctl(self) -> Ctl:
        return Ctl(self)

    def session(self, ident: str) -> Path:
        return self.path / ".fence/sessions" / ident

    @property
    def pid(self) -> int:
        assert self.daemon, "not mounted"
        return self.daemon.pid

    # ---------------------------------------------------------------------------- coming and going

    def start(self, *options, seconds: float = 20):
        """Starts the daemon; back when the mount answers. Given @options replace the old ones."""
        assert not (self.daemon and self.daemon.is_alive()), "mounted already"
        self.options = options or self.options
        before = kernel.mount_at(self.path)
        flags = ["-o", ",".join(self.options)] if self.options else []
        self.daemon = Daemon(
            [fencefs_program(), "-f", *flags, self.store.path, self.path],
            private_dir() / f"{self.path.name}-daemon{len(self._daemons) + 1}.log",
            self.env,
            self.wrapper,
        )
        self._daemons.append(self.daemon)
        self._killed = False

        def appeared():
            self._fail_if_dead()
            found = kernel.mount_at(self.path)
            # Over a dead mount: the new one may have its number, so the daemon's own word counts.
            return found if not before or "mounted at" in self.daemon.output() else None

        self._info = wait_until(appeared, f"a mount at {self.path}", seconds)
        if not kernel.is_fuse(self._info):
            raise AssertionError(f"{self.path} is a mount of {self._info.fstype}")
        self._wait_answer(seconds)
        return self

    def _fail_if_dead(self):
        if not self.daemon.is_alive():
            raise AssertionError(
                f"fencefs ended with {self.daemon.returncode} before it answered:\n"
                f"{self.daemon.output()[-4000:]}"
            )

    def _wait_answer(self, seconds: float):
        """statfs in a child: that may hang for ever, this process may not."""
        pid = os.fork()
        if pid == 0:
            try:
                os.statvfs(self.path)
                os._exit(0)
            except OSError as error:
                os._exit(error.errno or 1)
        end = time.monotonic() + seconds * time_scale()
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            self._fail_if_dead()
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)  # not waited for: it may be stuck
                where = "\n".join(kernel.describe(self.pid))
                raise AssertionError(f"statfs of the mount had no answer in {seconds:g} s\n{where}")
            time.sleep(0.005)
        if status:
            raise AssertionError(f"statfs of the mount: {os.strerror(os.waitstatus_to_exitcode(status))}")

    def is_mounted(self) -> bool:
        """Whether the mount that start() made is still the one at this path."""
        found = kernel.mount_at(self.path)
        return bool(found and self._info and found.ident == self._info.ident)

    def _umount(self, seconds: float):
        """umount's result; None when it is busy and nobody uses it: who reads all of /proc does, for a moment."""
        done = subprocess.run(
            ["umount", "--no-canonicalize", str(self.path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds * time_scale(),
            check=False,
        )
        busy = done.returncode and "busy" in done.stderr
        return None if busy and not self.users() else done

    def unmount(self, seconds: float = 30):
        """A clean end: umount succeeds, the daemon exits with 0."""
        done = wait_until(lambda: self._umount(seconds), f"umount of {self.path}", seconds)
        if done.returncode:
            users = "\n".join(self.users())
            raise AssertionError(f"{done.stderr.strip()}\nin use by:\n{users}")
        self._ended(seconds)

    def terminate(self, seconds: float = 30):
        """SIGTERM: the daemon unmounts and exits with 0."""
        self.daemon.signal(signal.SIGTERM)
        self._ended(seconds)
        assert not self.is_mounted(), "the daemon is gone, its mount is not"

    def _ended(self, seconds: float):
        status = self.daemon.wait(seconds)
        if status:
            raise AssertionError(f"fencefs exited with {status}:\n{self.daemon.output()[-4000:]}")

    def kill(self, sig: int = signal.SIGKILL):
        """kill -9 of the daemon. The dead mount stays, as after a crash."""
        self._killed = True
        self.daemon.signal(sig)
        self.daemon.wait()

    def remount(self, *options):
        """Unmounts if the daemon runs, and starts it again (over what a killed one has left)."""
        if self.daemon and self.daemon.is_alive():
            self.unmount()
        return self.start(*options)

    def users(self) -> list[str]:
        """Processes with something open in the mount, found without touching it."""
        found = []
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            with contextlib.suppress(OSError):
                links = [f"/proc/{pid}/cwd", f"/proc/{pid}/root"]
                links += [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
                for link in links:
                    with contextlib.suppress(OSError):
                        target = os.readlink(link)
                        if kernel.is_beneath(target, str(self.path)):
                            found.append(f"  {pid} {kernel.command(pid)}: {target}")
        return found

    def abort(self):
        """Ends the FUSE connection: what waits in the mount fails at once."""
        kernel.abort_fuse(self._info)

    # ------------------------------------------------------------------------------------ the log

    def log(self) -> str:
        """What all daemons of this mount have printed."""
        return "".join(daemon.output() for daemon in self._daemons)

    def allow_log(self, pattern: str):
        """Lines of the log that match @pattern are expected by this test."""
        self._allowed.append(pattern)

    def check_log(self):
        own = str(private_dir())  # its name is the test's, which may hold any word
        bad = [
            line
            for line in self.log().replace(own, "").splitlines()
            if SUSPICIOUS.search(line) and not any(re.search(p, line) for p in self._allowed)
        ]
        if bad:
            raise AssertionError("in the daemon's log:\n" + "\n".join(bad[:100]))

    # ------------------------------------------------------------------------- at the end of a test

    def finish(self):
        """After a test that passed: the mount is still there, and everything ends cleanly."""
        if self.daemon and self.daemon.is_alive():
            assert self.is_mounted(), f"{self.path} is no longer the mount that was tested"
            self.unmount()
        elif self.daemon and self.daemon.returncode and not self._killed:
            raise AssertionError(f"fencefs ended with {self.daemon.returncode}, and not by the test")
        elif self._info and self.is_mounted():
            kernel.unmount_lazily(self._info)  # left by a daemon that the test killed
        self.check_log()

    def abandon(self):
        """After a failure: nothing here may wait for the mount."""
        for mount in reversed(kernel.mounts_beneath(self.path)):
            if kernel.is_fuse(mount):
                kernel.abort_fuse(mount)
            kernel.unmount_lazily(mount)
        for daemon in self._daemons:
            daemon.kill_group()


def finish_all():
    for mount in reversed(_mounts):
        mount.finish()
    for store in _stores:
        if (store.path / "format").exists():
            store.check()


def abandon_all():
    for mount in reversed(_mounts):
        mount.abandon()


def print_logs(limit: int = 8000):
    for mount in _mounts:
        for daemon in mount._daemons:
            text = daemon.output()
            print(f"--- {daemon.log.name} (exit status {daemon.returncode})")
            print(text[-limit:])
