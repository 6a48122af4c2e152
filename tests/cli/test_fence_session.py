# SPDX-License-Identifier: MIT
"""fence open, commit, abort and sessions."""

import os
import re

from fenceharness import *


def open_session(mnt, path, token, *options, **kwargs):
    return fence("open", "--json", "-t", token, *options, f"{mnt.path}/{path}", **kwargs).json()


def fence_where_it_is_the_only_mount(mnt, *args) -> Result:
    """`fence ARGS` where no other fencefs is mounted, whatever runs beside this test."""
    done = run(*own_mounts(keep=mnt.path), fence_program(), *args, cwd="/")
    return Result(done.returncode, done.stdout, done.stderr)


def test_open_prints_the_directory(mnt):
    result = fence("open", "-t", 41, mnt / "reports")
    (directory,) = result.lines
    assert re.fullmatch(re.escape(f"{mnt.path}/.fence/sessions/") + "[0-9a-f]{32}", directory)
    assert os.path.isdir(directory)
    said = open_session(mnt, "reports", 41)
    assert said["dir"] == f"{mnt.path}/.fence/sessions/{said['id']}"
    assert said["path"] == f"{said['dir']}/reports" and said["token"] == "41"


def test_commit_by_id_by_path_and_from_within(mnt):
    for name, commit in {
        "a": lambda s: fence("commit", s["id"], cwd=mnt.path),
        "b": lambda s: fence("commit", s["dir"]),
        "c": lambda s: fence("commit", s["path"]),
        "d": lambda s: fence("commit", cwd=s["dir"]),
        "e": lambda s: fence(
            "commit", cwd="/", env={"FENCE_SESSION": s["id"], "FENCE_DIR": s["dir"]}
        ),
        "f": lambda s: fence("commit", "-m", mnt / "x", s["id"], cwd="/"),
        "g": lambda s: fence_where_it_is_the_only_mount(mnt, "commit", s["id"]),
    }.items():
        session = open_session(mnt, name, 1)
        with open(session["path"], "w") as f:
            f.write(name)
        result = commit(session)
        assert result.out == result.err == ""
        assert (mnt / name).read_text() == name
    session = open_session(mnt, "h", 1)
    open(session["path"], "w").close()
    assert fence("commit", "-v", session["dir"]).out == "revision 8, 1 changed\n"
    session = open_session(mnt, "i", 1)
    open(session["path"], "w").close()
    assert fence("commit", "--json", session["dir"]).json() == {"revision": 9, "changed": 1}


def test_a_directory_to_be_made(mnt):
    directory = fence("open", "-p", "-t", 41, f"{mnt.path}/a/b/").lines[0]
    with open(f"{directory}/a/b/f", "w") as f:
        f.write("x")
    fence("commit", directory)
    assert (mnt / "a/b/f").read_text() == "x"
    assert fence("show", "--json", mnt / "a").json().get("highest") is None


def test_abort(mnt):
    session = open_session(mnt, "f", 1)
    open(session["path"], "w").close()
    assert fence("abort", session["dir"]).out == ""
    assert os.listdir(mnt.path) == []
    result = fence("commit", session["id"], cwd=mnt.path, rc=1)
    assert result.err.startswith(f"fence: commit {session['id']}: "), result.err
    session = open_session(mnt, "f", 1)
    assert fence("abort", "-v", session["dir"]).out == (
        f"session {session['id']} ended; nothing was published\n"
    )


def test_an_overtaken_session(mnt):
    late = open_session(mnt, "reports/", 41, "-o", "job-a")
    with open(f"{late['path']}/f", "w") as f:
        f.write("late")
    new = open_session(mnt, "reports/", 42, "-o", "job-b")
    with open(f"{new['path']}/f", "w") as f:
        f.write("new")
    states = {s["id"]: s["state"] for s in fence("sessions", "--json", mnt.path).json()}
    assert states == {late["id"]: "overtaken", new["id"]: "open"}
    fence("commit", new["dir"])
    result = fence("commit", late["dir"], rc=13)
    lines = result.err.splitlines()
    assert re.fullmatch(
        f"fence: commit {late['id']}: "
        r"stale token 41 < 42 \(set on reports by job-b at "
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}\)",
        lines[0],
    ), result.err
    assert lines[1] == "fence: nothing was published; what was refused is kept: fence rejects"
    assert (mnt / "reports/f").read_text() == "new"
    result = fence("open", "-t", 41, mnt / "reports", rc=13)
    assert "stale token 41 < 42 (set by job-b at " in result.err


def test_sessions(mnt):
    assert fence("sessions", mnt.path).out == ""
    assert fence("sessions", "--json", mnt.path).json() == []
    a = open_session(mnt, "a b\n/", 9007199254740993, "-o", "job a", "--ttl", "30m")
    b = open_session(mnt, "c", 2, "-o", "job-b")
    listed = {s["id"]: s for s in fence("sessions", "--json", mnt.path).json()}
    assert set(listed) == {a["id"], b["id"]}
    one = listed[a["id"]]
    assert (one["path"], one["token"], one["owner"]) == ("a b\n", "9007199254740993", "job a")
    assert (one["uid"], one["keep"], one["state"]) == (0, True, "open")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", one["opened"])
    table = fence("sessions", mnt.path).lines
    assert re.fullmatch(r"SESSION +STATE +TOKEN +OWNER +OPENED +STAGED +PATH", table[0]), table
    assert len(table) == 3
    (row,) = [line for line in table if line.startswith(a["id"])]
    assert "  9007199254740993  job a  " in row and row.endswith("  a b\\n")
    assert [s["id"] for s in fence("sessions", "--json", mnt / "c").json()] == [b["id"]]


def test_sequence_numbers(mnt):
    for seq, rc in ((2, 0), (1, 13), (3, 0)):
        session = open_session(mnt, "f", 1)
        with open(session["path"], "w") as f:
            f.write(str(seq))
        fence("commit", "--seq", seq, session["dir"], rc=rc)
    assert (mnt / "f").read_text() == "3"


def test_exclusive(mnt):
    twin = open_session(mnt, "f", 1)
    open(twin["path"], "w").close()
    newest = open_session(mnt, "f", 1, "--exclusive")
    result = fence("commit", twin["dir"], rc=13)
    assert result.err.startswith(f"fence: commit {twin['id']}: "), result.err
    assert "stale token 1 < 1" not in result.err
    open(newest["path"], "w").close()
    fence("commit", newest["dir"])


def test_what_is_no_session(mnt):
    result = fence("commit", mnt / "x", rc=2)
    assert result.err.splitlines()[0] == (
        f"fence: commit: {mnt.path}/x is not in a session's view (.fence/sessions/ID)"
    )
    result = fence("commit", "0" * 32, cwd=mnt.path, rc=1)
    assert result.err.startswith(f"fence: commit {'0' * 32}: "), result.err
    result = fence("abort", "0" * 32, cwd=mnt.path, rc=1)
    assert result.err.startswith(f"fence: abort {'0' * 32}: "), result.err


def test_another_user_cannot_touch_it(mnt):
    session = open_session(mnt, "f", 1)
    for verb in ("commit", "abort"):
        result = fence(verb, session["id"], cwd=mnt.path, uid=65534, rc=1)
        assert result.err.startswith(f"fence: {verb} {session['id']}: no such session"), result.err
    result = fence("commit", session["dir"], uid=65534, rc=1)
    assert result.err == f"fence: commit {session['id']}: no such session\n", result.err
    fence("abort", session["id"], cwd=mnt.path)
