# SPDX-License-Identifier: MIT
"""Looking back: fence log, cat @N, diff, restore, at, watch and timeline."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import xml.etree.ElementTree as xml

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
    "esc\x1b[31m",
    "at@2",
    "at@r2",
    "@",
    "@1",
    "x@",
    "<&>]]>",
    "x" * 255,
    os.fsdecode(b"not\xff\xfeutf8\xc3"),
]


def put(mnt, path, content, token=1, *options, **kwargs):
    return fence("put", "-p", "-t", token, "-o", "job", *options, "-", mnt / path, input=content, **kwargs)


def at(mnt, path, version) -> str:
    return f"{mnt.path}/{path}@{version}"


def named(path) -> str:
    """As the command line wants a name that ends in @ and a number."""
    return path + "@" if re.search(r"@(r0|r?[1-9][0-9]*)@*$", path) else path


# --------------------------------------------------------------------------------------- log, cat


def test_log_of_what_is_gone(mnt):
    put(mnt, "d/f", "one")
    put(mnt, "d/f", "two", 2)
    fence("rm", "-r", "-t", 3, mnt / "d")
    lines = fence("log", mnt / "d/f").lines
    assert lines[0] == "(gone since revision 3)" and lines[1].split()[0] == "VERSION"
    assert [line.split()[:2] for line in lines[2:]] == [["2", "2"], ["1", "1"]]
    listed = fence("log", "--json", mnt / "d/f").json()
    assert [(v["version"], v["current"], v["until"]) for v in listed] == [(2, False, "3"), (1, False, "2")]
    assert {"version", "revision", "at", "size", "token", "owner", "hash"} <= set(listed[0])
    (d,) = fence("log", "--json", mnt / "d").json()
    assert (d["kind"], d["revision"], d["until"]) == ("dir", 1, "3")
    put(mnt, "d/f", "three", 4)
    assert [v["version"] for v in fence("log", "--json", mnt / "d/f").json()] == [3, 2, 1]
    assert not fence("log", mnt / "d/f").out.startswith("(")


def test_log_of_a_directory_that_was_moved(mnt):
    put(mnt, "a/f", "one")
    view = fence("open", "-t", 1, mnt.path).lines[0]
    os.rename(f"{view}/a", f"{view}/b")
    fence("commit", view)
    (old,) = fence("log", "--json", mnt / "a/f").json()
    assert (old["current"], old["until"]) == (False, "2")
    (new,) = fence("log", "--json", mnt / "b/f").json()
    assert (new["current"], new["revision"], new["from"]) == (True, 1, "2")


def test_cat_of_versions(mnt):
    for i in (1, 2, 3):
        put(mnt, "d/f", f"{i}\n")
    put(mnt, "g", "g\n")
    assert [fence("cat", at(mnt, "d/f", i)).out for i in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    assert fence("cat", at(mnt, "d/f", "r2"), at(mnt, "d/f", 1), mnt / "g").out == "2\n1\ng\n"
    fence("rm", "-r", "-t", 1, mnt / "d")
    assert fence("cat", at(mnt, "d/f", 2)).out == "2\n"
    name = at(mnt, "d/f", 4)
    assert fence("cat", name, rc=1).err == f"fence: cat {name}: it has no version 4\n"
    name = at(mnt, "g", "r3")
    assert fence("cat", name, rc=1).err == f"fence: cat {name}: not in the tree of revision 3\n"
    name = at(mnt, "g", "r99")
    assert fence("cat", name, rc=1).err == f"fence: cat {name}: not in the tree of revision 99\n"
    name = at(mnt, "d", 1)
    assert fence("cat", name, rc=1).err == f"fence: cat {name}: Is a directory\n"
    assert fence("cat", mnt / "g", name, rc=3).out == "g\n"


def test_cat_of_a_link_of_the_past(mnt):
    view = fence("open", "-t", 1, mnt.path).lines[0]
    os.symlink("/etc/passwd", f"{view}/link")
    fence("commit", view)
    name = at(mnt, "link", 1)
    assert fence("cat", name, rc=1).err == f"fence: cat {name}: this is a symbolic link\n"


def test_names_that_end_like_a_version(mnt):
    put(mnt, "f", "f 1")
    put(mnt, "f", "f 2")
    put(mnt, "f@2", "named f@2")
    put(mnt, "f@2", "named f@2, again")
    put(mnt, "f@2@", "named f@2@")
    cat = lambda name: fence("cat", f"{mnt.path}/{name}").out
    assert (cat("f@1"), cat("f@2"), cat("f")) == ("f 1", "f 2", "f 2")
    assert (cat("f@2@"), cat("f@2@1"), cat("f@2@2")) == ("named f@2, again", "named f@2", "named f@2, again")
    assert (cat("f@2@@"), cat("f@2@@1")) == ("named f@2@", "named f@2@")
    put(mnt, "g@7", "g")
    result = fence("cat", f"{mnt.path}/g@7", rc=1)
    assert result.err == (
        f"fence: cat {mnt.path}/g@7: it has no version 7\n"
        f"fence: to name the file itself, and not a version: {mnt.path}/g@7@\n"
    )
    for name in ("h@0", "h@01", "h@x", "h@", "@", "h@1x", "h@-1"):
        put(mnt, name, name)
        assert cat(name) == name


def test_a_number_as_a_name(mnt):
    """The directory d/1 is not version 1 of d."""
    put(mnt, "d/1", "content of d/1")
    assert fence("cat", mnt / "d/1").out == "content of d/1"
    assert fence("cat", at(mnt, "d/1", 1)).out == "content of d/1"
    assert fence("cat", at(mnt, "d", 1), rc=1).err.endswith(": Is a directory\n")
    put(mnt, "e/1/f", "x")
    assert fence("cat", at(mnt, "e", 2), rc=1).err.endswith(": it has no version 2\n")


# ------------------------------------------------------------------------------------------- diff


def test_diff(mnt):
    put(mnt, "d/f", "one\ntwo\nthree\n")
    put(mnt, "d/f", "one\n2\nthree\n")
    put(mnt, "d/f", "one\n2\nthree\n")
    changed = "--- d/f@1\n+++ d/f@2\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert fence("diff", at(mnt, "d/f", 1), at(mnt, "d/f", 2), rc=1).out == changed
    assert fence("diff", at(mnt, "d/f", 2), at(mnt, "d/f", 3)).out == ""
    assert fence("diff", at(mnt, "d/f", 3)).out == ""
    assert fence("diff", at(mnt, "d/f", 1), rc=1).out == changed.replace("d/f@2", "d/f")
    assert fence("diff", "-U0", at(mnt, "d/f", 1), rc=1).lines[2:] == ["@@ -2 +2 @@", "-two", "+2"]
    said = fence("diff", "-q", at(mnt, "d/f", 1), rc=1).out
    assert said == "Files d/f@1 and d/f differ\n", said


def test_diff_of_directories(mnt):
    put(mnt, "d/same", "x\n")
    put(mnt, "d/f", "1\n")
    put(mnt, "d/f", "2\n")
    put(mnt, "d/new", "n\n")
    result = fence("diff", at(mnt, "d", "r2"), at(mnt, "d", "r4"), rc=1)
    assert "--- 2/d/f\t" in result.out and "+++ 4/d/new\t" in result.out and "same" not in result.out
    assert fence("diff", at(mnt, "d", "r2"), rc=1).out == result.out
    assert fence("diff", at(mnt, "d", 1), rc=1).out.count("\n+++ ") == 2
    assert fence("diff", at(mnt, "d", "r4")).out == ""
    assert fence("diff", f"{mnt.path}@r4").out == ""


def test_diff_within_a_session(mnt):
    put(mnt, "f", "old\n")
    view = fence("open", "-t", 1, mnt.path).lines[0]
    with open(f"{view}/f", "w") as file:
        file.write("new\n")
    assert fence("diff", f"{view}/f@1", rc=1).lines[3:] == ["-old", "+new"]
    fence("abort", view)


def test_diff_that_fails_is_2(mnt, tmp):
    put(mnt, "f", "x\n")
    name = at(mnt, "f", 9)
    assert fence("diff", name, rc=2).err == f"fence: diff {name}: it has no version 9\n"
    fence("rm", "-t", 1, mnt / "f")
    result = fence("diff", at(mnt, "f", 1), rc=2)
    assert result.err == f"fence: diff {mnt.path}/f: No such file or directory\n"
    result = fence("diff", mnt / "f", rc=2)
    assert result.err.startswith("fence: diff: at least one version is needed: PATH@N or PATH@rN\n")
    result = fence("diff", "-U", "x", at(mnt, "f", 1), rc=2)
    assert result.err.startswith('fence: diff: "x" is not a number of lines\n')
    result = fence("diff", f"{tmp}/x@1", rc=10)
    assert result.err == f"fence: diff {tmp}/x: not in a fencefs mount\n", result.err
    result = fence("diff", at(mnt, "f", 1), at(mnt, "f", 1), rc=2, env={"PATH": "/nonexistent"})
    assert result.err == "fence: diff: cannot run diff: No such file or directory\n"


# ---------------------------------------------------------------------------------------- restore


def test_restore(mnt):
    big = "x" * 100000
    put(mnt, "d/f", big)
    put(mnt, "d/f", "two")
    blobs = mnt.store.blobs()
    assert fence("restore", "-t", 1, at(mnt, "d/f", 1)).out == ""
    assert (mnt / "d/f").read_text() == big and mnt.store.blobs() == blobs
    newest, _, oldest = fence("log", "--json", mnt / "d/f").json()
    assert (newest["version"], newest["hash"]) == (3, oldest["hash"])
    said = fence("restore", "-v", "-t", 2, at(mnt, "d/f", 2)).out
    assert said == f"{mnt.path}/d/f: revision 4 has the content of version 2, under token 2\n"
    assert fence("restore", "--json", "-t", 2, at(mnt, "d/f", 1)).json()["revision"] == 5
    # What is gone comes back, with its parents.
    fence("rm", "-r", "-t", 3, mnt / "d")
    result = fence("restore", "-t", 3, at(mnt, "d/f", 1), rc=1)
    assert "parents" in result.err, result.err
    fence("restore", "-p", "-t", 3, at(mnt, "d/f", 1))
    assert (mnt / "d/f").read_text() == big
    # Twice with one key is once.
    first = fence("restore", "--json", "--op", "k", "-t", 3, at(mnt, "d/f", 2)).json()
    again = fence("restore", "--json", "--op", "k", "-t", 3, at(mnt, "d/f", 2)).json()
    assert first["revision"] == again["revision"]


def test_restore_with_a_lease(mnt, ctl):
    put(mnt, "f", "one")
    put(mnt, "f", "two", 7)
    fence("restore", "--lease", "-o", "fixer", at(mnt, "f", 1))
    newest = fence("log", "--json", mnt / "f").json()[0]
    assert (newest["token"], newest["owner"]) == ("8", "fixer")
    assert (mnt / "f").read_text() == "one"
    assert "lease_owner" not in ctl.expect_ok("stat", path="f")
    held = ctl.expect_ok("acquire", path="f", ttl="1h", owner="job-b")
    result = fence("restore", "--lease", at(mnt, "f", 2), rc=11)
    assert "job-b holds a lease on f for another " in result.err, result.err
    result = fence("restore", "--lease", "--wait", "200ms", at(mnt, "f", 2), rc=12)
    ctl.expect_ok("release", path="f", token=held["token"], owner="job-b")
    # A failure gives it back, too.
    fence("restore", "--lease", at(mnt, "f", 99), rc=1)
    assert "lease_owner" not in ctl.expect_ok("stat", path="f")


def test_restore_that_is_refused(mnt):
    put(mnt, "d/f", "one")
    put(mnt, "d/f", "two", 5)
    name = at(mnt, "d/f", 1)
    result = fence("restore", "-t", 4, name, rc=13)
    assert result.err.startswith(f"fence: restore {name}: stale token 4 < 5 (set "), result.err
    assert (mnt / "d/f").read_text() == "two"
    name = at(mnt, "d/f", 9)
    result = fence("restore", "-t", 5, name, rc=1)
    assert result.err == f"fence: restore {name}: this path has no such version, or gc has removed it\n"
    name = at(mnt, "d", 1)
    result = fence("restore", "-t", 5, name, rc=1)
    assert result.err == (
        f"fence: restore {name}: this version is a directory; a directory of the past is in .fence/at\n"
    )
    mistakes = {
        (mnt / "d/f",): f'"{mnt.path}/d/f" names no version: PATH@N',
        (at(mnt, "d/f", "r1"),): f'"{mnt.path}/d/f@r1" names no version: PATH@N',
        ("-l", "-t", "1", name): "only one of --token and --lease",
        ("--wait", "1s", "-t", "1", name): "--wait belongs to --lease",
        (name,): "no token: give --token N or set FENCE_TOKEN",
    }
    for argv, message in mistakes.items():
        assert fence("restore", *argv, rc=2).err.splitlines()[0] == f"fence: restore: {message}"


# --------------------------------------------------------------------------------------------- at


def test_at(mnt):
    assert fence("at", mnt.path).out == "0\n"
    put(mnt, "f", "1")
    time.sleep(0.05)
    between = time.time()
    time.sleep(0.05)
    put(mnt, "f", "2")
    assert fence("at", mnt / "not/there").out == "2\n"
    assert fence("at", "--json", mnt.path).json() == {"revision": 2}
    stamp = time.gmtime(between)
    fraction = f"{between % 1:.6f}"[1:]
    utc = time.strftime("%Y-%m-%dT%H:%M:%S", stamp) + fraction
    east = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(between + 5400)) + fraction
    for text in (f"{between:.6f}", utc + "Z", utc + "+00:00", east + "+01:30", east + " +0130"):
        assert fence("at", mnt.path, "--time", text).out == "1\n", text
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(between - 7200)) + fraction
    assert fence("at", mnt.path, "-T", local, env={"TZ": "XXX+2"}).out == "1\n"
    for text in ("now", "0s ago", "2200-01-01"):
        assert fence("at", mnt.path, "--time", text).out == "2\n", text
    for text in ("1h ago", "10m", "1d2h ago", "2001-02-03", "2001-02-03 04:05", "0"):
        result = fence("at", mnt.path, "--time", text, rc=1)
        assert result.err == f"fence: at {mnt.path}: the store did not exist yet\n", text
    for text in ("", "x", "2026-13-01", "2026-11-31 25:00", "1y ago", "-5", "12:61", "1.", "2026-11-30T"):
        result = fence("at", mnt.path, f"--time={text}", rc=2)
        assert result.err.startswith(f'fence: at: "{text}" is not a time: 2026-'), result.err


# ------------------------------------------------------------------------------------------ watch


@contextlib.contextmanager
def watching(*args):
    process = subprocess.Popen(
        [fence_program(), "watch", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_watch(mnt, ctl):
    put(mnt, "d/f", "x", 41)
    time_of = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
    with watching("--since", "0", mnt.path) as people, watching("--json", "--since", "0", mnt / "d") as lines:
        assert re.fullmatch(rf"{time_of}  commit   d/f  job \(41\) commits revision 1, 2 changes\n", people.stdout.readline())
        assert json.loads(lines.stdout.readline())["path"] == "d/f"
        put(mnt, "e", "x", 41)
        put(mnt, "d/f", "x", 40, rc=13)
        ctl.expect_ok("acquire", path="d", ttl="90s", owner="b c")
        rest = [re.sub(time_of, "T", people.stdout.readline()) for _ in range(3)]
        assert rest == [
            "T  commit   e  job (41) commits revision 2, 1 change\n",
            "T  refuse   d/f  job (40) is refused at put: overtaken by job (41)\n",
            "T  grant    d  b c (42) is granted the lease for 1 min 30 s\n",
        ], rest
        assert [json.loads(lines.stdout.readline())["event"] for _ in range(2)] == ["refuse", "grant"]
        people.send_signal(signal.SIGINT)
        lines.send_signal(signal.SIGTERM)
        assert (people.wait(10), lines.wait(10)) == (0, 0)
        assert (people.stderr.read(), lines.stderr.read()) == ("", "")


def test_watch_concerns_what_is_above(mnt, ctl):
    with watching(mnt / "d/f") as watch:
        wait_until(lambda: watch_is_reading(watch.pid), "it to wait for an event")
        ctl.expect_ok("claim", path="other", token=1, owner="a")
        ctl.expect_ok("claim", path="d", token=2, owner="a")
        assert watch.stdout.readline().endswith("  claim    d  a (2) claims it\n")
    result = fence("watch", "--since", "x", mnt.path, rc=2)
    assert result.err.splitlines()[0] == (
        'fence: watch: "x" is not a revision; fence at prints the revision of a time'
    )


def watch_is_reading(pid) -> bool:
    with open(f"/proc/{pid}/syscall") as file:
        return file.read().startswith("0 ")


def test_watch_ends_with_the_mount(mnt):
    with watching(mnt.path) as watch:
        wait_until(lambda: watch_is_reading(watch.pid), "it to wait for an event")
        mnt.terminate()
        assert watch.wait(20) == 1
        assert watch.stderr.read() == f"fence: watch {mnt.path}: unmounted: no more events\n"


def test_watch_when_nobody_reads(mnt):
    put(mnt, "f", "x")
    with watching("--since", "0", mnt.path) as watch:
        assert "revision 1" in watch.stdout.readline()
        watch.stdout.close()
        put(mnt, "f", "x")
        assert watch.wait(20) in (1, -signal.SIGPIPE)


# --------------------------------------------------------------------------------------- timeline


def columns(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line
    )


def incident(mnt):
    """A is granted, expires; B takes over and publishes; A comes late, twice."""
    a, b = mnt.ctl(), mnt.ctl()
    t1 = a.expect_ok("acquire", path="reports/", ttl="200ms", owner="job-a").int("token")
    s = a.expect_ok("open", path="reports/", token=t1, owner="job-a")
    (mnt / s["path"] / "f").write_text("half")
    wait_until(lambda: "lease_owner" not in b.expect_ok("stat", path="reports"), "the end of the lease")
    t2 = b.expect_ok("acquire", path="reports/", ttl="1h", owner="job-b").int("token")
    for i in range(20):
        b.expect_ok("put", b"x", path="reports/f", token=t2, owner="job-b", size=1, parents=1)
    a.expect_err("ESTALE", "commit", session=s["session"])
    a.expect_err("ESTALE", "put", b"x", path="reports/f", token=t1, owner="job-a", size=1)
    return a, b


def picture(text: str) -> list[str]:
    """Without the times."""
    return [re.sub(r"^(\d\d:\d\d:\d\d\.\d{3}|now \d\d:\d\d:\d\d)", "T", line) for line in text.splitlines()]


def test_timeline(mnt):
    held = incident(mnt)
    got = picture(fence("timeline", mnt / "reports").out)
    assert got[0].startswith("reports  ") and re.search(r" \d{4}-\d\d-\d\d, times in [+-]\d{4}$", got[0])
    want = """
T  ┏    job-a (1) is granted the lease for 0.2 s
T  ┌    job-a (1) opens a session
T  !    job-a (1) let the lease expire
T  · ┏  job-b (2) is granted the lease for 1 h
T  · ●  job-b (2) commits revision 1, 2 changes, on reports/f
              · ┃  … 18 more like this, up to revision 19
T  · ●  job-b (2) commits revision 20, 1 change, on reports/f
T  ✗─┤  job-a (1) is refused at commit: overtaken by job-b (2)
T  ✗─┤  job-a (1) is refused at put: overtaken by job-b (2), on
                ┃    reports/f
T    ┃  job-b (2) holds the lease, 59 min N s left
""".splitlines()
    legend = got.index("", 2)
    shown = [re.sub(r"59 min \d+ s", "59 min N s", line) for line in got[1:legend]]
    assert [line for line in shown if "⋮" not in line] == want, "\n".join(got)
    items = set("   ".join(got[legend + 1 :]).split("   ")) - {"┆ lease over, nobody else yet"}
    assert items == {
        "● commit",
        "✗ refused",
        "┌ claim",
        "┏ lease granted",
        "! expired",
        "┃ holds the lease",
        "· overtaken",
    }, items
    for c in held:
        c.close()


def test_timeline_of_a_file_tells_what_changed_it(mnt):
    put(mnt, "d/f", "x")
    view = fence("open", "-t", 1, "-o", "job", mnt / "d").lines[0]
    with open(f"{view}/d/other", "w"):
        pass
    fence("commit", view)
    fence("rm", "-r", "-t", 1, "-o", "job", mnt / "d")
    got = [line.split()[1] for line in picture(fence("timeline", mnt / "d/f").out) if line.startswith("T ")]
    assert got[:4] == ["●", "┌", "○", "●"] or got[:5] == ["●", "┌", "○", "┌", "●"], got


def test_timeline_looks_right_everywhere(mnt, tmp):
    held = incident(mnt)
    long_owner = "an-owner-with-a-name-that-is-long@host.example.org:123456"
    put(mnt, "reports/" + "名前" * 30, "x", 50, "-o", long_owner)
    put(mnt, "reports/" + "é" * 60, "x", 51, "-o", "日本語の名前" * 5)
    put(mnt, "reports/" + "n" * 200, "x", 52)
    text = fence("timeline", mnt / "reports").out
    assert max(map(columns, text.splitlines())) <= 80
    assert "\033" not in text
    assert "an-owner-with-a-name-that-i… (50)" in text
    # Wide as the terminal, which alone gets colours.
    for width, env in ((120, {}), (50, {}), (100, {"COLUMNS": "100"})):
        shown = on_terminal(120 if env else width, env, "timeline", mnt / "reports")
        plain = re.sub(r"\033\[[0-9;]*m", "", shown)
        assert "\033[" in shown and max(map(columns, plain.splitlines())) <= width
    assert "\033" not in on_terminal(80, {}, "timeline", "--color", "never", mnt / "reports")
    assert "\033" not in on_terminal(80, {"NO_COLOR": "1"}, "timeline", mnt / "reports")
    colored = fence("timeline", "--color", "always", mnt / "reports").out
    strip_now = lambda s: re.sub(r"now [^\n]*", "", s)
    assert strip_now(re.sub(r"\033\[[0-9;]*m", "", colored)) == strip_now(text)
    ascii_text = fence("timeline", mnt / "reports", env={"LC_ALL": "C"}).out
    without_names = re.sub("[名前é日本語の]", "", ascii_text)
    assert without_names.isascii(), without_names
    for c in held:
        c.close()


def on_terminal(width, env, *args) -> str:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    environment.update({"LC_ALL": "C.UTF-8", **env})
    process = subprocess.Popen(
        [fence_program(), *map(str, args)], stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    out = b""
    with contextlib.suppress(OSError):
        while part := os.read(leader, 65536):
            out += part
    os.close(leader)
    assert process.wait(20) == 0
    return out.decode().replace("\r\n", "\n")


def test_timeline_svg(mnt, tmp):
    held = incident(mnt)
    for name in ("<&>]]>", "\ufffe\uffff", "esc\x1b[31m"):
        put(mnt, f"reports/{name}", "x", 60)
    file = tmp / "picture.svg"
    assert fence("timeline", "--svg", file, mnt / "reports").out == ""
    top = xml.parse(file).getroot()
    assert top.tag.endswith("}svg")
    texts = ["".join(e.itertext()) for e in top.iter() if e.tag.endswith("}text")]
    assert "job-a (1) is refused at commit: overtaken by job-b (2)" in texts
    assert any(text.endswith("reports/<&>]]>") for text in texts), texts
    assert "refused" in texts and "holds the lease" in texts
    assert xml.fromstring(fence("timeline", "--svg", "-", mnt / "reports").out.encode()).tag == top.tag
    result = fence("timeline", "--svg", tmp, mnt / "reports", rc=1)
    assert result.err == f"fence: timeline {tmp}: Is a directory\n"
    for c in held:
        c.close()


def test_timeline_since(mnt):
    for i in range(1, 5):
        put(mnt, "f", "x", i)
    revisions = lambda *args: re.findall(r"revision (\d+)", fence("timeline", *args, mnt / "f").out)
    assert revisions() == revisions("--since", "0") == ["1", "2", "3", "4"]
    assert revisions("--since", "2") == ["3", "4"]
    assert revisions("--since", "1h ago") == ["1", "2", "3", "4"]
    text = fence("timeline", "--since", "4", mnt / "f").out
    assert "(4 earlier events are not shown)\n" in text and "no lease; 4 is the highest token" in text
    result = fence("timeline", "--since", "x", mnt / "f", rc=2)
    assert result.err.startswith('fence: timeline: "x" is neither a revision nor a time: 2026-')
    result = fence("timeline", mnt / "nothing", rc=1)
    assert result.err == f"fence: timeline {mnt.path}/nothing: nothing is recorded for this path\n"
    result = fence("timeline", "--color", "blue", mnt / "f", rc=2)
    assert result.err.startswith('fence: timeline: "blue" is not one of auto, always and never\n')


def test_timeline_of_many_owners_at_once(mnt):
    """More lanes than there are columns for."""
    held = [mnt.ctl() for _ in range(30)]
    for i, ctl in enumerate(held):
        ctl.expect_ok("acquire", path=f"d/{i}", ttl="1h", owner=f"job-{i}")
    text = fence("timeline", mnt / "d").out
    assert max(map(columns, text.splitlines())) <= 80
    assert all(f"job-{i} (" in text for i in range(30))
    for ctl in held:
        ctl.close()


# ------------------------------------------------------------------------------------ hostile names


def test_hostile_names(mnt):
    control = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
    for name in HOSTILE:
        put(mnt, f"dir/{name}", "one\n", 5)
        put(mnt, f"dir/{name}", "two\n", 5)
        path = f"{mnt.path}/dir/{name}"
        assert fence("cat", f"{path}@1").out == "one\n", name
        assert fence("cat", named(path)).out == "two\n", name
        diff = fence("diff", f"{path}@1", f"{path}@2", rc=1)
        assert diff.out.endswith("-one\n+two\n") and len(diff.lines) == 5, diff.out
        assert not control.search(diff.out), diff.out
        fence("restore", "-t", 5, f"{path}@1")
        assert fence("cat", named(path)).out == "one\n", name
        for verb in ("log", "timeline"):
            text = fence(verb, "--", path).out
            assert not control.search(text), text
        assert [v["version"] for v in fence("log", "--json", path).json()] == [3, 2, 1]
        result = fence("cat", f"{path}@9", rc=1)
        assert not control.search(result.err) and len(result.err.splitlines()) == 1, result.err
    with watching("--since", "0", mnt.path) as watch:
        lines = [watch.stdout.readline() for _ in range(3 * len(HOSTILE))]
    assert not control.search("".join(lines))


def test_elsewhere_is_10(tmp):
    for argv in (["cat", f"{tmp}/f@1"], ["restore", "-t", "1", f"{tmp}/f@1"], ["at", tmp], ["watch", tmp], ["timeline", tmp]):
        result = fence(*argv, rc=10)
        shown = argv[-1] if argv[0] not in ("cat", "restore") else f"{tmp}/f"
        assert result.err == f"fence: {argv[0]} {shown}: not in a fencefs mount\n", result.err
