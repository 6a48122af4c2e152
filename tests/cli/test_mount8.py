# SPDX-License-Identifier: MIT
"""mount(8) and fstab: a file system that behaves like one."""

import contextlib
import ctypes
import errno
import os
import re
import select
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel
from fencelib.mounting import *

ODD = "a store,\twith\\all that #"


def found(point) -> list[str]:
    """Source, type and options, as findmnt has it."""
    done = run("findmnt", "-t", "fuse.fencefs", "-n", "-r", "-o", "SOURCE,FSTYPE,OPTIONS", point, rc=None)
    return done.stdout.split()


def mounts_at(point) -> int:
    return sum(m.path == str(point) for m in mounts_beneath(point))


def check(store, point, *options):
    """It is mounted once, works, and goes with umount(8)."""
    source, kind, shown = found(point)
    assert source == re.sub(r"[\s\\]", lambda m: f"\\x{ord(m[0]):02x}", str(store)), source
    assert kind == "fuse.fencefs" and set(options) <= set(shown.split(",")), shown
    if "ro" in shown.split(","):
        assert os.listdir(point) == []  # .fence/ctl cannot be written
    else:
        with Ctl(point) as ctl:
            assert ctl.expect_ok("hello")["mount"] == str(point)
    pid = daemon_pid(store)
    run("umount", point)
    wait_gone(pid)
    assert mounts_at(point) == 0


def wait_gone(pid):
    wait_until(lambda: kernel.states(pid) in ([], ["Z"]), f"process {pid} to end")


# ------------------------------------------------------------------------------- the forms of the command

FORMS = {
    "plain": ["-t", "fencefs"],
    "fuse": ["-t", "fuse.fencefs"],
    "options": ["-t", "fencefs", "-o", "noexec,noatime,passthrough=off,x-fence.timeout=20,X-any=1,comment=x"],
    "families": ["-t", "fencefs", "-o", "rw,dev,suid,exec,atime,diratime,relatime,async,defaults,auto,nofail,_netdev"],
    "users": ["-t", "fencefs", "-o", "user,noauto"],
    "read-only": ["-t", "fencefs", "-r"],
    "verbose": ["-v", "-n", "-t", "fencefs"],
    "namespace": ["-t", "fencefs", "-N", "/proc/self/ns/mnt"],
}
SHOWN = {
    "options": ["noexec", "noatime"],
    "families": ["rw"],
    "users": ["noexec", "nosuid", "nodev"],
    "read-only": ["ro"],
}


def skip_in_a_chroot(why: str):
    """In one whose root is no mount point."""
    if not any(one.path == "/" for one in kernel.all_mounts()):
        pytest.skip(f"a chroot: {why}")


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("name", ["store", ODD])
def test_forms(tmp, form, name):
    if form == "namespace":
        skip_in_a_chroot("entering a namespace leaves it")
    store, point = new_store(tmp, name)
    with installed():
        mount(*FORMS[form], store, point)
        check(store, point, *SHOWN.get(form, []))


@pytest.mark.parametrize("form", ["SPEC DIR", "SPEC DIR -o", "-o SPEC DIR"])
def test_the_daemon_itself(tmp, form):
    """mount.fuse and people call it so."""
    store, point = new_store(tmp, ODD)
    words = {"SPEC": store, "DIR": point, "-o": "-o"}
    args = []
    for word in form.split():
        args += [words[word]] + (["rw,dev,suid,noexec"] if word == "-o" else [])
    run(fencefs_program(), *args)
    check(store, point, *(["noexec"] if "-o" in form else []))


def has_mount_fuse() -> bool:
    return any(os.path.exists(f"/sbin/mount.{name}") for name in ("fuse", "fuse3"))


@pytest.mark.skipif(not has_mount_fuse(), reason="no mount.fuse")
def test_through_mount_fuse(tmp):
    """Where only the daemon is installed: mount(8) calls mount.fuse, and that fencefs."""
    store, point = new_store(tmp)
    with installed({Path("/usr/bin/fencefs"): fencefs_program()}):
        mount("-t", "fuse.fencefs", "-o", "noexec", store, point)
        check(store, point, "noexec")


@pytest.mark.parametrize("how", ["mount DIR", "mount SPEC", "mount -a", "mount -a -t", "mount -a -F"])
@pytest.mark.parametrize("kind", ["fencefs", "fuse.fencefs"])
def test_fstab(tmp, how, kind):
    store, point = new_store(tmp, ODD)
    tab = write_fstab(tmp, (store, point, kind, "nofail,x-systemd.automount,noexec"))
    args = {"DIR": [point], "SPEC": [store], "-t": ["-a", "-t", kind], "-F": ["-a", "-F"]}
    with installed():
        for _ in range(3 if "-a" in how else 1):
            mount("-T", tab, *args.get(how.split()[-1], ["-a"]))
            assert mounts_at(point) == 1
        check(store, point, "noexec")


def test_mount_all_leaves_noauto_alone(tmp):
    store, point = new_store(tmp)
    (tmp / "other").mkdir()
    fence("init", tmp / "second")
    tab = write_fstab(
        tmp, (store, point, "fencefs", "noauto,user"), (tmp / "second", tmp / "other", "fencefs", "defaults")
    )
    with installed():
        mount("-a", "-T", tab)
        assert mounts_at(point) == 0 and mounts_at(tmp / "other") == 1
        mount("-T", tab, point)
        check(store, point, "nosuid")
        check(tmp / "second", tmp / "other")


def test_a_line_for_a_user(tmp):
    """noauto,user: mount and umount by somebody who is not root."""
    tmp.chmod(0o777)
    fence("init", "store", cwd=tmp, uid=65534)
    run("mkdir", tmp / "mnt", uid=65534)
    tab = write_fstab(tmp, (tmp / "store", tmp / "mnt", "fencefs", "noauto,user"))
    script = """
        mount --bind "$1" /etc/fstab
        as="setpriv --reuid=65534 --regid=65534 --clear-groups"
        $as mount "$2"
        findmnt -n -o SOURCE,FSTYPE,OPTIONS "$2"
        $as sh -c 'echo "put path=f token=1 size=0" >"$1/.fence/ctl"; ls "$1"' sh "$2"
        $as umount "$2"
        ! findmnt "$2"
    """
    with installed(), kernel.fuse_device_for_all():
        done = run(*own_mounts(), "sh", "-ec", script, "sh", tab, tmp / "mnt")
    line, listed = done.stdout.splitlines()
    assert line.split()[:2] == [str(tmp / "store"), "fuse.fencefs"], line
    assert {"noexec", "nosuid", "nodev", "user_id=65534"} <= set(line.split()[2].split(",")), line
    assert listed == "f", done
    wait_until(lambda: not any(str(tmp) in kernel.command(int(p)) for p in os.listdir("/proc") if p.isdigit()), "its end")


# ---------------------------------------------------------------------------------------- what is refused


def test_refusals_and_statuses(tmp):
    """Of mount(8): 1 usage, 2 system, 32 it could not be mounted."""
    store, point = new_store(tmp)
    with installed():
        done = mount("-t", "fencefs", "-o", "noexek", store, point, rc=1)
        assert done.stderr == "mount.fencefs: unknown option 'noexek'; did you mean 'noexec'?\n"
        done = mount("-t", "fencefs", tmp / "none", point, rc=32)
        assert done.stderr.startswith(f"mount.fencefs: {tmp}/none is not a store: No such file or directory\n")
        done = mount("-t", "fencefs", tmp, point, rc=32)
        assert done.stderr.startswith(f"fencefs: {tmp} is not a fencefs store")
        done = mount("-t", "fencefs", store, tmp / "none", rc=32)
        assert f"{tmp}/none" in done.stderr and "mount point" in done.stderr, done.stderr
        assert mounts_beneath(tmp) == []
        mount("-t", "fencefs", store, point)
        (tmp / "other").mkdir()
        done = mount("-t", "fencefs", store, tmp / "other", rc=32)
        want = f"fencefs: store {store} is served by fencefs (pid {daemon_pid(store)}"
        assert done.stderr.startswith(want) and str(point) in done.stderr, done.stderr
        done = mount("-o", "remount,ro", point, rc=32)
        assert done.stderr.startswith(f"mount.fencefs: {point}: fencefs cannot be remounted"), done.stderr
        check(store, point)


def test_sloppy(tmp):
    store, point = new_store(tmp)
    with installed():
        done = mount("-s", "-t", "fencefs", "-o", "noexek", store, point)
        assert done.stderr == "mount.fencefs: warning: unknown option 'noexek'; did you mean 'noexec'?\n"
        check(store, point)


def test_mount_by_nobody(tmp):
    """Without a line for users it is either root's, or goes on with that user's permissions."""
    store, point = new_store(tmp)
    with installed():
        done = mount("-t", "fencefs", store, point, uid=65534, rc=None)
    assert done.returncode in (1, 32) and re.search("superuser|[Pp]ermission denied", done.stderr), done
    assert mounts_beneath(tmp) == []


# --------------------------------------------------------------------------- the daemon dies by kill -9


def has_mount_beneath() -> bool:
    release = os.uname().release.split(".")
    return (int(release[0]), int(re.match(r"\d+", release[1])[0])) >= (6, 5)


@pytest.mark.skipif(not has_mount_beneath(), reason="it takes Linux 6.5")
@pytest.mark.parametrize("name", ["store", ODD])
def test_mount_all_heals(tmp, name):
    store, point = new_store(tmp, name)
    tab = write_fstab(tmp, (store, point, "fencefs", "nofail"))
    with installed():
        mount("-a", "-T", tab)
        fence("put", "-t", "1", "-", point / "f", input="kept")
        for _ in range(3):
            pid = daemon_pid(store)
            with open(point / "f") as file, Ctl(point) as ctl:
                session = ctl.expect_ok("open", path="new", token=2)["session"]
                kill_daemon(store, point)
                wait_until(lambda: kernel.mount_at(point).source == f"dead:{store}", "the mark")
                assert is_dead(point) and mounts_at(point) == 1
                for write in (lambda: (point / "bare").touch(), lambda: os.mkdir(point / "bare")):
                    try:
                        write()
                        raise AssertionError("written into the bare directory")
                    except OSError as error:
                        assert error.errno == errno.ENOTCONN, error
                mount("-a", "-T", tab)
            assert daemon_pid(store) != pid and mounts_at(point) == 1
            assert os.listdir(point) == ["f"] and (point / "f").read_text() == "kept"
            with Ctl(point) as ctl:
                assert ctl.expect_ok("outcome", session=session)["outcome"] == "aborted"
        mount("-a", "-T", tab)
        assert mounts_at(point) == 1
        check(store, point)
    assert os.listdir(point) == []


def test_mount_by_its_name_heals_without_a_guard(tmp):
    """As when it was killed, too, or on an older kernel: then `mount -a` takes the dead mount for mounted."""
    store, point = new_store(tmp)
    tab = write_fstab(tmp, (store, point, "fencefs", "nofail"))
    with installed():
        mount("-a", "-T", tab)
        fence("put", "-t", "1", "-", point / "f", input="kept")
        guard = guard_of(daemon_pid(store))
        os.kill(guard, signal.SIGKILL)
        kill_daemon(store, point)
        assert kernel.mount_at(point).source == str(store)
        mount("-a", "-T", tab)
        assert is_dead(point)
        mount("-T", tab, point)
        assert (point / "f").read_text() == "kept"
        check(store, point)


@pytest.mark.skipif(not has_mount_beneath(), reason="it takes Linux 6.5")
@pytest.mark.parametrize("how", ["umount", "fence umount", "fence mount", "another store"])
def test_a_marked_mount(tmp, how):
    store, point = new_store(tmp)
    run(HELPER, store, point)
    kill_daemon(store, point)
    wait_until(lambda: kernel.mount_at(point).source == f"dead:{store}", "the mark")
    if how == "another store":
        fence("init", tmp / "other")
        done = run(fencefs_program(), tmp / "other", point, rc=1)
        assert f"is a dead mount of fuse.fencefs dead:{store}, not of this store" in done.stderr, done.stderr
    if how == "fence mount":
        fence("mount", store, point)
        check(store, point)
    elif how == "fence umount":
        fence("umount", point)
    else:
        run("umount", point)
    assert mounts_beneath(tmp) == []


@pytest.mark.skipif(not has_mount_beneath(), reason="it takes Linux 6.5")
def test_the_tool_knows_a_marked_mount(tmp):
    """Its store, and what to do about it."""
    store, point = new_store(tmp)
    run(HELPER, store, point)
    kill_daemon(store, point)
    wait_until(lambda: kernel.mount_at(point).source == f"dead:{store}", "the mark")
    data = fence("doctor", "--json", point, rc=1).json()
    assert data["store"] == str(store) and data["mount"] == str(point)
    (said,) = [check for check in data["checks"] if check["check"] == "mount"]
    assert said["state"] == "missing" and "has died" in said["text"], said
    assert said["remedy"].endswith(f": mount {point}"), said
    fence("fsck", point)
    done = fence("cat", point / "f", rc=1)
    assert done.err.endswith("the daemon of this mount is gone; mount it again\n"), done.err
    run("umount", point)


def test_the_guard_leaves_others_alone(tmp):
    """After a lazy umount something else may be at its place."""
    store, point = new_store(tmp)
    run(HELPER, store, point)
    pid = daemon_pid(store)
    guard = guard_of(pid)
    file = os.open(point / ".fence/ctl", os.O_RDWR)
    run("umount", "--lazy", point)
    run("mount", "-t", "tmpfs", "tmpfs", point)
    os.kill(pid, signal.SIGKILL)
    wait_gone(guard)
    os.close(file)
    assert [m.fstype for m in mounts_beneath(point)] == ["tmpfs"]
    run("umount", point)


def test_the_guard_goes_with_the_daemon(tmp):
    store, point = new_store(tmp)
    run(HELPER, store, point)
    guard = guard_of(daemon_pid(store))
    assert os.listdir(f"/proc/{guard}/fd") == ["0", "1", "2", "3"], "nothing that keeps anything open"
    fence("umount", point)
    assert kernel.states(guard) in ([], ["Z"])
    assert mounts_beneath(tmp) == []


# ------------------------------------------------------------------------------ where it is to work, too


def test_empty_environment(tmp):
    """Mount units have neither HOME nor PATH."""
    store, point = new_store(tmp)
    with installed():
        run("env", "-i", "/bin/mount", "-t", "fencefs", store, point)
        check(store, point)
    run("env", "-i", fencefs_program(), store, point)
    check(store, point)


def test_read_only_root(tmp):
    """Neither /etc/mtab nor /run can be written; store and mount point can."""
    skip_in_a_chroot("its root cannot be mounted read-only")
    store, point = new_store(tmp)
    script = """
        mount --bind "$1" "$1"
        mount -t tmpfs -o ro none /run
        mount -o remount,bind,ro /
        ! touch /run/x /etc/x /tmp/x 2>/dev/null
        mount -t fencefs "$1/store" "$1/mnt"
        echo "put path=f token=1 size=0" >"$1/mnt/.fence/ctl"
        ls "$1/mnt"
        umount "$1/mnt"
        ! findmnt "$1/mnt"
    """
    with installed():
        done = run(*own_mounts(), "sh", "-ec", script, "sh", tmp)
    assert done.stdout == "f\n", done
    wait_until(lambda: kernel.states(daemon_pid(store)) in ([], ["Z"]), "its end")


@contextlib.contextmanager
def automount_point(point):
    """We are to mount something there when we are asked to; yields where we are asked.

    Whoever touches such a point, even to unmount a copy of it, waits: nobody else is to see it.
    """
    enter_own_mounts()
    read_end, write_end = os.pipe()
    libc = ctypes.CDLL(None, use_errno=True)
    data = f"fd={write_end},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct".encode()
    if libc.mount(b"test", os.fsencode(point), b"autofs", 0, data):
        pytest.skip(f"autofs: {os.strerror(ctypes.get_errno())}")
    try:
        yield read_end
    finally:
        run("umount", "--lazy", point)
        os.close(read_end)
        os.close(write_end)


def test_an_automount_point_before_its_time(tmp):
    """x-systemd.automount and `mount -a`: who looks at it waits for the mount, so the mount must not look."""
    store, point = new_store(tmp)
    with automount_point(point) as asked:
        for _ in range(2):
            run("setsid", "--wait", HELPER, store, point)
            assert [m.fstype for m in mounts_beneath(point)] == ["autofs", "fuse.fencefs"]
            fence("umount", point)
        run("setsid", "--wait", HELPER, store, point)
        kill_daemon(store, point)
        run("setsid", "--wait", HELPER, store, point)
        fence("umount", point)
        assert not select.select([asked], [], [], 0)[0]


def test_an_automount_point(tmp):
    """Somebody looks at it: now all wait but our process group, which none of what mounts it leaves."""
    store, point = new_store(tmp)
    with automount_point(point) as asked:
        looks = subprocess.Popen(["ls", point], start_new_session=True, stdout=subprocess.DEVNULL)
        try:
            assert select.select([asked], [], [], 30)[0]
            for _ in range(2):
                run(HELPER, store, point)
                assert [m.fstype for m in mounts_beneath(point)] == ["autofs", "fuse.fencefs"]
                with Ctl(point) as ctl:
                    ctl.expect_ok("hello")
                assert os.getpgid(daemon_pid(store)) == daemon_pid(store), "by now it has left"
                fence("umount", point)
        finally:
            looks.kill()  # we never say that it is done
            looks.wait()


@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_store_through_a_symlink(tmp, how):
    """mount(8) resolves it; the daemon shows what it was given."""
    store, point = new_store(tmp)
    link = tmp / "link"
    link.symlink_to(store if how == "absolute" else "store")
    tab = write_fstab(tmp, (link, point, "fencefs", "defaults"))
    with installed():
        for _ in range(2):
            mount("-a", "-T", tab)
            assert mounts_at(point) == 1
        run("umount", point)
        wait_until(lambda: run(fencefs_program(), link, point, rc=None).returncode == 0, "the store to be free")
        assert kernel.mount_at(point).source == str(link)
        kill_daemon(store, point)
        mount("-T", tab, point)
        assert not is_dead(point) and mounts_at(point) == 1
        check(store, point)


@pytest.mark.parametrize("spec", ["store", "./store", "../tmp/store", "store/"])
def test_a_relative_spec(tmp, spec):
    """The source shows the absolute path: relative to what, nobody would know."""
    store, point = new_store(tmp)
    tab = write_fstab(tmp, (spec, "mnt", "fencefs", "defaults"))
    with installed():
        run(fencefs_program(), spec, "mnt", cwd=tmp)
        assert kernel.mount_at(point).source == str(store)
        for where in (tmp, tmp, tmp):
            mount("-a", "-T", tab, cwd=where)
            assert mounts_at(point) == 1
        kill_daemon(store, point)
        run(HELPER, spec, "mnt", cwd=tmp)
        check(store, point)


@pytest.mark.parametrize("entries", [0, 1, 3, 1200])
def test_a_mount_point_that_is_not_empty(tmp, entries):
    """Allowed, with a warning for whoever mounts, and one in the log."""
    store, point = new_store(tmp)
    for number in range(entries):
        (point / f"entry{number}").touch()
    script = """
        mknod -m 666 "$1/dev/null" c 1 3; mknod -m 666 "$1/dev/fuse" c 10 229
        mount --bind "$1/dev" /dev
        "$2" "$1/store" "$1/mnt"
        ls "$1/mnt"
        umount "$1/mnt"
    """
    (tmp / "dev").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:  # where syslog(3) sends to
        log.bind(f"{tmp}/dev/log")
        log.settimeout(30)
        done = run(*own_mounts(), "sh", "-ec", script, "sh", tmp, HELPER)
        heard = log.recv(8192).decode()
        while "mounted at" not in heard:
            heard += "\n" + log.recv(8192).decode()
    text = {
        0: "",
        1: "entry0 is hidden while it is mounted",
        3: "3 entries are hidden while it is mounted, such as entry",
        1200: "more than 1000 entries are hidden while it is mounted, such as entry",
    }[entries]
    text = text and f"{point} is not empty: {text}"
    assert done.stdout == "" and done.stderr.startswith(text and f"fencefs: warning: {text}"), done
    assert bool(done.stderr) == bool(entries)
    assert text in heard and heard.count("is not empty") == bool(entries), heard
    assert len(os.listdir(point)) == entries
    wait_gone(daemon_pid(store))


def test_a_mount_that_nobody_waits_for_any_more(tmp):
    """x-fence.timeout: the helper gives up, and so does the daemon when it gets that far."""
    store, point = new_store(tmp)
    log = tmp / "log"
    words = ["strace", "-f", "-qq", "-o", log, "--trace=mount,exit_group", "--inject=mount:delay_enter=3s"]
    env = {"ASAN_OPTIONS": "detect_leaks=0"}  # which it cannot under a tracer
    done = run(*words, HELPER, store, point, "-o", "x-fence.timeout=1", rc=32, env=env)
    assert done.stderr.endswith(
        f"mount.fencefs: {point} did not answer within 1 s (x-fence.timeout=); giving up\n"
    ), done.stderr
    assert mounts_beneath(tmp) == [], "strace waits for all that it traces"
    assert "mount(" in log.read_text()
    run(HELPER, store, point)
    check(store, point)
