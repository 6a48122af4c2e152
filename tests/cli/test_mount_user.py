# SPDX-License-Identifier: MIT
"""Mounts by ordinary users, and what is said where it cannot be mounted: why, and what to do."""

import os
import shutil

import pytest
from fenceharness import *
from fenceharness import kernel

NOBODY = 65534
USER = "setpriv --reuid=65534 --regid=65534 --clear-groups"
HELPER = helper_program()


def new_store(tmp):
    tmp.chmod(0o777)
    fence("init", "store", cwd=tmp, uid=NOBODY)
    run("mkdir", tmp / "mnt", uid=NOBODY)
    return tmp / "store", tmp / "mnt"


def in_private(script, tmp, program=None, rc=0):
    """@script in a mount namespace of its own; in it $F is fencefs, $S the store, $M the mount point."""
    head = 'F=$1 S=$2/store M=$2/mnt T=$2\n'
    return run(*own_mounts(), "sh", "-ec", head + script, "sh", program or fencefs_program(), tmp, rc=rc)


def daemon_pid(store) -> int:
    return int((store / "lock").read_text().split()[0])


def wait_for_end(store):
    wait_until(lambda: kernel.states(daemon_pid(store)) in ([], ["Z"]), "the daemon's end")


def with_fuse_conf(tmp, text) -> str:
    (tmp / "fuse.conf").write_text(text)
    return "mount --bind $T/fuse.conf /etc/fuse.conf\n"


def has_fuse_conf() -> bool:
    return os.path.exists("/etc/fuse.conf")


@pytest.mark.skipif(not has_fuse_conf(), reason="no /etc/fuse.conf to put another in the place of")
@pytest.mark.parametrize("option", ["allow_other", "allow_root"])
@pytest.mark.parametrize("text", ["", "#user_allow_other\n", "user_allow_other yes\n"])
def test_allow_other_is_explained(tmp, option, text):
    new_store(tmp)
    script = with_fuse_conf(tmp, text) + f"exec {USER} $F -o {option} $S $M"
    want = (
        f"fencefs: -o {option}: ordinary users may use it only if there is a line \"user_allow_other\" in "
        "/etc/fuse.conf, which root can add\n"
    )
    with kernel.fuse_device_for_all():
        assert in_private(script, tmp, rc=1).stderr.endswith(want)
        assert in_private(script, tmp, HELPER, rc=32).stderr.endswith(want)


@pytest.mark.skipif(not has_fuse_conf(), reason="no /etc/fuse.conf to put another in the place of")
def test_allow_other_where_it_is_allowed(tmp):
    store, _ = new_store(tmp)
    script = f"""
        {USER} $F -o allow_other $S $M
        setpriv --reuid=65533 --regid=65533 --clear-groups ls -a $M
        {USER} fusermount3 -u $M
    """
    with kernel.fuse_device_for_all():
        done = in_private(with_fuse_conf(tmp, "mount_max = 1000\nuser_allow_other\n") + script, tmp)
    assert done.stdout.split() == [".", ".."], done
    wait_for_end(store)


def test_for_oneself_alone(tmp):
    store, point = new_store(tmp)
    with kernel.fuse_device_for_all():
        run("env", "-i", fencefs_program(), store, point, uid=NOBODY)
    assert run("ls", point, uid=NOBODY).stdout == ""
    assert run("ls", point, uid=65533, rc=2).stderr.endswith("Permission denied\n")
    assert "allow_other" not in kernel.mount_at(point).options
    assert kernel.children(daemon_pid(store)) == [], "no guard: it could not mount"
    run("fusermount3", "-u", point, uid=NOBODY)
    wait_for_end(store)


def test_apparmor_is_hinted_at(tmp):
    """Where it is on and has a profile for fusermount3; here one of our own making."""
    new_store(tmp)
    (tmp / "etc/apparmor.d").mkdir(parents=True)
    (tmp / "etc/apparmor.d/fusermount3").touch()
    for name in ("passwd", "group", "ld.so.cache", "fuse.conf", "mtab"):
        if os.path.exists(f"/etc/{name}"):
            shutil.copy(f"/etc/{name}", tmp / "etc" / name, follow_symlinks=False)
    script = f"""
        mount --bind $T/etc /etc
        mount -t tmpfs none /sys/module
        mkdir -p /sys/module/apparmor/parameters
        echo Y >/sys/module/apparmor/parameters/enabled
        mkdir $T/roots
        exec {USER} $F $S $T/roots
    """
    with kernel.fuse_device_for_all():
        done = in_private(script, tmp, rc=1)
    first, last = done.stderr.splitlines()[0], done.stderr.splitlines()[-1]
    assert first.startswith("fusermount3: "), done.stderr
    assert last.startswith(f"fencefs: cannot mount at {tmp}/roots: fusermount3 has said why; "), done.stderr
    rule = f"mount fstype=fuse.fencefs -> {tmp}/roots/, and umount {tmp}/roots/,"
    assert "AppArmor" in last and "/etc/apparmor.d/local/fusermount3" in last and last.endswith(rule), last


def test_no_fusermount(tmp):
    store, point = new_store(tmp)
    if os.path.exists("/usr/local/bin/fusermount3"):
        pytest.skip("libfuse finds one in /usr/local/bin")
    with kernel.fuse_device_for_all():
        done = run(fencefs_program(), store, point, uid=NOBODY, env={"PATH": "/nowhere"}, rc=1)
    assert done.stderr.endswith(
        "fencefs: only root can mount without fusermount3, which is missing (package fuse3)\n"
    ), done.stderr


def make_dev(tmp) -> str:
    """The beginning of a script, for a /dev without /dev/fuse."""
    return "mkdir $T/dev; mknod -m 666 $T/dev/null c 1 3; mount --bind $T/dev /dev\n"


def test_no_device(tmp):
    new_store(tmp)
    done = in_private(make_dev(tmp) + "exec $F $S $M", tmp, rc=1)
    assert done.stderr.endswith("fencefs: there is no /dev/fuse: load the module (modprobe fuse)\n"), done.stderr


def test_a_device_for_root_alone(tmp):
    new_store(tmp)
    script = make_dev(tmp) + f"mknod -m 600 /dev/fuse c 10 229; exec {USER} $F $S $M"
    done = in_private(script, tmp, rc=1)
    assert done.stderr.endswith(
        "fencefs: /dev/fuse: Permission denied: everyone must be able to open it, chmod 666 /dev/fuse\n"
    ), done.stderr


def test_root_in_a_container(tmp):
    """Without CAP_SYS_ADMIN."""
    fence("init", tmp / "store")
    (tmp / "mnt").mkdir()
    drop = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    done = run(*drop, fencefs_program(), tmp / "store", tmp / "mnt", rc=1)
    assert done.stderr.endswith(
        f"fencefs: cannot mount at {tmp}/mnt: this needs the capability CAP_SYS_ADMIN, which root does not have here, "
        "as in a container\n"
    ), done.stderr
