# SPDX-License-Identifier: MIT
"""fence run: the job it starts, the lease it keeps, and who is refused when it was too late."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time

import pytest
from fenceharness import *
from fenceharness.paths import program_env
from fenceharness.process import wait_stopped


class Job:
    """A `fence run` in the background, in a process group of its own as a shell's job is."""

    def __init__(self, *args, **popen):
        self.process = subprocess.Popen(
            [fence_program(), "run", *map(str, args)],
            stdin=popen.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=program_env(popen.pop("env", None)),
            process_group=0,
            text=True,
            **popen,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, sig: int):
        self.process.send_signal(sig)

    def end(self, *codes, seconds: float = 30) -> Result:
        """Waits for the end; the status must be one of @codes."""
        out, err = self.process.communicate(timeout=seconds * float(os.environ.get("FENCE_TIME_SCALE") or 1))
        rc = self.process.returncode
        assert rc in codes, f"ended with {rc}, not {codes}\nstdout: {out}\nstderr: {err}"
        return Result(rc, out, err)


class Gate:
    """A FIFO: a job that writes to it waits here until the test reads, and the other way round."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    def __str__(self):
        return str(self.path)

    def read(self, seconds: float = 20) -> str:
        fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            text = b""
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if not select.select([fd], [], [], 0.1)[0]:
                    continue
                part = os.read(fd, 4096)
                if not part and text:
                    return text.decode().strip()
                text += part
                if not part:
                    time.sleep(0.005)  # nobody has opened it yet
            raise AssertionError(f"nobody wrote to {self.path}")
        finally:
            os.close(fd)

    def write(self, text: str = "go\n"):
        def opened():
            with contextlib.suppress(OSError):
                return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)

        fd = wait_until(opened, f"a reader of {self.path}")
        os.write(fd, text.encode())
        os.close(fd)


def directory(mnt, name: str = "p") -> str:
    """With "/" at its end: where it is not there, it is made."""
    return f"{mnt.path}/{name}/"


def leases(mnt) -> list[dict]:
    return fence("leases", "--json", mnt.path).json()


def rejects(mnt) -> list[dict]:
    return fence("rejects", "--json", mnt.path).json()


def saved(mnt, reject, tmp) -> str:
    fence("rejects", "-m", mnt.path, "--force", "--save", reject["id"], tmp / "saved")
    return (tmp / "saved").read_text()


def publish_b(mnt):
    """B waits for the lease and publishes; A's is not renewed any more."""
    fence("run", "--wait", "30s", "-o", "job-b", directory(mnt), "--", "sh", "-c", "echo B >out")
    assert (mnt / "p/out").read_text() == "B\n"


# ------------------------------------------------------------------------------------- the classic


@pytest.mark.parametrize("what", ["job", "run", "both"])
@pytest.mark.timeout(120)
def test_paused_in_the_middle(mnt, tmp, what):
    """A is paused after it began its output; B takes over; A goes on, and is refused."""
    ready, go = Gate(tmp / "ready"), Gate(tmp / "go")
    script = f'echo "half of A" >out; echo $$ >{ready}; read x <{go}; echo "all of A" >out'
    a = Job("--ttl", "1s", "-o", "job-a", directory(mnt), "--", "sh", "-c", script)
    job = int(ready.read())
    if what != "run":
        stop_process(job)
    if what != "job":
        stop_process(a.pid)
    publish_b(mnt)
    if what != "run":
        continue_process(job)
    if what != "job":
        continue_process(a.pid)
    result = a.end(13, 14)
    assert "stale token 1 < 2 (set" in result.err and "by job-b at " in result.err
    assert "fence rejects" in result.err
    assert (mnt / "p/out").read_text() == "B\n"
    (lost,) = [r for r in rejects(mnt) if r["path"] == "p/out"]
    assert (lost["token"], lost["owner"], lost["highest"]) == ("1", "job-a", "2")
    assert saved(mnt, lost, tmp) == "half of A\n"
    assert leases(mnt) == []


@pytest.mark.timeout(120)
def test_frozen_between_its_last_write_and_its_commit(mnt, tmp):
    """The job is done, and stops fence run with its last act."""
    a = Job("--ttl", "1s", "-o", "job-a", directory(mnt), "--", "sh", "-c", "echo A >out; kill -STOP $PPID")
    wait_stopped(a.pid)
    publish_b(mnt)
    continue_process(a.pid)
    result = a.end(13)
    assert re.fullmatch(
        rf"fence: run {re.escape(str(mnt / 'p/'))}/: stale token 1 < 2 \(set by job-b at .*\); nothing was "
        rf"published; what the job wrote is kept: fence rejects {re.escape(str(mnt.path))}\n",
        result.err,
    ), result.err
    assert (mnt / "p/out").read_text() == "B\n"
    (lost,) = [r for r in rejects(mnt) if r["path"] == "p/out"]
    assert saved(mnt, lost, tmp) == "A\n"


def test_paused_and_not_overtaken(mnt, tmp):
    """Nobody came: what is lost is only the lease. With --on-loss ignore the commit decides, for the job."""
    script = "echo A >out; kill -STOP $PPID"
    a = Job("--ttl", "300ms", "--on-loss", "ignore", directory(mnt), "--", "sh", "-c", script)
    wait_stopped(a.pid)
    wait_until(lambda: not leases(mnt), "the lease to expire")
    continue_process(a.pid)
    a.end(0)
    assert (mnt / "p/out").read_text() == "A\n"


# ------------------------------------------------------------------------------- a lease that is lost


def test_renewal(mnt):
    """Three times as long as its lease."""
    fence("run", "--ttl", "1500ms", directory(mnt), "--", "sh", "-c", "sleep 5; echo A >out")
    assert (mnt / "p/out").read_text() == "A\n"
    assert mnt.store.query("SELECT count(*) FROM event WHERE kind = 4") == [(1,)]


def test_lost_and_terminated(mnt, tmp):
    ready = Gate(tmp / "ready")
    script = f'trap "echo ended; exit 0" TERM; echo A >out; echo >{ready}; while :; do sleep 0.05; done'
    a = Job("--ttl", "1500ms", directory(mnt), "--", "sh", "-c", script)
    ready.read()
    fence("release", "--force", mnt / "p")
    result = a.end(14)
    assert result.out == "ended\n"
    assert f"fence: run {mnt / 'p/'}/: lease lost: it has expired or was taken away; the job is being stopped\n" in result.err
    assert not (mnt / "p").exists()


def test_lost_and_killed(mnt, tmp):
    ready = Gate(tmp / "ready")
    script = f'trap "" TERM; echo >{ready}; while :; do sleep 0.05; done'
    a = Job("--ttl", "1500ms", "--kill-after", "200ms", directory(mnt), "--", "sh", "-c", script)
    ready.read()
    fence("release", "--force", mnt / "p")
    a.end(14)


def test_lost_and_ignored(mnt, tmp):
    ready, go = Gate(tmp / "ready"), Gate(tmp / "go")
    script = f"echo A >out; echo >{ready}; read x <{go}"
    a = Job("--ttl", "1500ms", "--on-loss", "ignore", directory(mnt), "--", "sh", "-c", script)
    ready.read()
    fence("claim", "-t", 77, "-o", "job-b", mnt / "p")
    time.sleep(0.5)  # it has noticed, or not: the outcome is the same
    go.write()
    result = a.end(13)
    assert "stale token 1 < 77 (set by job-b at " in result.err
    assert [saved(mnt, r, tmp) for r in rejects(mnt) if r["path"] == "p/out"] == ["A\n"]


def test_overtaken_under_a_token_from_outside(mnt, tmp):
    ready = Gate(tmp / "ready")
    script = f"echo A >out; echo >{ready}; sleep 60"
    a = Job("--token", 41, "--ttl", "1500ms", directory(mnt), "--", "sh", "-c", script)
    ready.read()
    fence("claim", "-t", 42, "-o", "job-b", mnt / "p")
    result = a.end(14)
    assert "path lost: stale token 41 < 42 (set by job-b at " in result.err
    assert [saved(mnt, r, tmp) for r in rejects(mnt) if r["path"] == "p/out"] == ["A\n"]


def test_daemon_killed(mnt, tmp):
    ready = Gate(tmp / "ready")
    a = Job("--ttl", "1500ms", directory(mnt), "--", "sh", "-c", f"echo >{ready}; sleep 60")
    ready.read()
    mnt.kill()
    result = a.end(14)
    assert "the daemon of this mount is gone" in result.err
    mnt.remount()
    fence("run", "--wait", "20s", directory(mnt), "--", "touch", "x")


def test_killed_itself(mnt, tmp):
    """kill -9 of fence run: the lease is free at once, nothing is published, the job is told."""
    ready, told = Gate(tmp / "ready"), Gate(tmp / "told")
    script = (
        f'trap "echo told >{told}; exit 1" TERM; echo A >out; echo >{ready}; while :; do sleep 0.05; done'
    )
    a = Job("--ttl", "1h", directory(mnt), "--", "sh", "-c", script)
    ready.read()
    a.send(signal.SIGKILL)
    a.process.wait()
    fence("run", "--wait", "20s", directory(mnt), "--", "sh", "-c", "test ! -e out")
    assert told.read() == "told"


# --------------------------------------------------------------------------------------------- signals


@pytest.mark.parametrize("sig", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
def test_signals_reach_the_job(mnt, tmp, sig):
    ready = Gate(tmp / "ready")
    script = f'trap "echo {sig} >out; exit 3" {sig}; echo >{ready}; while :; do sleep 0.05; done'
    a = Job(directory(mnt), "--", "sh", "-c", script)
    ready.read()
    a.send(getattr(signal, f"SIG{sig}"))
    a.end(3)
    assert not (mnt / "p").exists()


def test_a_job_that_ends_well_on_a_signal_is_published(mnt, tmp):
    ready = Gate(tmp / "ready")
    script = f'trap "echo ended >out; exit 0" TERM; echo >{ready}; while :; do sleep 0.05; done'
    a = Job(directory(mnt), "--", "sh", "-c", script)
    ready.read()
    a.send(signal.SIGTERM)
    a.end(0)
    assert (mnt / "p/out").read_text() == "ended\n"


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_death_by_a_signal(mnt, sig):
    fence("run", directory(mnt), "--", "sh", "-c", f"echo A >out; kill -{int(sig)} $$", rc=128 + sig)
    assert not (mnt / "p").exists() and leases(mnt) == []


def test_nohup_is_kept(mnt, tmp):
    ready, go = Gate(tmp / "ready"), Gate(tmp / "go")
    a = Job(
        directory(mnt), "--", "sh", "-c", f"echo >{ready}; read x <{go}; echo A >out",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    ready.read()
    a.send(signal.SIGHUP)
    go.write()
    a.end(0)
    assert (mnt / "p/out").read_text() == "A\n"


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_while_it_waits(mnt, sig):
    token = fence("acquire", "--ttl", "1h", mnt / "p").out.strip()
    a = Job(directory(mnt), "--", "touch", mnt.path.parent / "it-ran")
    wait_until(lambda: leases(mnt)[0]["waiters"] == 1, "it to wait")
    a.send(sig)
    a.end(-sig)
    wait_until(lambda: leases(mnt)[0]["waiters"] == 0, "it to be out of the queue")
    fence("release", "-t", token, mnt / "p")
    assert not (mnt.path.parent / "it-ran").exists()


def test_stop_and_continue(mnt, tmp):
    """SIGTSTP stops the job and then run, for the shell to see; SIGCONT goes the same way."""
    ready, go = Gate(tmp / "ready"), Gate(tmp / "go")
    a = Job(directory(mnt), "--", "sh", "-c", f"echo $$ >{ready}; read x <{go}; echo A >out")
    job = int(ready.read())
    a.send(signal.SIGTSTP)
    wait_stopped(job)
    wait_stopped(a.pid)
    assert os.waitid(os.P_PID, a.pid, os.WSTOPPED | os.WNOWAIT).si_status in (signal.SIGTSTP, signal.SIGSTOP)
    a.send(signal.SIGCONT)
    go.write()
    a.end(0)
    assert (mnt / "p/out").read_text() == "A\n"


def test_on_a_terminal(mnt):
    """The job reads from the terminal; the one who called reads from it afterwards."""
    job = 'read x; echo "job: $x"; echo "$x" >out'
    script = f"'{fence_program()}' run '{mnt.path}/p/' -- sh -c '{job}'; read y; echo \"caller: $y\""
    t = Terminal("sh", "-c", script)
    t.type("one\n")
    t.expect("job: one")
    t.type("two\n")
    t.expect("caller: two")
    assert t.end() == 0
    assert (mnt / "p/out").read_text() == "one\n"


def test_ctrl_c_on_a_terminal(mnt):
    """It hits the job; run, which is not in the foreground, lives to give its status.

    The job is no shell: one that gets SIGINT before it forks waits for its child to end first.
    """
    job = """perl -e '$| = 1; print "begun"; sleep 60'"""
    script = f"""trap : INT; '{fence_program()}' run '{mnt.path}/p/' -- {job}; echo "status $?" """
    t = Terminal("sh", "-c", script)
    t.expect("begun")
    t.type("\x03")
    t.expect("status 130")
    t.end()
    assert leases(mnt) == []


def stopped_again(t: Terminal) -> bool:
    t.type("echo st''ate; jobs; echo e''nd\n")
    t.expect("state")
    t.expect("end")
    return "Stopped" in t.passed


def test_job_control(mnt, tmp):
    """Ctrl-Z, bg, fg in an interactive shell."""
    t = Terminal("bash", "--norc", "--noprofile", "-i", env={"PS1": "ready> ", "TERM": "dumb"})
    t.expect("ready> ")
    t.type(f"'{fence_program()}' run '{mnt.path}/p/' -- sh -c 'echo be''gun; read x; echo \"got $x\" >out'\n")
    t.expect("begun")
    t.type("\x1a")
    t.expect("Stopped")
    t.type("bg\n")
    wait_until(lambda: stopped_again(t), "it to stop: the terminal that it reads from is not its own")
    t.type("fg\n")
    t.expect("fence")
    t.type("hello\n")
    t.type("echo do''ne $?\n")
    t.expect("done 0")
    t.type("exit\n")
    t.end()
    assert (mnt / "p/out").read_text() == "got hello\n"


# -------------------------------------------------------------------------------- what the job is given


def environment(text: str) -> dict:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def job_environment(mnt, path, *options) -> dict:
    out = fence("run", *options, "-o", "job a", path, "--", "sh", "-c", 'env; echo "HERE=$(/bin/pwd)"').out
    env = environment(out)
    assert env["PWD"] == env["HERE"]
    assert env["FENCE_DIR"] == f"{mnt.path}/.fence/sessions/{env['FENCE_SESSION']}"
    assert env["FENCE_OWNER"] == "job a"
    return env


def test_a_directory(mnt):
    fence("run", directory(mnt, "d"), "--", "touch", "x")  # "/" at the end and not there: made
    assert (mnt / "d/x").is_file()
    for path in (mnt / "d", f"{mnt.path}/d/"):
        env = job_environment(mnt, path)
        assert env["PWD"] == env["FENCE_PATH"] == env["FENCE_DIR"] + "/d"
    env = job_environment(mnt, mnt.path)
    assert env["PWD"] == env["FENCE_PATH"] == env["FENCE_DIR"]
    assert env["FENCE_TOKEN"] == "4"


def test_a_directory_to_be_made(mnt):
    env = job_environment(mnt, f"{mnt.path}/new/")
    assert env["PWD"] == env["FENCE_PATH"] == env["FENCE_DIR"] + "/new"
    assert (mnt / "new").is_dir()
    missing = fence("run", f"{mnt.path}/a/b/c/", "--", "true", rc=125)
    assert "is missing" in missing.err
    fence("run", "--parents", f"{mnt.path}/a/b/c/", "--", "touch", "x")
    assert (mnt / "a/b/c/x").is_file()
    assert fence("show", "--json", mnt / "a").json().get("highest") is None


def test_a_file(mnt):
    for n in range(2):  # not there, and there
        env = job_environment(mnt, mnt / "f")
        assert env["PWD"] == env["FENCE_DIR"] and env["FENCE_PATH"] == env["FENCE_DIR"] + "/f"
        fence("run", mnt / "f", "--", "sh", "-c", f'echo {n} >>"$FENCE_PATH"')
    assert (mnt / "f").read_text() == "0\n1\n"
    fence("run", "--parents", mnt / "x/y/f", "--", "sh", "-c", "echo new >f")
    assert (mnt / "x/y/f").read_text() == "new\n"
    outside = fence("run", mnt / "f", "--", "sh", "-c", "echo >g", rc=None)
    assert outside.rc not in (0, 125) and "Read-only file system" in outside.err


def test_relative_paths_and_commands(mnt, tmp):
    """PATH and CMD are the caller's, what CMD is given is the job's."""
    (tmp / "job.sh").write_text('#!/bin/sh\necho "$1" >out\n')
    (tmp / "bare").write_text("echo bare >bare\n")  # without "#!"
    for name in ("job.sh", "bare"):
        os.chmod(tmp / name, 0o755)
    os.symlink(mnt.path, tmp / "link")
    fence("run", "link/p/", "--", "./job.sh", "word", cwd=tmp)
    fence("run", "link/p/", "--", "./bare", cwd=tmp)
    fence("run", "link/p/", "--", "job.sh", "again", cwd=tmp, env={"PATH": f":{os.environ['PATH']}"})
    assert sorted(os.listdir(mnt / "p")) == ["bare", "out"]
    assert (mnt / "p/out").read_text() == "again\n"
    fence("run", ".", "--", "sh", "-c", "rm bare", cwd=mnt / "p")
    assert os.listdir(mnt / "p") == ["out"]


def test_input_output_and_descriptors(mnt):
    script = "cat; echo err >&2; ls -l /proc/self/fd"
    result = fence("run", directory(mnt), "--", "sh", "-c", script, input="from stdin\n")
    assert result.out.startswith("from stdin\n") and result.err == "err\n"
    open_there = re.findall(r" (\d+) -> (\S+)", result.out)
    assert {int(fd) for fd, _ in open_there} <= {0, 1, 2, 3}, result.out
    assert not [to for _, to in open_there if ".fence/ctl" in to]


def test_arguments_pass_unchanged(mnt):
    words = ["-x", "--", "--wait", "a b", "", "ü"]
    out = fence("run", directory(mnt), "--", "printf", "[%s]", *words).out
    assert out == "".join(f"[{w}]" for w in words)


def test_own_process_group(mnt):
    out = fence("run", directory(mnt), "--", "sh", "-c", "echo $$; ps -o pgid= -p $$").out.split()
    assert out[0] == out[1]


def test_a_background_child_does_not_block_the_commit(mnt, tmp):
    """It holds a file of the session open, and its standard output."""
    script = f"exec 3>out; echo data >&3; sleep 300 >/dev/null 2>&1 & echo $! >{tmp}/pid"
    start = time.monotonic()
    fence("run", directory(mnt), "--", "sh", "-c", script)
    assert time.monotonic() - start < 100
    assert (mnt / "p/out").read_text() == "data\n"
    pid = int((tmp / "pid").read_text())
    assert os.path.exists(f"/proc/{pid}/fd/3")
    os.kill(pid, signal.SIGKILL)
    assert leases(mnt) == []


# ------------------------------------------------------------------------------------------ exit statuses


def test_exit_statuses(mnt, tmp):
    (tmp / "plain").write_text("x")
    for rc, command in (
        (0, ["true"]),
        (7, ["sh", "-c", "echo A >out; exit 7"]),
        (255, ["sh", "-c", "exit 255"]),
        (127, ["nonesuch"]),
        (127, ["./nonesuch"]),
        (127, [""]),
        *((126, [path]) for path in (tmp, tmp / "plain")),
    ):
        result = fence("run", directory(mnt), "--", *command, rc=rc)
        if rc in (126, 127):
            assert result.err.startswith(f"fence: run {command[0]}: "), result.err
    assert not (mnt / "p/out").exists()
    assert mnt.store.query("SELECT count(*) FROM event WHERE kind = 4") == [(3,)]  # 126, 127: no lease
    assert fence("run", tmp, "--", "true", rc=125).err == f"fence: run {tmp}: not in a fencefs mount\n"
    for bad in (
        [mnt / "p"],
        ["--wait", "1s", "--no-wait", mnt / "p", "--", "true"],
        ["--on-loss", "panic", mnt / "p", "--", "true"],
        ["--kill-after", "soon", mnt / "p", "--", "true"],
        ["-E", "256", mnt / "p", "--", "true"],
        ["--no-lease", mnt / "p", "--", "true"],
        ["--token", "x", mnt / "p", "--", "true"],
    ):
        fence("run", *bad, rc=2)


def test_held(mnt):
    fence("acquire", "--ttl", "1h", "-o", "job-b", mnt / "p")
    held = fence("run", "--no-wait", mnt / "p/q/r", "--", "true", rc=11)
    assert held.err.startswith(f"fence: run {mnt.path}/p/q/r: job-b holds a lease on p for another ")
    fence("run", "--wait", "200ms", mnt.path, "--", "true", rc=12)
    fence("run", "-E", 75, "--no-wait", mnt / "p", "--", "true", rc=75)
    fence("run", "-E", 0, "--wait", "100ms", mnt / "p", "--", "touch", mnt.path.parent / "x", rc=0)
    assert not (mnt.path.parent / "x").exists()


def test_one_after_the_other_never_meets_a_lease(mnt):
    for n in range(30):
        fence("run", "--no-wait", directory(mnt), "--", "sh", "-c", f"echo {n} >>out; exit {n % 2}", rc=n % 2)
    assert (mnt / "p/out").read_text().split() == [str(n) for n in range(0, 30, 2)]


def add_line(me, mnt, times):
    for _ in range(times):
        fence("run", "--wait", "100s", directory(mnt), "--", "sh", "-c", 'echo "$FENCE_TOKEN" >>out')


@pytest.mark.timeout(180)
def test_many_at_one_time(mnt):
    """Each sees what the one before it published: no line is lost."""
    crowd = [spawn(add_line, mnt, 5) for _ in range(8)]
    for child in crowd:
        child.result(150)
    tokens = [int(line) for line in (mnt / "p/out").read_text().split()]
    assert len(tokens) == 40 and tokens == sorted(tokens)


# ------------------------------------------------------------------------------------- without a lease


def test_a_token_from_outside(mnt):
    script = 'echo "$FENCE_TOKEN" >out; "$0" leases --json "$FENCE_DIR"'
    for args, env in (
        (["--token", 41], {}),
        ([], {"FENCE_TOKEN": "42"}),
        (["--no-lease"], {"FENCE_TOKEN": "43"}),
    ):
        out = fence("run", *args, directory(mnt), "--", "sh", "-c", script, fence_program(), env=env).out
        assert out.strip() == "[]" or out.split() == ["[", "]"], out
    assert (mnt / "p/out").read_text() == "43\n"
    late = fence("run", "--token", 41, directory(mnt), "--", "true", rc=13)
    assert "stale token 41 < 43 (set" in late.err


def test_within_another(mnt):
    """The outer job's token says nothing of other paths. A lease on its own would be waited for in vain."""
    script = '"$0" run --wait 20s "$1" -- sh -c "echo \\$FENCE_TOKEN >out"; echo "$FENCE_TOKEN" >out'
    fence("run", directory(mnt, "outer"), "--", "sh", "-c", script, fence_program(), f"{mnt.path}/inner/")
    assert (mnt / "outer/out").read_text() == "1\n"
    assert (mnt / "inner/out").read_text() == "2\n"
    script = '"$0" run . -- true; echo $? >status'
    result = fence("run", directory(mnt, "outer"), "--", "sh", "-c", script, fence_program())
    assert (mnt / "outer/status").read_text() == "11\n" and "this job holds a lease" in result.err


def test_the_job_ends_its_session_itself(mnt):
    fence("run", directory(mnt), "--", "sh", "-c", 'echo A >out; "$0" commit', fence_program())
    assert (mnt / "p/out").read_text() == "A\n"
    done = fence("run", directory(mnt), "--", "sh", "-c", 'echo B >out; "$0" abort', fence_program(), rc=125)
    assert "aborted" in done.err
    assert (mnt / "p/out").read_text() == "A\n"
