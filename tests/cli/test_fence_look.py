# SPDX-License-Identifier: MIT
"""fence show, log, cat and rm, also with names that are hard to print."""

import os
import re

from fenceharness import *

HOSTILE = [
    "a b",
    "new\nline",
    "tab\tand\rreturn",
    "100%",
    "quote\"and'",
    "back\\slash",
    "é€😀",
    "-t",
    "#",
    "esc\x1b[31m",
    "x" * 255,
    os.fsdecode(b"not\xff\xfeutf8\xc3"),
]


def put(mnt, path, content, token=1, *options, **kwargs):
    return fence("put", "-p", "-t", token, *options, "-", mnt / path, input=content, **kwargs)


def test_show(mnt):
    put(mnt, "dir/f", "x" * 5000, 41, "-o", "job-a")
    text = fence("show", mnt / "dir/f").out
    pattern = r"""path      dir/f
kind      file
version   1
revision  1
token     41
size      5000 \(4\.9 KiB\)
fence     41, set by job-a at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}
"""
    assert text.startswith("path      dir/f\nkind      file\n"), text
    assert re.match(pattern, text), text
    said = fence("show", "--json", mnt / "dir/f").json()
    assert said["path"] == "dir/f" and said["kind"] == "file"
    assert (said["version"], said["revision"], said["size"]) == (1, 1, 5000)
    assert (said["token"], said["highest"], said["set_by"]) == ("41", "41", "job-a")


def test_show_what_is_not_there(mnt):
    text = fence("show", mnt / "x/y").out
    assert text.startswith("path      x/y\nkind      absent\n"), text
    assert "fence     none: any token can claim this path\n" in text
    fence("claim", "-t", 7, "-o", "job-a", mnt / "x")
    text = fence("show", mnt / "x/y").out
    assert re.search(r"^fence +7, set (on x )?by job-a at ", text, re.M), text
    assert fence("show", mnt.path).out.startswith("path      .\nkind      dir\n")


def test_log(mnt):
    path = mnt / "f"
    result = fence("log", path, rc=1)
    assert (result.out, result.err) == ("", f"fence: log {path}: never had a version\n")
    assert fence("log", "--json", path, rc=1).json() == []
    for token in (1, 2, 3):
        put(mnt, "f", "x" * token, token, "-o", f"job-{token}")
    listed = fence("log", "--json", path).json()
    assert [v["version"] for v in listed] == [3, 2, 1]
    assert [v["token"] for v in listed] == ["3", "2", "1"]
    assert [v["owner"] for v in listed] == ["job-3", "job-2", "job-1"]
    assert [v["size"] for v in listed] == [3, 2, 1]
    assert [v["current"] for v in listed] == [True, False, False]
    assert listed[0]["hash"] == os.getxattr(path, "user.fence.hash").decode()
    table = fence("log", path).lines
    assert table[0].split() == "VERSION REVISION TIME KIND SIZE TOKEN OWNER HASH".split()
    assert len(table) == 4 and "  job-3  " in table[1]
    # It stays when the path goes.
    fence("rm", "-t", 4, path)
    assert [v["version"] for v in fence("log", "--json", path).json()] == [3, 2, 1]


def test_cat(mnt, tmp):
    content = os.urandom(3 << 20)
    put(mnt, "f", content)
    put(mnt, "g", "and more\n")
    fence("put", "-t", 1, "-", mnt / "small", input="x\n")
    assert fence("cat", mnt / "g", mnt / "small").out == "and more\nx\n"
    with open(tmp / "out", "wb") as out:
        run("sh", "-c", '"$0" cat "$1" >"$2"', fence_program(), mnt / "f", tmp / "out")
    assert (tmp / "out").read_bytes() == content
    result = fence("cat", mnt / "g", mnt / "missing", rc=3)
    assert result.out == "and more\n"
    assert result.err == f"fence: cat {mnt.path}/missing: No such file or directory\n"
    result = fence("cat", mnt.path, rc=1)
    assert result.err == f"fence: cat {mnt.path}: Is a directory\n"
    # The reader goes: no message.
    done = run("sh", "-c", '"$0" cat "$1" | head -c 1 >/dev/null', fence_program(), mnt / "f")
    assert done.stderr == ""


def test_hostile_names(mnt):
    for name in HOSTILE:
        put(mnt, f"dir/{name}", name.encode("utf-8", "surrogateescape"), 5, "-o", "job-a")
    assert sorted(os.listdir(mnt / "dir")) == sorted(HOSTILE)
    for name in HOSTILE:
        path = f"{mnt.path}/dir/{name}"
        assert fence("show", "--json", path).json()["path"] == f"dir/{name}"
        assert len(fence("log", "--json", path).json()) == 1
        assert fence("cat", path).out == name
        text = fence("show", path).out
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), repr(text)
        assert len(text.splitlines()) == len(fence("show", mnt / "dir/a b").lines)
        result = fence("put", "-t", 4, "-", path, input="x", rc=13)
        assert len(result.err.splitlines()) == 2, result.err
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.err), repr(result.err)
    rejected = fence("rejects", "--json", mnt.path).json()
    assert sorted(r["path"] for r in rejected) == sorted(f"dir/{name}" for name in HOSTILE)
    text = fence("rejects", mnt.path).out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), repr(text)
    for name in HOSTILE:
        fence("rm", "-t", 5, "--", f"{mnt.path}/dir/{name}")
    assert os.listdir(mnt / "dir") == []


def test_hostile_owner_and_op(mnt):
    owner = "job \"a\" % \\ é"
    put(mnt, "f", "x", 5, "-o", owner, "--op", owner)
    assert fence("show", "--json", mnt / "f").json()["set_by"] == owner
    result = fence("put", "-t", 4, "-", mnt / "f", input="x", rc=13)
    assert 'stale token 4 < 5 (set by job "a" % \\\\ é at ' in result.err, result.err
    result = fence("put", "-t", 6, "-o", "two\nlines", "-", mnt / "f", input="x", rc=1)
    assert result.err.startswith(f"fence: put {mnt.path}/f: "), result.err


def test_rm(mnt):
    for name in ("a", "b", "c", "d/e/f", "d/g"):
        put(mnt, name, "x", 5, "-o", "job-b")
    assert fence("rm", "-t", 5, mnt / "a").out == ""
    assert not (mnt / "a").exists()
    result = fence("rm", "-t", 4, mnt / "b", rc=13)
    assert "stale token 4 < 5 (set by job-b at " in result.err, result.err
    result = fence("rm", "-t", 5, mnt / "b", mnt / "missing", mnt / "c", rc=3)
    assert result.err.startswith(f"fence: rm {mnt.path}/missing: ")
    assert len(result.err.splitlines()) == 1
    assert os.listdir(mnt.path) == ["d"]
    result = fence("rm", "-t", 5, mnt / "missing", rc=1)
    result = fence("rm", "-t", 5, mnt / "d", rc=1)
    assert result.err.startswith(f"fence: rm {mnt.path}/d: "), result.err
    said = fence("rm", "-r", "--json", "-t", 5, mnt / "d").json()
    assert said["revision"] and os.listdir(mnt.path) == []
    result = fence("rm", "-r", "-t", 5, mnt.path, rc=1)
    assert result.err == f"fence: rm {mnt.path}: the root of the mount cannot be removed\n"


def test_rm_of_a_deep_tree(mnt):
    deep = "/".join(["d"] * 500)
    put(mnt, f"top/{deep}/f", "x", 5)
    session = fence("open", "-t", 5, mnt / "top").lines[0]
    os.symlink("/", f"{session}/top/link")
    os.symlink("nowhere", f"{session}/top/dangling")
    fence("commit", session)
    fence("rm", "-r", "-t", 6, mnt / "top")
    assert os.listdir(mnt.path) == [] and os.path.exists("/etc/passwd")


def test_late_rm_of_a_tree(mnt):
    put(mnt, "top/a/f", "x", 5)
    fence("claim", "-t", 9, "-o", "job-b", mnt / "top/a")
    result = fence("rm", "-r", "-t", 6, mnt / "top", rc=13)
    assert "stale token 6 < 9" in result.err, result.err
    assert (mnt / "top/a/f").read_text() == "x"
