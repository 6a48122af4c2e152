# SPDX-License-Identifier: MIT
"""fence rejects: who was refused what, and the data (P9)."""

import os
import re
import stat

from fenceharness import *

WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}"


def refused(mnt, path, content, token=41, **kwargs):
    fence("put", "-p", "-t", token, "-o", "job-a", "-", mnt / path, input=content, rc=13, **kwargs)


def test_none(mnt):
    assert fence("rejects", mnt.path).out == ""
    assert fence("rejects", "--json", mnt.path).json() == []


def test_what_is_listed(mnt):
    fence("claim", "-t", 42, "-o", "job-b", mnt / "dir")
    refused(mnt, "dir/f", "precious")
    fence("claim", "-t", 40, "-o", "job-c", mnt / "dir", rc=13)
    put, claim = fence("rejects", "--json", mnt.path).json()
    assert (put["path"], put["token"], put["highest"]) == ("dir/f", "41", "42")
    assert (put["owner"], put["held_by"], put["held_path"]) == ("job-a", "job-b", "dir")
    assert (put["stage"], put["why"], put["size"]) == ("put", "ESTALE", 8)
    assert put["data"] == f"{mnt.path}/.fence/rejects/{put['id']}"
    assert (claim["stage"], claim["token"], claim["owner"]) == ("claim", "40", "job-c")
    assert "data" not in claim
    text = fence("rejects", mnt.path).out
    pattern = (
        rf"{put['id']}  {WHEN}  dir/f\n"
        r"   token 41 of job-a refused at put: ESTALE, 42 was set on dir by job-b\n"
        rf"   8 bytes kept in {re.escape(put['data'])}\n"
        rf"{claim['id']}  {WHEN}  dir\n"
        r"   token 40 of job-c refused at claim: ESTALE, 42 was set by job-b\n"
    )
    assert re.fullmatch(pattern, text), text


def test_only_those_of_a_path(mnt):
    fence("claim", "-t", 42, mnt.path)
    for path in ("a/f", "a/g", "b/f"):
        refused(mnt, path, path)
    assert [r["path"] for r in fence("rejects", "--json", mnt / "a").json()] == ["a/f", "a/g"]
    assert [r["path"] for r in fence("rejects", "--json", mnt / "b/f").json()] == ["b/f"]


def test_save(mnt, tmp):
    content = os.urandom(300_000)
    fence("claim", "-t", 42, mnt / "f")
    refused(mnt, "f", content)
    (one,) = fence("rejects", "--json", mnt.path).json()
    target = tmp / "saved"
    assert fence("rejects", "-m", mnt.path, "--save", one["id"], target).out == ""
    assert target.read_bytes() == content
    result = fence("rejects", "-m", mnt.path, "--save", one["id"], target, rc=1)
    assert result.err == f"fence: rejects {target}: already exists; --force overwrites it\n"
    target.write_text("mine")
    fence("rejects", "-m", mnt.path, "--force", "--save", one["id"], target)
    assert target.read_bytes() == content
    fence("rejects", "--save", one["id"], tmp / "second", cwd="/", env={"FENCE_DIR": str(mnt.path)})
    fence("rejects", "--save", one["id"], tmp / "third", cwd=mnt.path)
    assert (tmp / "second").read_bytes() == (tmp / "third").read_bytes() == content
    done = run(
        "sh", "-c", '"$0" rejects -m "$1" --save "$2" - >"$3"',
        fence_program(), mnt.path, one["id"], tmp / "out",
    )  # fmt: skip
    assert done.stderr == "" and (tmp / "out").read_bytes() == content
    result = fence("rejects", "-m", mnt.path, "--save", one["id"], tmp / "no/such", rc=1)
    assert result.err == f"fence: rejects {tmp}/no/such: No such file or directory\n"
    result = fence("rejects", "-m", mnt.path, "--save", 999, tmp / "x", rc=1)
    assert result.err == "fence: rejects 999: no data is kept under this id\n"
    assert sorted(os.listdir(tmp)) == ["out", "saved", "second", "third"]


def test_a_session_refused_at_commit(mnt):
    late = fence("open", "--json", "-t", 41, "-o", "job-a", f"{mnt.path}/dir/").json()
    for name in ("a", "b"):
        with open(f"{late['path']}/{name}", "w") as f:
            f.write(f"late {name}")
    fence("claim", "-t", 42, "-o", "job-b", mnt / "dir")
    fence("commit", late["dir"], rc=13)
    listed = fence("rejects", "--json", mnt.path).json()
    assert sorted(r["path"] for r in listed) == ["dir/a", "dir/b"]
    for r in listed:
        assert (r["stage"], r["session"], r["owner"]) == ("commit", late["id"], "job-a")
        saved = fence("rejects", "-m", mnt.path, "--save", r["id"], "-").out
        assert saved == f"late {r['path'][-1]}"


def test_only_the_refused_user_and_root_read_it(mnt):
    fence("put", "-t", 1, "--mode", "0666", "-", mnt / "f", input="x")
    fence("claim", "-t", 42, mnt / "f")
    refused(mnt, "f", "secret", uid=65534)
    (one,) = fence("rejects", "--json", mnt.path).json()
    save = ["rejects", "-m", mnt.path, "--save", one["id"], "-"]
    assert fence(*save).out == "secret"
    assert fence(*save, uid=65534).out == "secret"
    result = fence(*save, uid=1234, rc=1)
    assert result.err == (
        f"fence: rejects {one['id']}: only root and the user who was refused may read it\n"
    )
    assert stat.S_IMODE(os.stat(one["data"]).st_mode) == 0o400
