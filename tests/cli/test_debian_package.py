# SPDX-License-Identifier: MIT
"""The Debian package: what is in it, and its life on a system that has only what it depends on."""

import gzip
import hashlib
import io
import os
import re
import select
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from fenceharness import *
from fencelib.debian_boot import run_booted
from fencelib.debian_root import DebianRoot
from fencelib.install_table import EMPTY_DIRECTORIES, differences, packaged, with_parents

pytestmark = pytest.mark.serial("debian-package")

BUILD_DEB = source_dir() / "mount-helpers/debian/build-deb"
EPOCH = 1_700_000_000


def build(out: Path, *builddir, script=BUILD_DEB) -> Path:
    run(script, *builddir, out, env={"SOURCE_DATE_EPOCH": str(EPOCH)}, timeout=900)
    return out


def package(tmp) -> Path:
    """The package of this tree. What is compiled for it stays in the build directory."""
    skip_without_scdoc()
    return build(tmp / "fencefs.deb", build_dir() / "debian-package")


def skip_without_scdoc():
    if not shutil.which("scdoc"):
        pytest.skip("no scdoc")


def control(deb) -> dict[str, str]:
    text = run("dpkg-deb", "--field", deb).stdout
    return dict(re.findall(r"^(\w[\w-]*): (.*)$", text, re.MULTILINE))


def names(field: str) -> set[str]:
    return {one.split()[0] for one in field.split(",") if one.strip()}


def system(tmp, deb, *more) -> DebianRoot:
    """What Debian has everywhere, what the package says it needs, mount(8), and @more packages."""
    root = DebianRoot(tmp / "root", [*names(control(deb)["Depends"]), "mount", *more])
    shutil.copy(deb, root / "srv/fencefs.deb")
    return root


def differing(before: dict, after: dict) -> list[str]:
    return [
        f"{name}: {before.get(name)} before, {after.get(name)} now"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


# ------------------------------------------------------------------------------------- what is in it


def members(deb) -> list[tarfile.TarInfo]:
    data = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True, timeout=60
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [one for one in archive if one.name != "."]


def shape(member: tarfile.TarInfo):
    """As install_table has it."""
    if member.issym():
        return member.linkname
    return member.mode if member.isreg() else f"directory {member.mode:04o}"


@pytest.mark.timeout(900)
def test_files(tmp):
    deb = package(tmp)
    found = members(deb)
    wanted = with_parents(packaged(), EMPTY_DIRECTORIES)
    different = differences(wanted, {one.name.removeprefix("./"): shape(one) for one in found})
    assert not different, different
    for one in found:
        assert (one.uid, one.gid, one.uname, one.mtime) == (0, 0, "root", EPOCH), one.get_info()


@pytest.mark.timeout(900)
def test_control(tmp):
    deb = package(tmp)
    fields = control(deb)
    version = fence("--version").out.split()[1]
    assert fields["Package"] == "fencefs"
    assert fields["Version"].rpartition("-")[0] == version, "debian/changelog is not of this version"
    depends = names(fields["Depends"])
    assert {"libc6", "libsqlite3-0", "libxxhash0"} <= depends, depends
    # libfuse itself only where the program was not linked with a libfuse of our own.
    run("dpkg-deb", "--extract", deb, tmp / "files")
    linked = run("readelf", "--dynamic", tmp / "files/usr/bin/fencefs").stdout
    assert any(one.startswith("libfuse3") for one in depends) == ("libfuse3" in linked), depends
    assert fields["Recommends"] == "fuse3"  # fusermount3, for those who are not root


@pytest.mark.timeout(900)
def test_checksums_and_documents(tmp):
    deb = package(tmp)
    run("dpkg-deb", "--raw-extract", deb, tmp / "files")
    listed = {}
    for line in (tmp / "files/DEBIAN/md5sums").read_text().splitlines():
        digest, name = line.split("  ", 1)
        listed[name] = digest
    regular = {name for name, what in packaged().items() if isinstance(what, int)}
    assert set(listed) == regular
    for name, digest in listed.items():
        content = (tmp / "files" / name).read_bytes()
        assert hashlib.md5(content).hexdigest() == digest, name
        if name.endswith(".gz"):
            assert gzip.decompress(content)
            assert content[3] == 0 and content[4:8] == bytes(4), f"{name} has a name or a time in it"
    assert "License: LGPL-2.1" in (tmp / "files/usr/share/doc/fencefs/copyright").read_text()


@pytest.mark.timeout(1200)
def test_the_same_wherever_it_is_built(tmp):
    """Another source directory, another build directory: the same package, bit for bit."""
    deb = package(tmp)
    left_out = shutil.ignore_patterns(".git", "build*", "__pycache__", "fuse-3.*[0-9]")
    keep = shutil.ignore_patterns(".git", "__pycache__")

    def ignore(directory, entries):
        inner = Path(directory) != source_dir()
        return keep(directory, entries) if inner else left_out(directory, entries)

    copy = tmp / "elsewhere/and deeper"
    shutil.copytree(source_dir(), copy, symlinks=True, ignore=ignore)
    again = build(tmp / "again.deb", script=copy / "mount-helpers/debian/build-deb")
    assert deb.read_bytes() == again.read_bytes(), describe(deb, again)


def describe(one, other) -> str:
    listing = lambda deb: run("dpkg-deb", "--contents", deb).stdout + run("dpkg-deb", "-f", deb).stdout
    return f"the packages differ\n{listing(one)}\n---- and\n{listing(other)}"


# ------------------------------------------------------------------------------------------ its life


def daemon(root) -> int:
    """The pid of the daemon that serves the store there."""
    return int((root / "srv/store/lock").read_text().split()[0])


def mount(root):
    root.run("fence", "init", "/srv/store")
    root.run("mount", "-t", "fencefs", "/srv/store", "/mnt")


def umount(root):
    """Back when the daemon has ended, too; works without the package."""
    handle = os.pidfd_open(daemon(root))
    root.run("umount", "/mnt")
    wait_until(lambda: has_ended(handle), "the daemon to end")
    os.close(handle)


def has_ended(pidfd) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


@pytest.mark.timeout(900)
def test_installed_used_removed(tmp):
    deb = package(tmp)
    root = system(tmp, deb)
    before = root.files()
    with root.proc():
        root.run("dpkg", "--install", "/srv/fencefs.deb")
        assert root.run("dpkg", "--verify", "fencefs").stdout == ""
        mount(root)
        assert "fuse.fencefs" in root.run("findmnt", "--noheadings", "/mnt").stdout
        root.run("fence", "put", "--token", "42", "--parents", "-", "/mnt/made/note", input=b"kept")
        late = root.run("fence", "put", "--token", "41", "-", "/mnt/made/note", input=b"late", rc=13)
        assert "stale token 41 < 42" in late.stderr
        root.run("fence", "run", "/mnt/made", "--", "sh", "-c", "echo by a job >job")
        assert (root / "mnt/made/job").read_text() == "by a job\n"
        umount(root)
        root.run("dpkg", "--remove", "fencefs")
        root.run("dpkg", "--purge", "fencefs")
    assert root.run("dpkg", "--status", "fencefs", rc=1).stdout == ""
    assert list((root / "var/lib/dpkg/info").glob("fencefs*")) == []
    different = differing(before, root.files())
    assert not different, "\n".join(different)
    fence("fsck", root / "srv/store")
    assert fence("df", "--json", root / "srv/store").rc == 0


@pytest.mark.timeout(900)
def test_mounts_live_on(tmp):
    """Neither an upgrade nor the removal takes a mount from under those who use it."""
    root = system(tmp, package(tmp))
    with root.proc():
        first = root.run("dpkg", "--install", "/srv/fencefs.deb")
        assert "fencefs: " not in first.stderr
        mount(root)
        serves = daemon(root)
        with open(root / "mnt/.fence/ctl", "r+b", buffering=0) as conversation:
            conversation.write(b"open path=dir/ token=5\n")
            assert conversation.read(4096).startswith(b"ok ")
            upgrade = root.run("dpkg", "--install", "/srv/fencefs.deb")
            assert upgrade.stderr.endswith(
                "fencefs: still served by the previous program, until mounted again:\nfencefs:   /mnt\n"
            ), upgrade.stderr
            removal = root.run("dpkg", "--purge", "fencefs")
            assert removal.stderr.endswith(
                "fencefs: warning: still mounted; these go on until umount DIRECTORY:\nfencefs:   /mnt\n"
            ), removal.stderr
            assert not os.path.lexists(root / "usr/bin/fencefs")
            conversation.write(b"commit\n")
            assert conversation.read(4096).startswith(b"ok revision=1 ")
        assert (root / "mnt/dir").is_dir() and daemon(root) == serves
        umount(root)
    fence("fsck", root / "srv/store")


@pytest.mark.timeout(900)
def test_what_systemd_is_told(tmp):
    """With a systemctl that writes down how it is called, and knows of no service that runs."""
    root = system(tmp, package(tmp))
    systemctl = root / "usr/bin/systemctl"
    systemctl.write_text('#!/bin/sh\necho "$*" >>/srv/calls\n[ "$2" != is-active ]\n')
    systemctl.chmod(0o755)
    (root / "run/systemd/system").mkdir(parents=True)

    def told_by(*args) -> list[str]:
        calls = root / "srv/calls"
        calls.write_text("")
        root.run("dpkg", *args)
        return [line.replace("--system ", "") for line in calls.read_text().splitlines()]

    with root.proc():
        assert told_by("--install", "/srv/fencefs.deb") == ["daemon-reload"]
        assert told_by("--install", "/srv/fencefs.deb") == ["daemon-reload"]
        assert told_by("--remove", "fencefs") == [
            "stop fencefs-gc@*.timer fencefs-scrub@*.timer",
            "--quiet is-active fencefs@*.service",
            "daemon-reload",
        ]
        assert told_by("--purge", "fencefs") == []
    assert list((root / "run/systemd/system").iterdir()) == []


SERVICE = """
show() { systemctl show --property "$1" fencefs@mnt.service; }
dpkg --install /srv/fencefs.deb >&2
fence init /srv/store
echo STORE=/srv/store >/etc/fencefs/mnt.conf
systemctl start fencefs@mnt.service
show ActiveState
before=$(show MainPID)

dpkg --remove fencefs >&2
systemctl daemon-reload # as any other package may cause it
show ActiveState,NotifyAccess,KillMode,Restart
ls -A /mnt/.fence/ctl

dpkg --install /srv/fencefs.deb >&2
show ActiveState,NotifyAccess,KillMode,Restart
[ "$(show MainPID)" = "$before" ]

dpkg --remove fencefs >&2
systemctl stop fencefs@mnt.service
show ActiveState,Result
! findmnt /mnt
"""


@pytest.mark.timeout(900)
def test_a_service_outlives_its_package(tmp):
    """Or systemd would kill it: it listens to nobody in a service that has no unit any more."""
    root = system(tmp, package(tmp), "systemd")
    said = run_booted(root, SERVICE)
    serves = ["ActiveState=active", "KillMode=mixed", "NotifyAccess=main"]
    assert said[0] == "ActiveState=active", said
    assert sorted(said[1:5]) == sorted([*serves, "Restart=no"]), said
    assert said[5] == "/mnt/.fence/ctl", said
    assert sorted(said[6:10]) == sorted([*serves, "Restart=on-failure"]), said
    assert sorted(said[10:]) == ["ActiveState=inactive", "Result=success"], said
    assert not (root / "usr/bin/fencefs").exists()


# What is made for a mount at /mnt by an administrator and by systemd. A string is a link's target.
CONFIGURED = {
    "etc/fencefs/mnt.conf": None,
    "etc/systemd/system/multi-user.target.wants/fencefs@mnt.service": "/lib/systemd/system/fencefs@.service",
    "etc/systemd/system/timers.target.wants/fencefs-gc@mnt.timer": "/usr/lib/systemd/system/fencefs-gc@.timer",
    "etc/systemd/system/timers.target.wants/fencefs-scrub@mnt.timer": "/lib/systemd/system/fencefs-scrub@.timer",
    "var/lib/systemd/timers/stamp-fencefs-gc@mnt.timer": None,
    "var/lib/systemd/timers/stamp-fencefs-scrub@mnt.timer": None,
    "var/lib/fencefs/scrub-mnt": None,
}
# What another owns, and a store where nobody would look for one.
NOT_OURS = {
    "etc/fencefs/README": None,
    "etc/systemd/system/multi-user.target.wants/fencefs@own.service": "/etc/systemd/system/fencefs@own.service",
    "var/lib/systemd/timers/stamp-backup.timer": None,
    "var/lib/fencefs/scrub-store/meta.db": None,
}


@pytest.mark.timeout(900)
def test_purge_takes_what_was_configured(tmp):
    root = system(tmp, package(tmp))
    root.run("dpkg", "--install", "/srv/fencefs.deb")
    for name, target in {**CONFIGURED, **NOT_OURS}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if target:
            (root / name).symlink_to(target)
        else:
            (root / name).write_text("STORE=/srv/store\n")
    root.run("dpkg", "--remove", "fencefs")
    there = lambda names: [name for name in names if os.path.lexists(root / name)]
    assert there({**CONFIGURED, **NOT_OURS}) == [*CONFIGURED, *NOT_OURS]
    root.run("dpkg", "--purge", "fencefs")
    assert there({**CONFIGURED, **NOT_OURS}) == [*NOT_OURS]


@pytest.mark.timeout(900)
def test_purge_leaves_no_empty_directory(tmp):
    root = system(tmp, package(tmp))
    before = root.files()
    root.run("dpkg", "--install", "/srv/fencefs.deb")
    (root / "etc/fencefs/mnt.conf").write_text("STORE=/srv/store\n")
    (root / "var/lib/fencefs").mkdir()
    (root / "var/lib/fencefs/scrub-mnt").write_text("1\n")
    root.run("dpkg", "--purge", "fencefs")
    different = differing(before, root.files())
    assert not different, "\n".join(different)
