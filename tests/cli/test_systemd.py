# SPDX-License-Identifier: MIT
"""The units, as systemd reads and runs them; what the daemon tells a service manager."""

import configparser
import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel
from fencelib.tracing import held_up, is_held_up, strace

UNITS = ["fencefs@.service", "fencefs-gc@.service", "fencefs-gc@.timer", "fencefs-scrub@.service", "fencefs-scrub@.timer"]
EXAMPLES = ["mnt-shared.mount", "mnt-shared.automount"]
PERIOD = 0.1  # seconds between two signs of life that are asked for here

# Each of these has the service run in a mount namespace of its own (systemd.exec(5)).
NAMESPACES = re.compile(
    "Private(Tmp|Devices|Mounts|Users|IPC|Network|PIDs|BPF)|Protect(System|Home|Kernel.*|ControlGroups|Proc|Clock|Hostname)"
    "|(Read(Only|Write)|ReadWrite|Inaccessible|Exec|NoExec)(Paths|Directories)|Bind(ReadOnly)?Paths"
    "|TemporaryFileSystem|Root(Directory|Image|Hash|Verity|Ephemeral|MStack).*|MountFlags|MountImages|MountAPIVFS|ExtensionImages"
    "|ExtensionDirectories|DynamicUser|ProcSubset|NetworkNamespacePath|IPCNamespacePath|JoinsNamespaceOf"
    "|BindLogSockets|LogNamespace|PAMName|RestrictNamespaces|LoadCredential.*|SetCredential.*|ImportCredential"
)


# ------------------------------------------------------------------------------------------ the units


def read_unit(path: Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, strict=False, comment_prefixes="#", delimiters="=")
    unit.optionxform = str
    unit.read(path, encoding="utf-8")
    return unit


def install(tmp) -> Path:
    """What `meson install` puts where, in a scratch root."""
    root = tmp / "root"
    run("meson", "install", "-C", build_dir(), "--destdir", root, "--no-rebuild", "--skip-subprojects", cwd=tmp)
    return root


def unit_dir(root: Path) -> Path:
    (found,) = root.glob("**/fencefs@.service")
    return found.parent


def add_systemd(root: Path):
    """The units that ours refer to; those of an installed fencefs are none of them."""
    theirs = next(d for d in map(Path, ("/usr/lib/systemd/system", "/lib/systemd/system")) if d.is_dir())
    leave_out = shutil.ignore_patterns("fencefs*")
    shutil.copytree(theirs, root / "usr/lib/systemd/system", symlinks=True, ignore=leave_out, dirs_exist_ok=True)
    (root / "etc").mkdir(exist_ok=True)


def verify(root: Path, *names) -> str:
    """What systemd has against them; "" when nothing. Units of others are not judged."""
    done = run("systemd-analyze", "verify", "--man=no", f"--root={root}", *names, rc=None)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if re.search("fence|mnt", line)]
    return "\n".join(lines + ([f"status {done.returncode}"] if done.returncode else []))


def test_units_are_as_systemd_wants_them(tmp):
    root = install(tmp)
    assert sorted(p.name for p in unit_dir(root).iterdir()) == sorted(UNITS)
    add_systemd(root)
    names = [name.replace("@", r"@mnt-a\x20b") for name in UNITS]
    assert verify(root, *names) == ""


def test_examples_are_as_systemd_wants_them(tmp):
    root = install(tmp)
    add_systemd(root)
    for name in EXAMPLES:
        (found,) = root.glob(f"**/{name}.example")
        shutil.copy(found, root / "usr/lib/systemd/system" / name)
    assert verify(root, *EXAMPLES) == ""
    mount = read_unit(root / "usr/lib/systemd/system/mnt-shared.mount")
    where = run("systemd-escape", "--path", "--suffix=mount", mount["Mount"]["Where"]).stdout
    assert where == "mnt-shared.mount\n" and mount["Mount"]["Type"] == "fencefs"


def test_verify_finds_what_is_wrong(tmp):
    """Else the tests above would show nothing."""
    root = install(tmp)
    add_systemd(root)
    path = unit_dir(root) / "fencefs@.service"
    text = path.read_text()
    path.write_text(text.replace("WatchdogSec=", "WatchdogSek="))
    assert "WatchdogSek" in verify(root, "fencefs@mnt.service")
    path.write_text(text.replace("ExecStart=/", "ExecStart=/no"))
    assert "not executable" in verify(root, "fencefs@mnt.service")


def test_no_unit_has_a_mount_namespace_of_its_own(tmp):
    root = install(tmp)
    files = [unit_dir(root) / name for name in UNITS] + list(root.glob("**/*.example"))
    assert len(files) == len(UNITS) + len(EXAMPLES)
    for path in files:
        unit = read_unit(path)
        keys = [key for section in unit.sections() for key in unit[section]]
        assert len(keys) >= 4, path
        assert not [key for key in keys if NAMESPACES.fullmatch(key)], path
    says = (unit_dir(root) / "fencefs@.service").read_text()
    assert "mount namespace" in says
    for key in ("PrivateTmp", "ProtectSystem", "ProtectHome", "PrivateDevices", "ReadOnlyPaths", "MountFlags"):
        assert NAMESPACES.fullmatch(key) and f"{key}=" in says, key


def test_what_the_service_says(tmp):
    root = install(tmp)
    service = read_unit(unit_dir(root) / "fencefs@.service")["Service"]
    assert service["Type"] == "notify" and service["NotifyAccess"] == "main"
    assert service["Restart"] == "on-failure" and "WatchdogSec" in service
    assert service["KillMode"] == "mixed" and "ExecStop" not in service
    for name in ("gc", "scrub"):
        done = read_unit(unit_dir(root) / f"fencefs-{name}@.service")["Service"]
        assert (done["Type"], done["Nice"], done["IOSchedulingClass"]) == ("oneshot", "19", "idle")
        timer = read_unit(unit_dir(root) / f"fencefs-{name}@.timer")["Timer"]
        assert timer["OnCalendar"] == {"gc": "daily", "scrub": "monthly"}[name]
        assert "RandomizedDelaySec" in timer and timer["Persistent"] == "yes"


# ------------------------------------------------------------------------- what a service manager hears


class Listener:
    """Stands in for systemd at $NOTIFY_SOCKET."""

    def __init__(self, name: str):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)

    def next(self, seconds: float = 30) -> dict[str, str] | None:
        """The next message; None when none came."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        text = self.socket.recv(4096).decode()
        return dict(line.split("=", 1) for line in text.splitlines())

    def wait(self, key: str) -> dict[str, str]:
        """Skips all messages but one with @key."""
        while (message := self.next()) is not None:
            if key in message:
                return message
        raise AssertionError(f"{key} was not said")

    def count(self, seconds: float, key: str = "WATCHDOG") -> int:
        """How many of those come in this time."""
        end = time.monotonic() + seconds
        found = 0
        while (left := end - time.monotonic()) > 0:
            message = self.next(left)
            found += message is not None and key in message
        return found

    def forget(self):
        """What came until now does not count."""
        while self.next(0) is not None:
            pass

    def check_alive(self):
        """From now on it is."""
        self.forget()
        for _ in range(3):
            self.wait("WATCHDOG")

    def env(self, **more) -> dict[str, str]:
        return {"NOTIFY_SOCKET": self.name, "WATCHDOG_USEC": str(int(PERIOD * 2e6)), **more}


def listener(tmp, kind="path") -> Listener:
    return Listener(f"@fencefs-test-{os.getpid()}" if kind == "abstract" else f"{tmp}/notify")


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_ready_alive_and_stopping(store, tmp, kind):
    hears = listener(tmp, kind)
    mnt = Mount(store, env=hears.env()).start()
    assert hears.next() == {"READY": "1", "STATUS": f"mounted at {mnt.path}"}
    for _ in range(5):
        assert hears.next() == {"WATCHDOG": "1"}
    mnt.daemon.signal(signal.SIGTERM)
    assert hears.wait("STOPPING")["STATUS"]
    assert mnt.daemon.wait() == 0 and not mnt.is_mounted()
    assert hears.count(0.01, "STOPPING") == 0, "said once"


def test_stopping_after_an_unmount(store, tmp):
    hears = listener(tmp)
    mnt = Mount(store, env=hears.env()).start()
    hears.wait("READY")
    mnt.unmount()
    hears.wait("STOPPING")


def test_ready_only_when_the_mount_answers(store, tmp):
    hears = listener(tmp)
    point = tmp / "mnt"
    point.mkdir()
    log = tmp / "log"
    words = ["strace", "-f", "-qq", "-o", log, "--trace=mount", "--inject=mount:delay_enter=1000s"]
    traced = subprocess.Popen(
        [*words, fencefs_program(), "-f", store.path, point],
        env=dict(os.environ, **hears.env()),
        start_new_session=True,
    )
    try:
        wait_until(lambda: log.exists() and is_held_up(log, "mount"), "the daemon to mount")
        assert hears.next(0.5) is None
    finally:
        (pid,) = kernel.children(traced.pid)
        traced.kill()  # what it traces goes on
        traced.wait()
    assert "READY" in hears.next()
    assert os.statvfs(point).f_namemax == 255 and kernel.mount_at(point).fstype == "fuse.fencefs"
    os.kill(pid, signal.SIGTERM)
    hears.wait("STOPPING")
    wait_until(lambda: kernel.mount_at(point) is None, "the unmount")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or kernel.states(pid) in ([], ["Z"]), "its end")


def test_a_status_is_one_line(store, tmp):
    """A mount point's name cannot say READY for us."""
    hears = listener(tmp)
    odd = tmp / "a\nMAINPID=1\nb"
    odd.mkdir()
    mnt = Mount(store, mountpoint=odd, env=hears.env()).start()
    assert hears.next() == {"READY": "1", "STATUS": f"mounted at {tmp}/a?MAINPID=1?b"}
    mnt.unmount()


def test_nobody_is_told_by_a_daemon_in_the_background(store, tmp):
    """It is not what the service manager has started."""
    hears = listener(tmp)
    point = tmp / "mnt"
    point.mkdir()
    run(fencefs_program(), store.path, point, env=hears.env())
    fence("umount", point)
    assert hears.next(0.01) is None


@pytest.mark.parametrize("pid", ["ours", "another's"])
def test_whose_watchdog_it_is(store, tmp, pid):
    """WATCHDOG_PID, as of a process that execs the daemon."""
    hears = listener(tmp)
    point = tmp / "mnt"
    point.mkdir()
    number = "$$" if pid == "ours" else "1"
    script = f'WATCHDOG_PID={number} exec "$0" -f "$1" "$2"'
    daemon = subprocess.Popen(
        ["sh", "-c", script, fencefs_program(), store.path, point], env=dict(os.environ, **hears.env())
    )
    try:
        hears.wait("READY")
        if pid == "ours":
            hears.wait("WATCHDOG")
        else:
            assert hears.count(10 * PERIOD) == 0
    finally:
        daemon.terminate()
        assert daemon.wait(30) == 0


@pytest.mark.parametrize("value", ["", "soon", "-5", "0", "99999999999999999999"])
def test_no_watchdog_by_nonsense(store, tmp, value):
    hears = listener(tmp)
    mnt = Mount(store, env=hears.env(WATCHDOG_USEC=value)).start()
    hears.wait("READY")
    assert hears.count(3 * PERIOD) == 0
    mnt.unmount()


@pytest.mark.parametrize("name", ["vsock:2:1234", "relative", "@", "/" + "x" * 200, "/no/such/socket"])
def test_nobody_listens(store, name):
    """A warning, and it serves all the same."""
    mnt = Mount(store, env={"NOTIFY_SOCKET": name}).start()
    wait_until(lambda: "cannot notify" in mnt.log(), "the warning")
    mnt.unmount()


def test_children_do_not_inherit(tmp):
    """An ordinary user's daemon starts fusermount3."""
    tmp.chmod(0o777)
    hears = listener(tmp)
    os.chmod(tmp / "notify", 0o777)
    fence("init", "store", cwd=tmp, uid=65534)
    run("mkdir", tmp / "mnt", uid=65534)
    words = strace(tmp / "log", "--trace=execve", "--no-abbrev", "--string-limit=4096")
    with kernel.fuse_device_for_all():  # under strace fusermount3 is not root and mounts nothing
        command = [fencefs_program(), "-f", tmp / "store", tmp / "mnt"]
        run(*words, *command, uid=65534, rc=1, env=hears.env(WATCHDOG_PID="1"))
    started = [line for line in (tmp / "log").read_text().splitlines() if 'fusermount3", [' in line]
    assert started and "LC_ALL" in started[0], started
    for line in started:
        assert "NOTIFY_SOCKET" not in line and "WATCHDOG" not in line, line


# -------------------------------------------------------------------- a watchdog that means something


def put(_me, mount):
    with Ctl(mount) as ctl:
        ctl.expect_ok("put", b"x", path="p", token=1, size=1)


def check_silent(hears: Listener):
    """What was on its way may still arrive."""
    hears.forget()
    assert hears.count(20 * PERIOD) <= 1


def test_no_sign_of_life_while_the_committer_is_stuck(store, tmp):
    hears = listener(tmp)
    mnt = Mount(store, env=hears.env()).start()
    hears.wait("WATCHDOG")
    with held_up(mnt, tmp / "log", "fdatasync") as log:
        client = spawn(put, mnt.path)
        wait_until(lambda: is_held_up(log, "fdatasync"), "the committer to wait for the disk")
        check_silent(hears)
    client.result()
    hears.wait("WATCHDOG")
    mnt.unmount()


def ask(me, mount):
    me.mark("asking")
    os.statvfs(mount)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_stuck_workers_mean(store, tmp, all_of_them):
    """One that is free answers everybody else, if slowly."""
    hears = listener(tmp)
    mnt = Mount(store, env=hears.env()).start()
    hears.wait("WATCHDOG")
    workers = min(max(4 * os.sysconf("SC_NPROCESSORS_ONLN"), 8), 32)
    with held_up(mnt, tmp / "log", "fstatfs") as log:
        clients = [spawn(ask, mnt.path) for _ in range(workers if all_of_them else workers - 1)]
        held = lambda: log.read_text().count("fstatfs(") >= len(clients)
        wait_until(held, "all of them to wait for the disk")
        if all_of_them:
            check_silent(hears)
        else:
            hears.check_alive()
    for client in clients:
        client.result()
    hears.check_alive()
    mnt.unmount()


def test_signs_of_life_while_only_a_seal_waits(store, tmp):
    """One slow file is no reason to kill a daemon that answers everybody else."""
    hears = listener(tmp)
    mnt = Mount(store, env=hears.env()).start()

    def commit(_me):
        with mnt.ctl() as ctl:
            session = ctl.expect_ok("open", path="big", token=1)["session"]
            (mnt.session(session) / "big").write_bytes(b"x" * 1_000_000)
            ctl.expect_ok("commit")

    with held_up(mnt, tmp / "log", "fsync") as log:
        client = spawn(commit)
        wait_until(lambda: is_held_up(log, "fsync"), "the seal to wait for the disk")
        hears.check_alive()
    client.result()
    mnt.unmount()


# ----------------------------------------------------------------------- as systemd would run the service


class Service:
    """fencefs@INSTANCE.service of a scratch root: its own lines, an empty environment."""

    def __init__(self, root: Path, mountpoint: Path, settings: dict[str, str], hears: Listener):
        self.unit = read_unit(unit_dir(root) / "fencefs@.service")["Service"]
        self.root = root
        self.instance = run("systemd-escape", "--path", mountpoint).stdout.strip()
        self.settings = dict([self.unit["Environment"].split("=", 1)]) | settings
        self.hears = hears
        self.process = None

    def expand(self, word: str) -> str:
        if word == "%f":
            return run("systemd-escape", "--unescape", "--path", self.instance).stdout.removesuffix("\n")
        assert "%" not in word.replace("%i", ""), word
        word = re.sub(r"\$\{(\w+)\}", lambda m: self.settings[m[1]], word)
        return word.replace("%i", self.instance)

    def run_line(self, line: str) -> subprocess.Popen:
        program, *words = map(self.expand, line.split())
        return subprocess.Popen(
            [str(self.root) + program, *words],
            env=self.hears.env() | self.settings,
            cwd="/",
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self):
        if "ExecStartPre" in self.unit:
            assert self.run_line(self.unit["ExecStartPre"]).wait(30) == 0
        self.process = self.run_line(self.unit["ExecStart"])
        while (message := self.hears.next()) is not None and "READY" not in message:
            pass
        assert message, f"it did not start: {self.process.poll()}"

    def stop(self):
        """No ExecStop: SIGTERM."""
        assert "ExecStop" not in self.unit
        self.process.terminate()
        assert self.process.wait(30) == 0


@contextlib.contextmanager
def service(tmp, store_name="store", **settings):
    fence("init", tmp / store_name)
    point = tmp / "a mount, odd"
    point.mkdir()
    one = Service(install(tmp), point, {"STORE": f"{tmp}/{store_name}", **settings}, listener(tmp))
    one.start()
    try:
        yield one, point
    finally:
        if one.process.poll() is None:
            one.stop()


def test_a_killed_service_heals_when_it_is_started_again(tmp):
    """Also with files open, which is how it is when a daemon dies."""
    with service(tmp, "a store") as (one, point):
        fence("put", "-t", "1", "-", point / "f", input="kept")
        for _ in range(3):
            with open(point / "f") as file:
                one.process.kill()
                one.process.wait()
                try:
                    os.statvfs(point)
                    raise AssertionError("a dead mount answers")
                except OSError as error:
                    assert error.errno == 107, error  # ENOTCONN
                one.start()
            assert (point / "f").read_text() == "kept"
            assert len(mounts_beneath(tmp)) == 1
        one.stop()
        assert not mounts_beneath(tmp)


def test_options_of_the_service(tmp):
    with service(tmp, OPTIONS="passthrough=off,noexec") as (_, point):
        assert "noexec" in kernel.mount_at(point).options
        with Ctl(point) as ctl:
            assert "passthrough" not in ctl.expect_ok("hello").get("features", "").split(",")


def test_a_service_that_cannot_start_is_tried_again(tmp):
    """The store may come later; a wrong option will not."""
    (tmp / "mnt").mkdir()
    root = install(tmp)
    hears = listener(tmp)
    for settings, status in (({"STORE": f"{tmp}/none"}, 1), ({"STORE": f"{tmp}/none", "OPTIONS": "nonsense"}, 2)):
        one = Service(root, tmp / "mnt", settings, hears)
        assert one.run_line(one.unit["ExecStart"]).wait(30) == status
        assert (one.unit["RestartPreventExitStatus"] == str(status)) == (status == 2)
    assert hears.next(0.01) is None


def test_gc_and_scrub_of_the_service(tmp):
    """Their lines do their work on its mount."""
    with service(tmp) as (one, point):
        fence("put", "-t", "1", "-", point / "f", input="kept")
        (tmp / "state/fencefs").mkdir(parents=True)
        for name in ("gc", "scrub"):
            unit = read_unit(unit_dir(one.root) / f"fencefs-{name}@.service")["Service"]
            line = unit["ExecStart"].replace("%S", f"{tmp}/state")
            assert one.run_line(line).wait(30) == 0
        assert (point / "f").read_text() == "kept"
