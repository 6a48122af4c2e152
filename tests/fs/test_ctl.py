# SPDX-License-Identifier: MIT
"""ctl as a stream of bytes: framing, bad input, payloads, reading, what is sent again."""

import itertools
import json
import os
import random
import subprocess

import pytest
from fenceharness import *
from fenceharness.paths import time_scale
from fencelib.bad_lines import BAD_LINES, is_reply
from fencelib.dialog import errno_name, fails, open_session, put, records

LINE_MAX = 65536
PAYLOAD_MAX = 64 << 20


def talk(ctl, data: bytes) -> tuple[str | None, bytes]:
    """Writes @data in one write; the errno's name and the one line of reply."""
    number = ctl.write(data)
    return errno_name(number), ctl.read_line()


def is_untouched(mnt, ctl):
    """No claim, no session, no file came of what was refused."""
    assert mnt.store.query("SELECT path FROM fence") == []
    assert records(ctl, "session") == []
    assert os.listdir(mnt.path) == []
    assert ctl.expect_ok("hello")["revision"] == "0"


# ------------------------------------------------------------------------------- the table of verbs


def test_replies_have_the_fields_of_the_table(mnt, ctl):
    """All verbs, in one conversation; the table is what dump-wire prints."""
    table = json.loads(run(build_dir() / "tests/unit/dump-wire").stdout)
    replies = {verb["name"]: set(verb["replies"].split()) for verb in table["verbs"]}

    def ask(verb, data=b"", **fields):
        reply = ctl.expect_ok(verb, data, **fields)
        assert set(reply.fields) <= replies[verb], reply.raw
        return reply

    ask("hello")
    ask("claim", path="c", token=1)
    for size in (5, 100_000):
        ask("put", bytes(size), path="f", token=1, size=size, op=f"op{size}", owner="me")
    ident = ask("open", path="f", token=1)["session"]
    ask("expect", path="f", version=2)
    assert ask("list", kind="session")["id"] == ident
    ask("commit")
    ask("outcome", session=ident)
    ask("outcome", path="f", op="op5")
    ask("open", path="f", token=1)
    ask("abort")
    token = ask("acquire", path="l", ttl="30s", owner="me")["token"]
    ask("list", kind="lease")
    ask("stat", path="l")
    ask("renew", path="l", token=token, owner="me")
    ask("release", path="l", token=token, owner="me")
    ask("restore", path="f", token=1, version=1)
    ask("at")
    ask("stat", path="f")
    ctl.request("put path=f token=0 size=1", b"x")
    for kind in ("reject", "event", "version", "gc"):
        ask("list", kind=kind, path="f")
    ask("remove", path="f", token=1)
    ask("reset", path="c", token=0)
    ask("gc", grace=0, dry_run=1)
    ask("policy", keep_last=3, keep_within="30d", max_size=1 << 40)


# ---------------------------------------------------------------------------------------- bad lines


def test_bad_lines(mnt, ctl):
    assert len(BAD_LINES) >= 60
    wrong = []
    for line, reply in BAD_LINES:
        got_errno, got = talk(ctl, line + b"\n")
        if not is_reply(got, reply) or got_errno != reply.split(" ")[1]:
            wrong.append(f"{line[:200]!r}\n  got  {got!r}, {got_errno}\n  want {reply!r}")
        ctl.expect_ok("hello")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong)
    is_untouched(mnt, ctl)


def test_bad_lines_all_in_one_write(mnt, ctl):
    """One reply each, in order, and the errno of the first."""
    data = b"".join(line + b"\n" for line, _ in BAD_LINES)
    assert errno_name(ctl.write(data)) == BAD_LINES[0][1].split(" ")[1]
    for line, reply in BAD_LINES:
        assert is_reply(ctl.read_line(), reply), line
    assert ctl.read_line() == b""
    is_untouched(mnt, ctl)


def test_bad_lines_byte_by_byte(mnt, ctl):
    """Only the write of the line's end fails."""
    for line, reply in BAD_LINES:
        if len(line) > 300:
            continue
        for byte in line:
            assert ctl.write(bytes([byte])) is None, line
        number = ctl.write(b"\n")
        assert number and errno_name(number) == reply.split(" ")[1], line
        assert is_reply(ctl.read_line(), reply), line
    is_untouched(mnt, ctl)


def test_bad_tokens(mnt, ctl):
    """The same answer from every verb that takes a token; nothing is done."""
    small = ["-1", "034", "+4", "", "1e3", "0x10", "\u0664", "4.0"]
    large = ["9223372036854775808", "18446744073709551616", "9" * 40]
    for token in small + large:
        name = "ERANGE" if token in large else "EINVAL"
        for verb in ("claim", "open", "remove", "reset", "renew"):
            reply = ctl.expect_err(name, verb, late=False, path="p", token=token)
            assert reply["key"] == "token" and reply.get("value", "") == token, reply.raw
        data = b"claim path=p token=4\n"
        reply = ctl.expect_err(name, "put", data, path="p", token=token, size=len(data))
        assert reply["key"] == "token", reply.raw
    is_untouched(mnt, ctl)


# ------------------------------------------------------------------------------------------- framing


def test_several_lines_in_one_write(mnt, ctl):
    data = b"hello\nclaim path=p token=5\nclaim path=p token=4\nfrobnicate\nstat path=p\n"
    assert errno_name(ctl.write(data)) == "ESTALE", "the errno of the first refused line"
    names = [ctl.reply().errno_name for _ in range(4)]
    assert names == [None, None, "ESTALE", "EOPNOTSUPP"], names
    assert ctl.reply()["highest"] == "5", "lines after a refused one are executed"
    assert ctl.read_line() == b""


def test_line_ends_in_a_later_write(mnt, ctl):
    assert ctl.write(b"hel") is None
    assert ctl.read_line() == b"", "nothing is outstanding: end of file, no wait"
    assert ctl.write(b"lo\nstat pa") is None
    assert ctl.reply()["proto"] == "1"
    assert ctl.read_line() == b""
    assert ctl.write(b"th=p\n") is None
    assert ctl.reply()["kind"] == "absent"


@pytest.mark.parametrize("line", [b"hello\n", b"claim path=a%20b token=9223372036854775807 owner=%25\n"])
def test_line_cut_anywhere(mnt, line):
    for at in range(1, len(line)):
        with mnt.ctl() as ctl:
            assert ctl.write(line[:at]) is None
            assert ctl.write(line[at:]) is None
            assert ctl.reply().ok
            assert ctl.read_line() == b""


def test_values_are_percent_encoded(mnt, ctl):
    """Any bytes of a name pass, in both directions."""
    name = b"a b\tc\nd\re%f\xc3\xa4\xff#'\"\\"
    put(ctl, name, "x", 1, owner="mine and\u00e4 100%")
    assert os.listdir(os.fsencode(mnt.path)) == [name]
    (version,) = records(ctl, "version", path=name)
    assert version["owner"] == "mine and\u00e4 100%", version.raw
    lower = b"stat path=a%20b%09c%0ad%0de%25f\xc3\xa4\xff#'\"\\\n"
    assert ctl.write(lower) is None
    assert ctl.reply()["kind"] == "file"
    reply = ctl.expect_err("ESTALE", "claim", path=name, token=0)
    assert reply["path"].encode("utf-8", "surrogateescape") == name, reply.raw


@pytest.mark.parametrize("extra", [0, 1, 100_000])
def test_longest_line(mnt, ctl, extra):
    """65536 bytes without the LF are a line, one more is too long: one reply, and the next line is read."""
    head = b"claim path=p token=4 owner="
    line = head + b"o" * (LINE_MAX + extra - len(head))
    number = ctl.write(line + b"\nhello\n")
    if extra:
        assert ctl.read_line() == b"err EMSGSIZE # a line has at most 65536 bytes\n"
        assert errno_name(number) == "EMSGSIZE"
    else:
        assert ctl.reply()["key"] == "owner", "read as a line, and refused for another reason"
        assert errno_name(number) == "EINVAL"
    assert ctl.reply().ok
    assert mnt.store.query("SELECT path FROM fence") == []


def test_overlong_line_in_pieces(mnt, ctl):
    for _ in range(40):
        assert ctl.write(b"x" * 4096) is None, "refused once, at its end"
    assert ctl.read_line() == b""
    assert errno_name(ctl.write(b"x\n")) == "EMSGSIZE"
    assert ctl.read_line() == b"err EMSGSIZE # a line has at most 65536 bytes\n"
    ctl.expect_ok("hello")


def test_unfinished_line_is_dropped_at_the_end(mnt):
    with mnt.ctl() as ctl:
        assert ctl.write(b"claim path=p token=4") is None
    wait_until(lambda: "in the middle of a line" in mnt.log(), "the log to say so")
    with mnt.ctl() as ctl:
        assert ctl.expect_ok("stat", path="p").get("highest") is None


def test_closing_a_duplicate_executes_nothing(mnt, ctl):
    """FLUSH comes at every close of every duplicate."""
    session = open_session(mnt, ctl, "p", 1)
    ctl.write(b"claim path=q tok")
    os.close(os.dup(ctl.fd))
    subprocess.run(["true"], close_fds=False, pass_fds=[ctl.fd], check=True)
    ctl.write(b"en=7\n")
    assert ctl.reply()["token"] == "7"
    assert session.is_there()


# ------------------------------------------------------------------------------------------- reading


def read_all(fd, size=65536) -> bytes:
    found = b""
    while part := os.read(fd, size):
        found += part
    return found


def test_reading_at_once_gives_help(mnt, ctl):
    text = run("cat", mnt / ".fence/ctl").stdout
    for word in ("open ", "commit", "exec 3<>", "put ", "path=P", "reply"):
        assert word in text, f"no {word!r} in the help"
    assert read_all(ctl.fd, 1).decode() == text, "also byte by byte, then end of file"
    assert os.read(ctl.fd, 100) == b""
    ctl.expect_ok("hello")
    with mnt.ctl() as other:
        other.write(b"hello\n")
        assert read_all(other.fd).startswith(b"ok fencefs="), "no help once something was written"
    with mnt.ctl() as other:
        other.write(b"unfinished")
        assert read_all(other.fd) == b""


def test_replies_are_read_in_any_pieces(mnt, ctl):
    ctl.write(b"hello\nhello\n")
    whole = read_all(ctl.fd)
    ctl.write(b"hello\nhello\n")
    assert read_all(ctl.fd, 1) == whole and whole.count(b"\n") == 2
    assert os.read(ctl.fd, 1) == b""


def test_ctl_is_a_stream(mnt):
    """Not seekable; O_TRUNC, O_APPEND and the shell's ways of opening it change nothing."""
    path = mnt / ".fence/ctl"
    with Ctl(mnt) as ctl, fails("ESPIPE"):
        os.lseek(ctl.fd, 0, os.SEEK_SET)
    assert os.stat(path).st_mode & 0o777 == 0o666
    for flags in (os.O_TRUNC, os.O_APPEND, os.O_CREAT, os.O_CREAT | os.O_TRUNC):
        with Ctl(fd=os.open(path, os.O_RDWR | flags)) as ctl:
            ctl.expect_ok("hello")
            ctl.expect_ok("hello")
    for redirection in (">", ">>", "1<>"):
        run("sh", "-c", f"echo 'claim path=p token=4' {redirection} .fence/ctl", cwd=mnt.path)
        run("sh", "-c", f"echo 'claim path=p token=3' {redirection} .fence/ctl", cwd=mnt.path, rc=1)
    with fails("EEXIST"):
        os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)


def test_status_of_echo_and_text_for_the_reader(mnt):
    """A shell sees a status, and reads why."""
    script = """
    exec 3<>.fence/ctl
    echo 'claim path=p token=42 owner=B' >&3 || exit 9
    read -r first <&3
    echo 'claim path=p token=41 owner=A' >&3 2>/dev/null; echo "status $?"
    read -r second <&3
    echo "$first"; echo "$second"
    """
    for shell in ("dash", "bash"):
        out = run(shell, "-c", script, cwd=mnt.path).stdout.splitlines()
        assert out[0] in ("status 1", "status 2"), out
        assert out[1] == "ok token=42", out
        assert out[2].startswith("err ESTALE path=p token=41 highest=42 set_by=B set_at="), out


def test_conversations_do_not_hold_each_other_up(mnt, ctl):
    """Each open of ctl is an inode of its own: a writer that is in the middle of something blocks nobody."""
    assert ctl.write(b"put path=p token=1 size=10\n12345") is None
    with mnt.ctl() as other:
        other.expect_ok("claim", path="q", token=1)
    with mnt.ctl() as other:
        put(other, "r", "data", 1)
    assert os.fstat(ctl.fd).st_ino, "and it is there to stat"
    assert ctl.write(b"67890") is None
    assert ctl.reply().ok and (mnt / "p").read_text() == "1234567890"


# ----------------------------------------------------------------------------------------- sent again


def test_buffered_file_that_sends_again(mnt, ctl):
    """Python's buffered files keep what a failed flush did not write, and write it again at close."""
    ctl.expect_ok("claim", path="p", token=42)
    fd = os.open(mnt / ".fence/ctl", os.O_RDWR)
    file = os.fdopen(fd, "wb", buffering=4096, closefd=False)
    file.write(b"claim path=p token=41\nclaim path=q token=7\n")
    for attempt in (file.flush, file.flush, file.close):
        with fails("ESTALE"):
            attempt()
    with Ctl(fd=fd) as other:
        for _ in range(3):
            assert other.reply().errno_name == "ESTALE"
            assert other.reply()["token"] == "7"
        assert other.read_line() == b""


def test_open_sent_again_gives_the_same_session(mnt, ctl):
    first = open_session(mnt, ctl, "p", 1, owner="A")
    again = open_session(mnt, ctl, "p", 1, owner="A")
    assert again.ident == first.ident
    assert open_session(mnt, ctl, "p", 1, owner="B").ident != first.ident, "another request"
    with mnt.ctl() as other:
        assert open_session(mnt, other, "p", 1, owner="A").ident != first.ident, "another conversation"
    first.path.write_text("x")
    reply = ctl.expect_ok("commit", session=first.ident)
    assert ctl.expect_ok("commit", session=first.ident).raw == reply.raw, "same outcome"
    assert open_session(mnt, ctl, "p", 1, owner="A").ident != first.ident, "that one has ended"


def test_refused_commit_sent_again(mnt, ctl):
    session = open_session(mnt, ctl, "p", 1)
    session.path.write_text("x")
    with mnt.ctl() as other:
        other.expect_ok("claim", path="p", token=2)
    first = ctl.expect_err("ESTALE", "commit", session=session.ident)
    assert ctl.expect_err("ESTALE", "commit", session=session.ident).raw == first.raw
    assert len(records(ctl, "reject")) == 1


def test_abort_and_the_like_sent_again(mnt, ctl):
    session = open_session(mnt, ctl, "p", 1)
    for _ in range(2):
        assert ctl.expect_ok("abort", session=session.ident).raw == "ok"
    for _ in range(2):
        ctl.expect_ok("claim", path="p", token=2)


# -------------------------------------------------------------------------------------------- payload

EVIL = b"x\nclaim path=evil token=9\n\0\xff%"


def put_bytes(path: str, payload: bytes, token=1) -> bytes:
    return f"put path={path} token={token} size={len(payload)}\n".encode() + payload


def check_pieces(mnt, ctl, pieces, payload, path="p"):
    for piece in pieces:
        assert ctl.write(piece) is None, pieces
    assert ctl.reply().ok, pieces
    assert ctl.reply().raw.startswith("ok fencefs="), pieces
    assert (mnt / path).read_bytes() == payload, pieces


def test_payload_cut_anywhere(mnt, ctl):
    """Two pieces, at every place; the next request's bytes come right behind."""
    message = put_bytes("p", EVIL) + b"hello\n"
    for at in range(1, len(message)):
        check_pieces(mnt, ctl, [message[:at], message[at:]], EVIL)
    check_pieces(mnt, ctl, [bytes([byte]) for byte in message], EVIL)
    assert ctl.expect_ok("stat", path="evil").get("highest") is None


def test_payload_cut_twice(mnt, ctl):
    message = put_bytes("p", b"\nhello\n") + b"hello\n"
    for one, two in itertools.combinations(range(1, len(message)), 2):
        check_pieces(mnt, ctl, [message[:one], message[one:two], message[two:]], b"\nhello\n")


def test_several_puts_in_one_write(mnt, ctl):
    data = b"".join(put_bytes(f"p{i}", EVIL * i) for i in range(20))
    assert ctl.write(data + b"hello\n") is None
    for i in range(20):
        assert ctl.reply()["changed"] == "1"
        assert (mnt / f"p{i}").read_bytes() == EVIL * i
    assert ctl.reply()["proto"] == "1"


def test_refused_put_swallows_its_payload(mnt, ctl):
    """With a size that can be read the payload is skipped, whatever else is wrong."""
    ctl.expect_ok("claim", path="p", token=42)
    for line, name in [
        ("put path=p token=41", "ESTALE"),
        ("put path=p token=x", "EINVAL"),
        ("put path=p", "EINVAL"),
        ("put token=1", "EINVAL"),
        ("put path=p token=43 colour=red", "EINVAL"),
        ("put path=../p token=43", "EINVAL"),
        ("put path=.fence/x token=43", "EPERM"),
        ("put path=no/parent token=43", "ENOENT"),
        ("put path=p token=43 mode=8", "EINVAL"),
        ("put path=p token=43 version=x", "EINVAL"),
        ("put path=p token=43 version=7", "ECANCELED"),
        ("put path=p token=43 version=7 absent=1", "EINVAL"),
    ]:
        data = f"{line} size={len(EVIL)}\n".encode() + EVIL + b"hello\n"
        assert errno_name(ctl.write(data)) == name, line
        reply = ctl.reply()
        assert reply.errno_name == name, (line, reply.raw)
        assert ctl.reply().ok, line
        assert ctl.read_line() == b"", line
    assert os.listdir(mnt.path) == []
    assert ctl.expect_ok("stat", path="evil").get("highest") is None


def test_put_of_unknown_size_ends_the_conversation(mnt):
    for size in ("", "-1", "x", "1e3", "0x10", "9223372036854775808"):
        name = "ERANGE" if len(size) > 10 else "EINVAL"
        with mnt.ctl() as ctl:
            number = ctl.write(f"put path=p token=1 size={size}\n".encode())
            reply = ctl.reply(number)
            assert reply.errno_name == reply.write_errno_name == name, (size, reply)
            assert reply["key"] == "size", reply.raw
            check_dead(mnt, ctl)


def test_put_without_a_size_ends_the_conversation(mnt):
    for line in ("put", "put path=p token=1", "put path=p token=1 size", "put  path=p token=1 size=5"):
        with mnt.ctl() as ctl:
            reply = ctl.reply(ctl.write(line.encode() + b"\n"))
            assert reply.errno_name == reply.write_errno_name == "EINVAL", (line, reply)
            check_dead(mnt, ctl)


def check_dead(mnt, ctl):
    """What follows may be data: nothing of it is executed."""
    for line in (b"claim path=p token=4\n", b"hello\n"):
        assert errno_name(ctl.write(line)) == "EPROTO"
        reply = ctl.reply()
        assert reply.errno_name == "EPROTO" and "open ctl again" in reply.text, reply.raw
    with mnt.ctl() as other:
        is_untouched(mnt, other)


def test_largest_put(mnt, ctl):
    """64 MiB pass, one byte more does not, and its payload is taken for nothing else."""
    payload = os.urandom(1 << 20) * 64
    put(ctl, "p", payload, 1)
    assert (mnt / "p").stat().st_size == PAYLOAD_MAX
    assert (mnt / "p").read_bytes() == payload
    payload += b"\n"
    number = ctl.write(f"put path=p token=1 size={len(payload)}\n".encode())
    assert errno_name(number) == "EMSGSIZE"
    reply = ctl.reply()
    assert reply.errno_name == "EMSGSIZE" and reply["key"] == "size", reply.raw
    assert ctl.write(payload) is None
    ctl.expect_ok("hello")
    assert (mnt / "p").stat().st_size == PAYLOAD_MAX


def test_empty_put(mnt, ctl):
    put(ctl, "p", b"", 1)
    assert (mnt / "p").read_bytes() == b""
    put(ctl, "p", b"x", 1)
    put(ctl, "p", b"", 1)
    assert (mnt / "p").read_bytes() == b""
    assert ctl.expect_ok("stat", path="p")["size"] == "0"


def test_conversation_that_ends_inside_a_payload(mnt):
    for size in (10, 1 << 20):
        with mnt.ctl() as ctl:
            ctl.write(f"put path=p token=5 size={size}\n12345".encode())
            assert ctl.read_line() == b"", "no reply before its data is there"
    wait_until(lambda: not mnt.store.staged(), "the staged payload to go")
    assert os.listdir(mnt.path) == []


# ------------------------------------------------------------------------------------- a hostile client


def resident(mnt) -> int:
    """KiB of memory that the daemon has; always 0 of a build with sanitizers, which keep what is freed."""
    if time_scale() != 1:
        return 0
    with open(f"/proc/{mnt.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_replies_that_nobody_reads(mnt, ctl):
    """A client that never reads is refused more requests; when it has read, it goes on."""
    before = resident(mnt)
    written = 0
    while (name := errno_name(ctl.write(b"\n" * 1000))) == "EINVAL":
        written += 1000
        assert written < 100_000, "no end to it"
    assert name == "ENOBUFS" and written > 10_000, (name, written)
    assert resident(mnt) - before < 32 << 10
    assert read_all(ctl.fd).count(b"\n") == written, "one reply each"
    ctl.expect_ok("hello")


def test_flood_of_requests_in_one_write(mnt, ctl):
    before = resident(mnt)
    with mnt.ctl() as other:
        assert errno_name(other.write(b"\n" * (1 << 20))) == "EINVAL"
        assert resident(mnt) - before < 64 << 10
        last = read_all(other.fd).splitlines()[-1]
        assert last == b"err ENOBUFS # too many replies wait to be read; open ctl again", last
        assert errno_name(other.write(b"hello\n")) == "ENOBUFS"
        assert other.read_line() == b""
    ctl.expect_ok("hello")


def test_random_bytes(mnt, ctl):
    dice = random.Random(2)
    words = b"put open claim commit path=p token=1 size=3 keep=1 = % %00 \0 \xff \r".split(b" ")
    words += [b"\n"] * 4
    for _ in range(300):
        with mnt.ctl() as other:
            for _ in range(dice.randrange(1, 5)):
                ends = dice.choices([b"", b" "], k=30)
                other.write(b"".join(dice.choice(words) + end for end in ends))
                if dice.random() < 0.5:
                    read_all(other.fd)
    ctl.expect_ok("hello")
    assert mnt.daemon.is_alive()
