# SPDX-License-Identifier: MIT
"""fence put and fence claim: what they publish, what they refuse, and what they say then."""

import os
import re
import stat

from fenceharness import *

WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}"
LARGE = 65 << 20  # more than one request carries


def line_of(result) -> str:
    return result.err.splitlines()[0]


def assert_stale(result, what, text, by="job-b", where=""):
    """The first line on stderr is the refusal of @what with @text ("41 < 42")."""
    pattern = re.escape(f"fence: {what}: stale token {text} (set {where}by {by} at ") + WHEN + r"\)"
    assert re.fullmatch(pattern, line_of(result)), result.err


def test_put_a_file(mnt, tmp):
    (tmp / "a.csv").write_text("one\n")
    result = fence("put", "--token", 41, tmp / "a.csv", mnt / "a.csv")
    assert result.out == result.err == ""
    assert (mnt / "a.csv").read_text() == "one\n"
    result = fence("put", "-v", "-t41", tmp / "a.csv", mnt / "b.csv")
    assert result.out == "revision 2\n"


def test_put_standard_input(mnt):
    fence("put", "-t", 41, "-", mnt / "empty", input="")
    assert (mnt / "empty").read_bytes() == b""
    content = bytes(range(256)) * 40
    fence("put", "-t", 41, "-", mnt / "bytes", input=content)
    assert (mnt / "bytes").read_bytes() == content


def test_token_from_the_environment(mnt):
    fence("put", "-", mnt / "f", input="x", env={"FENCE_TOKEN": "41", "FENCE_OWNER": "job-a"})
    shown = fence("show", "--json", mnt / "f").json()
    assert (shown["token"], shown["highest"], shown["set_by"]) == ("41", "41", "job-a")


def test_default_owner_says_who_and_where(mnt):
    fence("put", "-t", 41, "-", mnt / "f", input="x", env={"FENCE_OWNER": ""})
    owner = fence("show", "--json", mnt / "f").json()["set_by"]
    assert owner == f"root@{os.uname().nodename}:{os.getpid()}", owner


def test_late_put_is_refused(mnt):
    fence("put", "-t", 42, "-o", "job-b", "-", mnt / "f", input="newer")
    result = fence("put", "-t", 41, "-", mnt / "f", input="older", rc=13)
    assert_stale(result, f"put {mnt.path}/f", "41 < 42")
    assert result.err.splitlines()[1:] == [
        "fence: nothing was published; what was refused is kept: fence rejects"
    ]
    assert result.out == ""
    assert (mnt / "f").read_text() == "newer"
    # An equal token passes, and so does a higher one.
    fence("put", "-t", 42, "-", mnt / "f", input="again")
    fence("put", "-t", 43, "-", mnt / "f", input="newest")
    assert (mnt / "f").read_text() == "newest"


def test_the_fence_above_is_named(mnt):
    fence("put", "-p", "-t", 1, "-", mnt / "dir/f", input="x")
    fence("claim", "-t", 42, "-o", "job-b", mnt / "dir")
    result = fence("put", "-t", 41, "-", mnt / "dir/f", input="older", rc=13)
    assert_stale(result, f"put {mnt.path}/dir/f", "41 < 42", where="on dir ")


def test_refusal_as_json(mnt):
    fence("claim", "-t", 9223372036854775807, "-o", "job-b", mnt / "f")
    result = fence("put", "--json", "-t", 9223372036854775806, "-", mnt / "f", input="x", rc=13)
    said = result.json()
    assert said["error"] == "ESTALE"
    assert said["token"] == "9223372036854775806" and said["highest"] == "9223372036854775807"
    assert said["set_by"] == "job-b" and said["path"] == said["held_path"] == "f"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", said["set_at"])


def test_put_as_json(mnt):
    said = fence("put", "--json", "-t", 41, "-", mnt / "f", input="x").json()
    assert said["revision"] == 1


def test_claim(mnt):
    assert fence("claim", "-t", 42, "-o", "job-b", mnt / "not/there/yet").out == ""
    result = fence("claim", "-t", 41, mnt / "not/there/yet", rc=13)
    assert_stale(result, f"claim {mnt.path}/not/there/yet", "41 < 42")
    assert result.err.splitlines()[1:] == [
        "fence: a newer owner has taken this path; only a higher token can change it now"
    ]
    assert fence("claim", "-v", "-t", 43, mnt / "not").out == "claimed with token 43\n"
    assert fence("claim", "--json", "-t", 43, mnt / "not").json() == {"token": "43"}
    assert_stale(
        fence("claim", "-t", 42, "-o", "x", mnt / "not/there", rc=13),
        f"claim {mnt.path}/not/there",
        "42 < 43",
        by=f"root@{os.uname().nodename}:{os.getpid()}",
        where="on not ",
    )


def test_into_a_directory_as_cp_does(mnt, tmp):
    for name in ("a", "b"):
        (tmp / name).write_text(name)
    fence("put", "-p", "-t", 1, tmp / "a", f"{mnt.path}/dir/")  # is made
    assert (mnt / "dir/a").read_text() == "a"
    fence("put", "-t", 1, tmp / "b", mnt / "dir")
    assert (mnt / "dir/b").read_text() == "b"
    result = fence("put", "-t", 1, "-", mnt / "dir", rc=2, input="x")
    assert line_of(result) == (
        f"fence: put: {mnt.path}/dir is a directory: standard input needs a name in it"
    )


def test_missing_parents(mnt):
    result = fence("put", "-t", 1, "-", mnt / "x/y/f", input="x", rc=1)
    assert line_of(result).startswith(f"fence: put {mnt.path}/x/y/f: "), result.err
    assert not (mnt / "x").exists()
    fence("put", "--parents", "-t", 1, "-", mnt / "x/y/f", input="x")
    assert (mnt / "x/y/f").read_text() == "x"
    # Making them took nothing from anyone.
    fence("put", "-p", "-t", 0, "-", mnt / "x/z/f", input="x")


def test_several_files_are_one_commit(mnt, tmp):
    names = [f"f{i}" for i in range(20)]
    for name in names:
        (tmp / name).write_text(name)
    sources = [tmp / name for name in names]
    result = fence("put", "-t", 1, *sources, mnt / "dir", rc=1)
    assert line_of(result) == (
        f"fence: put {mnt.path}/dir: is not a directory, and several files need one"
    )
    said = fence("put", "--json", "-p", "-t", 1, *sources, f"{mnt.path}/dir/").json()
    assert said["revision"] == 1
    assert sorted(os.listdir(mnt / "dir")) == sorted(names)
    assert {os.getxattr(mnt / "dir" / name, "user.fence.revision") for name in names} == {b"1"}
    # One that cannot be read: nothing is published.
    result = fence("put", "-t", 2, tmp / "f0", tmp / "missing", tmp / "f1", mnt / "dir", rc=1)
    assert line_of(result) == f"fence: put {tmp}/missing: No such file or directory"
    assert os.getxattr(mnt / "dir/f0", "user.fence.revision") == b"1"
    # A late one.
    fence("claim", "-t", 5, "-o", "job-b", mnt / "dir")
    result = fence("put", "-t", 2, tmp / "f0", tmp / "f1", mnt / "dir", rc=13)
    assert_stale(result, f"put {mnt.path}/dir", "2 < 5")


def test_sources_that_are_none(mnt, tmp):
    (tmp / "sub").mkdir()
    result = fence("put", "-t", 1, tmp / "sub", mnt / "f", rc=1)
    assert result.err.splitlines() == [
        f"fence: put {tmp}/sub: is a directory",
        "fence: publish a whole directory through a session: fence open --help",
    ]
    result = fence("put", "-t", 1, tmp / "missing", mnt / "f", rc=1)
    assert result.err == f"fence: put {tmp}/missing: No such file or directory\n"
    (tmp / "a").write_text("a")
    result = fence("put", "-t", 1, tmp / "a", "-", mnt.path, rc=2, input="x")
    assert line_of(result) == "fence: put: standard input cannot be one of several files"
    result = fence("put", "-t", 1, "--if-absent", tmp / "a", tmp / "a", mnt.path, rc=2)
    assert line_of(result) == "fence: put: a precondition needs a single FILE"
    result = fence("put", "-t", 1, tmp / "a", tmp / "sub/../a", mnt.path, rc=2)
    assert line_of(result) == "fence: put: two files are called a"
    assert os.listdir(mnt.path) == []


def test_content_from_a_pipe_and_from_proc(mnt):
    run("bash", "-c", '"$0" put -t 1 <(printf hello) "$1"/f', fence_program(), mnt.path)
    assert (mnt / "f").read_text() == "hello"
    fence("put", "-t", 1, "/proc/version", mnt / "v")
    assert (mnt / "v").read_text().startswith("Linux version")


def big_file(path):
    """A sparse file with data at both ends, larger than one request."""
    with open(path, "wb") as f:
        f.write(os.urandom(1 << 20))
        f.seek(LARGE - 4096)
        f.write(os.urandom(4096))


def test_closed_streams(mnt):
    """What is opened later is not read or printed into in their place; and a closed input is no empty one."""
    fence("put", "-t", 1, "-", mnt / "kept", input="x")
    for line, said in (
        ('"$1" put -t 1 - "$2/none" <&-', "fence: put -: Bad file descriptor\n"),
        ('"$1" cat "$2/kept@1" >&-', "Bad file descriptor\n"),
        ('"$1" log "$2/kept" <&- >&-', "Bad file descriptor\n"),
    ):
        done = run("sh", "-c", line, "sh", fence_program(), mnt.path, rc=1)
        assert done.stderr.endswith(said), (line, done)
    assert os.listdir(mnt.path) == ["kept"]
    # A job has them as closed as they were.
    inside = 'test -e /proc/self/fd/1 && echo >&2 open; exit 0'
    done = run("sh", "-c", f'"$1" run "$2/kept" -- sh -c "{inside}" >&-', "sh", fence_program(), mnt.path)
    assert done.stderr == "", done


def test_large_content(mnt, tmp):
    big_file(tmp / "big")
    fence("put", "-t", 1, tmp / "big", mnt / "big")
    run("cmp", tmp / "big", mnt / "big")
    with open(tmp / "big", "rb") as f:
        content = f.read()
    said = fence("put", "--json", "-t", 1, "-", mnt / "stream", input=content).json()
    assert said["revision"] == 2
    run("cmp", tmp / "big", mnt / "stream")
    # Exactly what one request takes, and one byte more.
    for size in (64 << 20, (64 << 20) + 1):
        fence("put", "-t", 1, "-", mnt / "edge", input=content[:size])
        assert (mnt / "edge").stat().st_size == size


def test_large_content_that_is_late(mnt, tmp):
    big_file(tmp / "big")
    fence("claim", "-t", 42, "-o", "job-b", mnt / "big")
    result = fence("put", "-t", 41, tmp / "big", mnt / "big", rc=13)
    assert_stale(result, f"put {mnt.path}/big", "41 < 42")
    assert not (mnt / "big").exists()
    result = fence("put", "-t", 43, "--if-version", 1, tmp / "big", mnt / "big", rc=16)
    assert line_of(result).startswith(f"fence: put {mnt.path}/big: "), result.err
    fence("put", "-t", 43, "--if-absent", tmp / "big", mnt / "big")
    assert (mnt / "big").stat().st_size == LARGE


def test_modes(mnt, tmp):
    def mode(name):
        return stat.S_IMODE((mnt / name).stat().st_mode)

    source = tmp / "script"
    source.write_text("x")
    source.chmod(0o755)
    os.umask(0o022)
    fence("put", "-t", 1, source, mnt / "script")
    assert mode("script") == 0o755
    fence("put", "-t", 1, "-", mnt / "plain", input="x")
    assert mode("plain") == 0o644
    fence("put", "-t", 1, "--mode", "0600", "-", mnt / "secret", input="x")
    assert mode("secret") == 0o600
    # What is there already keeps its own.
    fence("put", "-t", 1, source, mnt / "secret")
    assert mode("secret") == 0o600
    os.umask(0o077)
    fence("put", "-t", 1, source, mnt / "private")
    assert mode("private") == 0o700


def test_preconditions(mnt):
    path = mnt / "f"
    fence("put", "-t", 1, "--if-absent", "-", path, input="one")
    for option in (["--if-absent"], ["--if-version", 7], ["--if-hash", "0" * 32]):
        result = fence("put", "-t", 1, *option, "-", path, input="no", rc=16)
        lines = result.err.splitlines()
        assert lines[0].startswith(f"fence: put {path}: "), result.err
        assert lines[1] == "fence: nothing was changed; look again: fence show"
    fence("put", "-t", 1, "--if-version", 1, "-", path, input="two")
    seen = os.getxattr(path, "user.fence.hash").decode()
    fence("put", "-t", 1, "--if-hash", seen, "-", path, input="three")
    assert path.read_text() == "three"


def test_a_repeated_op_changes_nothing(mnt):
    for content in ("first", "second"):
        said = fence("put", "--json", "-t", 1, "--op", "k 1%", "-", mnt / "f", input=content).json()
        assert said["revision"] == 1
    assert (mnt / "f").read_text() == "first"


def test_once(mnt):
    for content in ("first", "second"):
        said = fence("put", "--json", "-t", 1, "--once", "-", mnt / "f", input=content).json()
        assert said["revision"] == 1
    assert (mnt / "f").read_text() == "first"
    fence("put", "-t", 2, "--once", "-", mnt / "f", input="third")
    assert (mnt / "f").read_text() == "third"


def test_permissions_are_the_callers(mnt):
    fence("put", "-t", 1, "-", mnt / "f", input="root's")
    result = fence("put", "-t", 2, "-", mnt / "f", input="mine", uid=65534, rc=1)
    assert line_of(result).startswith(f"fence: put {mnt.path}/f: "), result.err
    assert (mnt / "f").read_text() == "root's"
    assert fence("show", "--json", mnt / "f").json()["highest"] == "1"


def test_a_stopped_put_goes_on(mnt, tmp):
    """SIGSTOP and SIGCONT make the kernel interrupt what waits: nothing is lost or doubled."""
    (tmp / "f").write_bytes(os.urandom(1 << 20))
    script = 'for i in $(seq 40); do "$0" put -t 1 "$1" "$2" || exit 1; done'

    def puts(me):
        os.execvp("sh", ["sh", "-c", script, fence_program(), str(tmp / "f"), str(mnt / "f")])

    child = spawn(puts)

    def shake():
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    program = os.readlink(f"/proc/{name}/exe")
                    if program == os.path.realpath(fence_program()):
                        os.kill(int(name), 19)
                        os.kill(int(name), 18)
                except OSError:
                    pass
        return not child.is_alive()

    wait_until(shake, "40 puts", 60)
    assert child.wait() == 0
    assert fence("show", "--json", mnt / "f").json()["version"] == 40
