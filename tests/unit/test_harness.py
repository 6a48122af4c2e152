# SPDX-License-Identifier: MIT
"""The harness, tested without fencefs: what it must notice, and what it must survive."""

import contextlib
import errno
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel, mount, paths
from fenceharness.ctl import parse_reply

# Tests that go wrong, for a pytest of their own.
BAD = """
import os, time
import pytest
from fencelib.hung import hung_mount

def test_good(tmp):
    (tmp / "file").write_text("x")

def test_raises():
    print("said before")
    raise ValueError("a reason")

def test_dies():
    os._exit(3)

def test_skips():
    pytest.skip("not on a Tuesday")

@pytest.mark.skipif(True, reason="never")
def test_skipped_by_mark():
    pass

@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize("b", ["x", "y"])
def test_params(a, b):
    assert (a, b) != (2, "y")

@pytest.mark.timeout(2)
def test_sleeps():
    time.sleep(1000)

def test_waits():
    time.sleep(50)

@pytest.mark.timeout(2)
def test_hangs_in_a_mount(tmp):
    os.stat(hung_mount(tmp))

def test_leaves_a_mount(tmp):
    hung_mount(tmp)

def test_leaves_a_process(tmp):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    with open(os.environ["FENCE_TEST_DIR"] + "/pid", "w") as file:
        file.write(str(pid))
"""

HARNESS = source_dir() / "tests/harness"
CONTROL = re.compile("PYTEST_|FENCE_|CI$")


@contextlib.contextmanager
def running_bad(tmp: Path, *options, files=None, workers=0, **env):
    """A pytest that runs @files, for as long as the block lasts."""
    tests = tmp / "tests"
    for name, text in (files or {"fs/test_bad.py": BAD}).items():
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).write_text(text)
    (tests / "pytest.ini").write_text("[pytest]\naddopts = --capture=no --import-mode=importlib -rA\n")
    (tmp / "scratch").mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-B", "-m", "pytest", "-p", "fenceharness.plugin", "-p", "no:cacheprovider"]
        + ["-n", str(workers), "--dist", "loadgroup", *options],
        cwd=tests,
        env={name: value for name, value in os.environ.items() if not CONTROL.match(name)}
        | {"PYTHONPATH": str(HARNESS), "FENCE_TEST_DIR": str(tmp / "scratch"), "FENCE_BUILD": str(build_dir())}
        | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def run_bad(tmp: Path, *options, **rest):
    """Runs it to its end: its exit status, what it printed, the verdicts by test, and the seconds it took."""
    start = time.monotonic()
    with running_bad(tmp, *options, **rest) as process:
        out, errors = process.communicate()
    took = time.monotonic() - start
    assert not errors, errors
    assert not kernel.mounts_beneath(tmp), kernel.mounts_beneath(tmp)
    verdicts = {}
    for word, name in re.findall(r"^(PASSED|FAILED|ERROR) fs/test_bad.py::(\S+)", out, re.M):
        verdicts[name] = word.lower()
    return process.returncode, out, verdicts, took


def last_line(out: str) -> str:
    return out.splitlines()[-1]


@pytest.mark.parametrize("workers", [0, 2])
def test_verdicts(tmp, workers):
    rc, out, verdicts, _ = run_bad(tmp, "-k", "good or raises or dies or skip or params", workers=workers)
    assert rc == 1 and last_line(out) == "4 passed, 3 failed, 2 skipped", out
    assert verdicts == {
        "test_good": "passed",
        "test_raises": "failed",
        "test_dies": "failed",
        "test_params[x-1]": "passed",
        "test_params[x-2]": "passed",
        "test_params[y-1]": "passed",
        "test_params[y-2]": "failed",
    }, verdicts
    assert "said before" in out and "ValueError: a reason" in out, out
    assert "the test's process died" in out and "not on a Tuesday" in out and "never" in out, out
    assert list((tmp / "scratch").iterdir()) == []


def test_success_is_zero(tmp):
    assert run_bad(tmp, "bad:good")[0] == 0
    assert run_bad(tmp, "bad:nosuch")[0] == pytest.ExitCode.NO_TESTS_COLLECTED


def test_timeout(tmp):
    rc, out, verdicts, took = run_bad(tmp, "-k", "sleeps")
    assert rc == 1 and verdicts == {"test_sleeps": "failed"} and "timeout: still running after 2 s" in out, out
    assert took < 20


def test_timeout_in_a_hung_mount(tmp):
    rc, out, verdicts, took = run_bad(tmp, "-k", "hangs_in_a_mount")
    assert rc == 1 and verdicts == {"test_hangs_in_a_mount": "failed"} and "timeout:" in out, out
    assert "fuse" in out and "wchan=" in out, out
    assert took < 30


@pytest.mark.parametrize("workers", [0, 1])
def test_leftovers(tmp, workers):
    rc, out, _, _ = run_bad(tmp, "-k", "leaves_a_mount", workers=workers)
    assert rc == 1 and "left behind" in out and "mount fuse at" in out, out
    rc, out, _, _ = run_bad(tmp, "-k", "leaves_a_process", workers=workers)
    assert rc == 0, out
    assert not kernel.states(int((tmp / "scratch/pid").read_text()))


@pytest.mark.parametrize("workers", [0, 1])
def test_told_to_end(tmp, workers):
    """What the running test has is taken away."""
    with running_bad(tmp, "-k", "waits", workers=workers) as process:
        wait_until(lambda: list((tmp / "scratch").glob("fence-test_waits-*")), "the test to begin")
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:  # told before the test's process was there to be waited for
            process.terminate()
        assert process.wait(30) == pytest.ExitCode.INTERRUPTED
    wait_until(lambda: not list((tmp / "scratch").iterdir()), "its directory to go")


def test_keep(tmp):
    rc, out, _, _ = run_bad(tmp, "--keep", "-k", "good or raises")
    kept = dict(re.findall(r"^fs/test_bad.py::(\S+): (/\S+)$", out, re.M))
    assert rc == 1 and set(kept) == {"test_good", "test_raises"}, out
    assert (Path(kept["test_good"]) / "tmp/file").read_text() == "x"


def test_skips_in_ci(tmp):
    files = {"fs/test_bad.py": BAD, "may-skip": "# why\nfs/test_bad.py::test_skips  it is Monday\n"}
    rc, out, verdicts, _ = run_bad(tmp, "-k", "skip", files=files, CI="true")
    assert rc == 1 and last_line(out) == "0 passed, 1 failed, 1 skipped", out
    assert verdicts == {"test_skipped_by_mark": "failed"} and "skipped in CI" in out and "never" in out, out


SERIAL = """
import os, time
import pytest

@pytest.mark.serial("one at a time")
@pytest.mark.parametrize("number", range(8))
def test_alone(number):
    directory = os.environ["FENCE_TEST_DIR"] + "/taken"
    os.mkdir(directory)
    time.sleep(0.05)  # so that another would be met
    os.rmdir(directory)
"""


def test_serial(tmp):
    rc, out, _, _ = run_bad(tmp, files={"fs/test_serial.py": SERIAL}, workers=2)
    assert rc == 0 and last_line(out) == "8 passed, 0 failed, 0 skipped", out


@pytest.mark.timeout(120)
def test_names(tmp):
    files = {"fs/test_one_two.py": "def test_a(): pass\ndef test_b(): pass\n", "cli/test_one.py": "def test_a(): pass\n"}
    for words, count in {
        "one-two": 2,
        "one*": 3,
        "fs/one*:a": 1,
        "one:test_a one_two:b": 2,
        "--suite=cli": 1,
        "fs/test_one_two.py::test_b": 1,
    }.items():
        rc, out, _, _ = run_bad(tmp, *words.split(), files=files)
        assert rc == 0 and last_line(out) == f"{count} passed, 0 failed, 0 skipped", (words, out)


def test_programs_that_others_cannot_reach(tmp, monkeypatch):
    for name in (*paths.PROGRAMS, paths.SUPPRESSIONS):
        (tmp / "closed/build" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp / "closed/build" / name).symlink_to("/bin/true")
    monkeypatch.setenv("FENCE_BUILD", str(tmp / "closed/build"))
    monkeypatch.delenv("FENCE_PROGRAMS", raising=False)
    tmp.chmod(0o755)
    (tmp / "closed").chmod(0o700)
    with paths.programs_for_all():
        for name in paths.PROGRAMS:
            run(paths.program(name), uid=1234)
    assert paths.program("tools/fence").is_relative_to(tmp / "closed")


def test_a_chroot_that_is_no_mount_point(tmp):
    """mountinfo has no line for its root."""
    root = tmp / "root"
    for name in ("usr", "proc", "mnt", "var/tmp"):
        (root / name).mkdir(parents=True)
    for name in os.listdir("/"):
        if os.path.islink(f"/{name}") and os.path.isdir(f"/{name}"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
    for name in ("usr", "proc"):
        run("mount", "--bind", f"/{name}", root / name)

    def inside(_me):
        os.chroot(root)
        os.environ["FENCE_TEST_DIR"] = "/var/tmp"
        return str(paths.scratch_root.__wrapped__())

    try:
        assert spawn(inside).result() == "/var/tmp"
        script = "mount -t tmpfs none /mnt && touch /mnt/x && umount /mnt"
        run("chroot", root, *own_mounts(keep="/tmp"), "sh", "-ec", script)
    finally:
        for one in reversed(mounts_beneath(root)):
            run("umount", "--lazy", one.path)


def test_child_stops_and_continues(tmp):
    def writer(me, path):
        with open(path, "w", buffering=1) as file:
            file.write("half")
            me.stop("half written")
            file.write(", whole")
            me.pause("whole")
        return os.getpid()

    child = spawn(writer, tmp / "f").wait_stopped("half written")
    assert set(kernel.states(child.pid)) == {"T"}
    child.cont()
    child.wait_mark("whole").resume()
    assert child.result() == child.pid
    assert (tmp / "f").read_text() == "half, whole"


def test_child_fails():
    def fails(_me):
        raise KeyError("lost")

    def dies(_me):
        os.kill(os.getpid(), 9)

    for function, text in ((fails, "KeyError: 'lost'"), (dies, "wait status -9")):
        try:
            spawn(function).result()
        except ChildFailed as error:
            assert text in str(error), error
        else:
            raise AssertionError("no ChildFailed")


def test_child_has_no_descriptors_of_ours(tmp):
    def fds(_me, number):
        try:
            os.fstat(number)
        except OSError as error:
            return error.errno
        return 0

    with open(tmp / "f", "w", encoding="ascii") as file:
        assert spawn(fds, file.fileno()).result() == errno.EBADF
        assert spawn(fds, file.fileno(), keep_fds=[file.fileno()]).result() == 0


def test_child_as_another_user():
    def who(_me):
        return os.getuid(), os.getgid(), os.getgroups()

    assert spawn(who, uid=1234, groups=[77]).result() == (1234, 1234, [77])


def test_stop_process():
    child = subprocess.Popen(["sleep", "1000"])
    stop_process(child.pid)
    assert set(kernel.states(child.pid)) == {"T"}
    continue_process(child.pid)
    wait_until(lambda: set(kernel.states(child.pid)) == {"S"}, "sleep to go on")
    child.kill()
    child.wait()


@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_loop_fs(fstype):
    with loop_fs(fstype, "320M") as disk:
        assert kernel.mount_of(disk.path).fstype == fstype
        (disk / "kept").write_text("x")
        run("sync", "-f", disk.path)
        disk.fill()
        try:
            (disk / "more").write_bytes(b"x" * 1000000)
            raise AssertionError("there was space left")
        except OSError as error:
            assert error.errno == errno.ENOSPC
        disk.free()
        (disk / "more").write_bytes(b"x" * 1000000)
        (disk / "lost").write_text("x")
        disk.shutdown()
        try:
            (disk / "dead").write_text("x")
            raise AssertionError("it still takes writes")
        except OSError as error:
            assert error.errno == errno.EIO, error
        disk.remount()
        assert (disk / "kept").read_text() == "x"
        assert not (disk / "lost").exists()
        disk.unmount()
        disk.check()
        device = disk.device
        disk.mount()
    assert device not in run("losetup", "--list", "--noheadings", "--output", "NAME").stdout.split()


def test_fill_leaves_what_was_asked():
    with loop_fs("ext4", "64M") as disk:
        disk.fill(leave=8 << 20)
        assert 7 << 20 < disk.free_bytes() < 10 << 20, disk.free_bytes()


def test_reply_grammar():
    reply = parse_reply(b"err ESTALE token=41 highest=42 owner=a%20b%25 # late token\n", errno.ESTALE)
    assert not reply.ok and reply.errno_name == reply.write_errno_name == "ESTALE"
    assert reply.fields == {"token": "41", "highest": "42", "owner": "a b%"}
    assert reply.text == "late token" and reply.int("highest") == 42
    assert parse_reply(b"ok\n").ok
    assert parse_reply("ok path=\u00e4\n".encode())["path"] == "\u00e4"
    for bad in (
        b"",
        b"ok",
        b"yes\n",
        b"err\n",
        b"err stale\n",
        b"err ENOSUCHNAME\n",
        b"ok x\n",
        b"ok  a=1\n",
        b"ok a=1 a=2\n",
        b"ok a=%4\n",
        b"ok A=1\n",
    ):
        try:
            parse_reply(bad)
        except ProtocolError:
            continue
        raise AssertionError(f"accepted {bad!r}")


def test_quote():
    assert quote("a b\t\n\r%\u00e4") == "a%20b%09%0A%0D%25\u00e4"
    assert unquote(quote(b"\xff /x".decode("utf-8", "surrogateescape"))) == "\udcff /x"


def test_ctl_conversation():
    ours, theirs = socket.socketpair()

    def server(_me, end):
        end = socket.socket(fileno=end)
        lines = b""
        while lines.count(b"\n") < 3:
            lines += end.recv(1000)
        end.sendall(b"ok session=1\nerr ESTALE token=41 # late\nok")
        end.sendall(b" revision=7\n")
        return lines

    child = spawn(server, theirs.fileno(), keep_fds=[theirs.fileno()])
    theirs.close()
    with Ctl(fd=ours.detach()) as ctl:
        assert ctl.send("open", path="a b", token=41) is None
        assert ctl.write(b"commit\nabort\n") is None
        assert ctl.reply()["session"] == "1"
        assert ctl.reply().errno_name == "ESTALE"
        assert ctl.reply().int("revision") == 7
        assert child.result() == b"open path=a%20b token=41\ncommit\nabort\n"
        assert ctl.read_line() == b""


def test_log_lines_that_fail_a_test():
    class Log(mount.Mount):
        def __init__(self, text):
            self._allowed = []
            self.text = text

        def log(self):
            return self.text

    for text in ("x: Assertion `a' failed", "ERROR: AddressSanitizer", "a.c:1: runtime error: shift"):
        try:
            Log(f"started\n{text}\n").check_log()
        except AssertionError as error:
            assert text in str(error)
        else:
            raise AssertionError(f"missed {text!r}")
    paths.set_private_dir(Path("/scratch/fence-test_no_leak-1"))
    Log(f"serving {paths.private_dir()}/store").check_log()
    allowed = Log("ERROR expected")
    allowed.allow_log("expected")
    allowed.check_log()
