# SPDX-License-Identifier: MIT
"""How fence finds the mount of a path, and the path in the tree."""

import os
import subprocess

from fenceharness import *


def tree_path(given, **kwargs) -> str:
    """What the protocol is asked for when the user says @given."""
    return fence("show", "--json", given, **kwargs).json()["path"]


def fill(mnt):
    session = fence("open", "-t", 1, f"{mnt.path}/").lines[0]
    os.makedirs(f"{session}/dir/sub")
    with open(f"{session}/dir/file", "w") as f:
        f.write("x")
    os.symlink("dir", f"{session}/to-dir")
    os.symlink("nowhere", f"{session}/dangling")
    os.symlink("../dir/file", f"{session}/dir/to-file")
    fence("commit", session)


def mount(*args):
    subprocess.run(["mount", *map(os.fspath, args)], check=True)


def test_absolute_and_relative(mnt):
    fill(mnt)
    for given, want in {
        "": ".",
        "/": ".",
        "/dir": "dir",
        "/dir/": "dir",
        "/dir//sub/../file": "dir/file",
        "/./dir/./sub/.": "dir/sub",
        "/dir/sub/..": "dir",
        "/new": "new",
        "/new/": "new",
        "/no/such/thing": "no/such/thing",
        "/no//such/./thing/": "no/such/thing",
    }.items():
        assert tree_path(f"{mnt.path}{given}") == want, given
    for cwd, given, want in [
        ("", ".", "."),
        ("", "dir/file", "dir/file"),
        ("dir", ".", "dir"),
        ("dir", "..", "."),
        ("dir/sub", "../new", "dir/new"),
        ("dir", "./x/y", "dir/x/y"),
    ]:
        assert tree_path(given, cwd=mnt / cwd) == want, (cwd, given)


def test_symlinks_in_the_tree(mnt):
    fill(mnt)
    # On the way they are followed, at the end not: they are what is meant.
    assert tree_path(mnt / "to-dir/file") == "dir/file"
    assert tree_path(mnt / "to-dir/new/er") == "dir/new/er"
    assert tree_path(mnt / "to-dir") == "to-dir"
    assert tree_path(f"{mnt.path}/to-dir/") == "dir"
    assert tree_path(mnt / "dangling") == "dangling"
    assert tree_path(mnt / "dir/to-file") == "dir/to-file"
    assert fence("show", "--json", mnt / "to-dir").json()["kind"] == "symlink"


def test_symlinks_from_outside(mnt, tmp):
    fill(mnt)
    (tmp / "shared").symlink_to(mnt.path)
    (tmp / "file").symlink_to(mnt / "dir/file")
    assert tree_path(tmp / "shared") == "."
    assert tree_path(tmp / "shared/dir/new") == "dir/new"
    assert tree_path(tmp / "file") == "dir/file"
    assert tree_path("shared/dir", cwd=tmp) == "dir"


def test_within_a_session(mnt):
    fill(mnt)
    view = fence("open", "-t", 2, mnt / "dir").lines[0]
    assert tree_path(view) == "."
    assert tree_path(f"{view}/dir/file") == "dir/file"
    assert tree_path("sub/new", cwd=f"{view}/dir") == "dir/sub/new"
    assert tree_path("..", cwd=f"{view}/dir") == "."
    fence("claim", "-t", 3, "file", cwd=f"{view}/dir")
    assert fence("show", "--json", mnt / "dir/file").json()["highest"] == "3"
    fence("abort", cwd=f"{view}/dir")


def test_the_reserved_name(mnt):
    for name in (".fence", ".fence/ctl", ".fence/sessions", ".fence/sessions/nothing"):
        result = fence("show", mnt / name, rc=1)
        assert result.err.startswith(f"fence: show {mnt.path}/{name}: "), result.err
    result = fence("put", "-t", 1, "-", mnt / ".fence/x", rc=1, input="x")
    assert result.err == f"fence: put {mnt.path}/.fence/x: the name .fence is reserved\n"
    assert tree_path(mnt / "dir/.fence") == "dir/.fence"


def test_bind_mounts(mnt, tmp):
    fill(mnt)
    for name in ("whole", "part", "view"):
        (tmp / name).mkdir()
    (tmp / "file").touch()
    view = fence("open", "-t", 2, mnt / "dir").lines[0]
    mount("--bind", mnt.path, tmp / "whole")
    mount("--bind", mnt / "dir", tmp / "part")
    mount("--bind", mnt / "dir/file", tmp / "file")
    mount("--bind", f"{view}/dir", tmp / "view")
    try:
        assert tree_path(tmp / "whole/dir/new") == "dir/new"
        assert tree_path(tmp / "part") == "dir"
        assert tree_path(tmp / "part/sub/new") == "dir/sub/new"
        assert tree_path(tmp / "file") == "dir/file"
        assert tree_path(tmp / "view/new") == "dir/new"
        fence("put", "-t", 2, "-", tmp / "part/written", input="x")
        assert (mnt / "dir/written").read_text() == "x"
        fence("commit", tmp / "view")
    finally:
        for name in ("whole", "part", "view", "file"):
            subprocess.run(["umount", tmp / name], check=False)


def test_mounts_in_the_mount(mnt, store):
    fill(mnt)
    mount("-t", "tmpfs", "none", mnt / "dir")
    try:
        result = fence("show", mnt / "dir/file", rc=10)
        assert result.err == f"fence: show {mnt.path}/dir/file: not in a fencefs mount\n"
        assert tree_path(mnt / "to-dir") == "to-dir"
    finally:
        subprocess.run(["umount", mnt / "dir"], check=True)
    assert tree_path(mnt / "dir/file") == "dir/file"


def test_two_mounts(mnt, tmp):
    other = Store(tmp / "other").mount()
    fence("put", "-t", 7, "-", other / "f", input="x")
    assert fence("show", "--json", other / "f").json()["highest"] == "7"
    assert "highest" not in fence("show", "--json", mnt / "f").json()
    result = fence("sessions", cwd="/", rc=10)
    assert result.err.startswith("fence: sessions: which mount is meant? there are "), result.err
    assert f" {mnt.path}" in result.err and f" {other.path}" in result.err
    assert result.err.endswith("; name one with --mount\n")
    assert fence("sessions", "--mount", other.path, cwd="/").out == ""
    assert fence("sessions", cwd=other.path).out == ""
    assert fence("sessions", cwd="/", env={"FENCE_DIR": str(mnt.path)}).out == ""


def test_mount_point_with_odd_name(store, tmp):
    odd = tmp / "a b\\c\td\nLF#é"
    odd.mkdir()
    mnt = Mount(store, mountpoint=odd).start()
    fence("put", "-p", "-t", 1, "-", mnt / "x/f", input="x")
    assert tree_path(mnt / "x/f") == "x/f"
    assert tree_path("f", cwd=mnt / "x") == "x/f"
    assert fence("sessions", "-m", odd, cwd="/").out == ""


def test_a_directory_that_is_gone(mnt):
    fill(mnt)
    script = 'cd "$1" && "$0" rm -r -t 2 "$2" && exec "$0" show new'
    result = run("sh", "-c", script, fence_program(), mnt / "dir/sub", mnt / "dir", rc=1)
    assert result.stderr == "fence: show new: its directory has been removed\n", result.stderr


def test_a_directory_whose_attributes_change(mnt):
    """The kernel forgets the name of the working directory then; fence must not."""
    fill(mnt)
    script = (
        'cd "$1" && v=$("$0" open -t 2 "$1") && chmod 700 "$v/dir" && "$0" commit "$v" &&'
        ' exec "$0" show --json file'
    )
    done = run("sh", "-c", script, fence_program(), mnt / "dir")
    assert '"path": "dir/file"' in done.stdout, done.stdout


def test_a_dead_mount(mnt):
    fill(mnt)
    mnt.kill()
    for path in (mnt.path, mnt / "dir/file"):
        result = fence("show", path, rc=1)
        assert result.err == (
            f"fence: show {path}: the daemon of this mount is gone; mount it again\n"
        ), result.err
