# SPDX-License-Identifier: MIT
"""fence mount --print-fstab: the line is one that mount(8) reads as it was meant."""

from fenceharness import *


def line(*args, cwd=None) -> str:
    result = fence("mount", "--print-fstab", *args, cwd=cwd)
    assert result.err == "" and result.out.endswith("\n") and result.out.count("\n") == 1
    return result.out[:-1]


def test_line(tmp):
    (tmp / "store").mkdir()
    (tmp / "mnt").mkdir()
    want = f"{tmp}/store {tmp}/mnt fencefs nofail,x-systemd.automount 0 0"
    assert line(tmp / "store", tmp / "mnt") == want
    assert line("store/", "./mnt", cwd=tmp) == want
    (tmp / "link").symlink_to("store")
    assert line("link", "mnt", cwd=tmp) == want
    assert line("-o", "passthrough=off", "store", "mnt", cwd=tmp) == want.replace(
        "automount", "automount,passthrough=off"
    )


def test_what_does_not_exist_yet(tmp):
    assert line("new/", "no", cwd=tmp).split()[:2] == [f"{tmp}/new", f"{tmp}/no"]
    assert line("/", "/no/where///").split()[:2] == ["/", "/no/where"]


def test_documents_show_what_is_printed():
    text = line("/srv/store", "/mnt/shared")
    for document in ("mount-helpers/man/fencefs.8.scd",):
        assert f"\n```\n{text}\n```\n" in (source_dir() / document).read_text(encoding="utf-8")


def test_odd_names(tmp):
    odd = tmp / "a store,\twith\nall\\that #"
    odd.mkdir()
    text = line(odd, tmp / "no such")
    assert text.split(" ")[:2] == [
        f"{tmp}/a\\040store,\\011with\\012all\\134that\\040#",
        f"{tmp}/no\\040such",
    ]
    tab = tmp / "fstab"
    tab.write_text(text + "\n")
    columns = ["--noheadings", "--pairs", "--output", "SOURCE,TARGET,FSTYPE"]
    read = run("findmnt", "--tab-file", tab, *columns)
    shown = str(odd).replace("\\", "\\x5c").replace("\t", "\\x09").replace("\n", "\\x0a")
    assert read.stdout == f'SOURCE="{shown}" TARGET="{tmp}/no such" FSTYPE="fencefs"\n', read.stdout


def test_mount_checks_the_line(tmp):
    """mount -f (it only looks) of what was printed, from a scratch fstab."""
    store = tmp / "a store"
    fence("init", store)
    (tmp / "mnt").mkdir()
    (tmp / "fstab").write_text(line(store, tmp / "mnt") + "\n")
    run("mount", "--fake", "--fstab", tmp / "fstab", "--internal-only", tmp / "mnt")
    assert not mounts_beneath(tmp)


def test_refusals():
    result = fence("mount", "--print-fstab", "-f", "/a", "/b", rc=2)
    assert result.err.startswith("fence: mount: --print-fstab mounts nothing, so it does not go with --foreground\n")
