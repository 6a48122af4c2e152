# SPDX-License-Identifier: MIT
"""Nobody hangs: who is killed goes, whatever the daemon is doing; and the daemon never waits for itself."""

import errno
import mmap
import os
import re
import signal
import threading
from pathlib import Path

import pytest
from fenceharness import *
from fenceharness import kernel
from fencelib.commit_loop import content
from fencelib.tracing import held_up, is_held_up, strace

MIB = 1 << 20
SOON = 10  # seconds in which a killed process must be gone; the daemon is held up until then


# ---------------------------------------------------------------------- while the daemon is stopped


class Client:
    """What the operations work on: opened before the daemon is stopped."""

    def __init__(self, mount: Path):
        self.mount = mount
        self.ctl = Ctl(mount)
        reply = self.ctl.expect_ok("open", path="d", token=5, owner="client")
        self.session = reply["session"]
        self.dir = mount / reply["path"]
        os.stat(self.dir)


def read_file(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(100)


def map_and_touch(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as map_:
        return map_[0]


OPERATIONS = {
    "open ctl": lambda c: os.open(c.mount / ".fence/ctl", os.O_RDWR),
    "ctl hello": lambda c: c.ctl.request("hello"),
    "ctl read": lambda c: os.read(c.ctl.fileno(), 100),
    "ctl claim": lambda c: c.ctl.request("claim", path="other", token=1),
    "ctl open": lambda c: c.ctl.request("open", path="other", token=1),
    "ctl commit": lambda c: c.ctl.request("commit", session=c.session),
    "ctl abort": lambda c: c.ctl.request("abort", session=c.session),
    "ctl put": lambda c: c.ctl.request("put", b"x" * MIB, path="put", token=1, size=MIB),
    "ctl list": lambda c: c.ctl.request("list kind=session"),
    "lookup": lambda c: os.stat(c.mount / "absent"),
    "read": lambda c: read_file(c.mount / "small"),
    "map": lambda c: map_and_touch(c.mount / "mapped"),
    "read a blob": lambda c: read_file(c.mount / "big"),
    "readdir": lambda c: os.listdir(c.mount / "d"),
    "statfs": lambda c: os.statvfs(c.mount),
    "getxattr": lambda c: os.getxattr(c.mount / "attributed", "user.fence.token"),
    "session lookup": lambda c: os.stat(c.dir / "absent"),
    "session create": lambda c: os.open(c.dir / "new", os.O_CREAT | os.O_WRONLY),
    "session open": lambda c: os.open(c.dir / "f", os.O_WRONLY),
    "session truncate": lambda c: os.truncate(c.dir / "f", 1),
    "session chmod": lambda c: os.chmod(c.dir / "f", 0o600),
    "session utime": lambda c: os.utime(c.dir / "f"),
    "session setxattr": lambda c: os.setxattr(c.dir / "f", "user.a", b"x"),
    "session rename": lambda c: os.rename(c.dir / "f", c.dir / "g"),
    "session unlink": lambda c: os.unlink(c.dir / "f"),
    "session mkdir": lambda c: os.mkdir(c.dir / "newdir"),
    "session symlink": lambda c: os.symlink("a", c.dir / "link"),
    "session readdir": lambda c: os.listdir(c.dir),
}


def operate(me, mount, operation: str):
    client = Client(Path(mount))
    me.pause("ready")
    OPERATIONS[operation](client)


def is_waiting(pid: int) -> bool:
    """In the kernel, for an answer from the daemon."""
    try:
        where = Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False
    return "fuse" in where or "request_wait" in where or "folio" in where


def put_tree(ctl: Ctl):
    ctl.expect_ok("open", path="d/", token=1)
    ctl.expect_ok("commit")
    sizes = {"small": 100, "mapped": 100, "attributed": 1, "big": 8 * MIB, "d/f": 10, "d/big": 8 * MIB}
    for name, size in sizes.items():
        ctl.expect_ok("put", content(1, name, size), path=name, token=1, size=size)


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
def test_client_killed_while_daemon_is_stopped(mnt, ctl):
    """Every operation, all at once, each in a process of its own."""
    put_tree(ctl)
    clients = {name: spawn(operate, mnt.path, name) for name in OPERATIONS}
    for client in clients.values():
        client.wait_mark("ready")
    mnt.daemon.stop()
    try:
        for name, client in clients.items():
            client.resume()
        for name, client in clients.items():
            wait_until(lambda: is_waiting(client.pid), f"{name} to reach the daemon")
        for client in clients.values():
            os.kill(client.pid, signal.SIGKILL)
        for name, client in clients.items():
            try:
                client.wait(SOON)
            except AssertionError as error:
                where = "\n".join(kernel.describe(client.pid))
                raise AssertionError(f"{name}: {error}\n{where}") from None
    finally:
        mnt.daemon.cont()
    wait_until(lambda: "end" in ctl.expect_ok("list kind=session"), "the end of all sessions")
    assert sorted(os.listdir(mnt / "d")) == ["big", "f"]
    assert (mnt / "small").read_bytes() == content(1, "small", 100)


def hold_for_writing(me, mount):
    client = Client(Path(mount))
    with open(client.dir / "new", "wb", buffering=0) as file:
        file.write(b"x" * MIB)
        me.pause("ready")
        os.stat(client.mount / "absent")


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
def test_killed_writer_goes_when_the_daemon_goes_on(mnt, ctl):
    """The kernel flushes what was open for writing as its process dies, and waits for that answer."""
    put_tree(ctl)
    writer = spawn(hold_for_writing, mnt.path)
    writer.wait_mark("ready")
    mnt.daemon.stop()
    writer.resume()
    wait_until(lambda: is_waiting(writer.pid), "the writer to wait")
    os.kill(writer.pid, signal.SIGKILL)
    mnt.daemon.cont()
    writer.wait(SOON)
    wait_until(lambda: "end" in ctl.expect_ok("list kind=session"), "the end of its session")
    wait_until(lambda: not mnt.store.staged(), "the removal of what it had written")


# --------------------------------------------------------------------- while the daemon is at work


def commit_file(me, mount, path: str, size: int):
    with Ctl(mount) as ctl:
        reply = ctl.expect_ok("open", path=path, token=9)
        (Path(mount) / reply["path"]).write_bytes(content(9, path, size))
        me.mark("committing")
        ctl.request("commit", session=reply["session"])


def change_file(me, mount, path: str, flags: int | None):
    with Ctl(mount) as ctl:
        reply = ctl.expect_ok("open", path=path, token=9)
        me.mark("changing")
        if flags is None:
            os.truncate(Path(mount) / reply["path"], 6 * MIB)
        else:
            os.open(Path(mount) / reply["path"], flags)


def check_killed_at_once(mnt: Mount, log: Path, call: str, client: Child):
    """@client waits for the daemon, which waits in @call; it is killed, and the others are not held up."""
    wait_until(lambda: is_held_up(log, call), f"the daemon to be in {call}")
    wait_until(lambda: is_waiting(client.pid), "the client to wait")
    with mnt.ctl() as ctl:
        ctl.expect_ok("hello")
        assert (mnt / "small").read_bytes() == content(1, "small", 100)
        client.kill()  # raises when it does not go
        assert os.listdir(mnt / "d")
        ctl.expect_ok("hello")


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
@pytest.mark.parametrize("call", ["fsync", "renameat2"])
def test_client_killed_while_its_commit_seals(mnt, ctl, tmp, call):
    """Once it was given, the commit goes on without its client."""
    put_tree(ctl)
    with held_up(mnt, tmp / "log", call) as log:
        client = spawn(commit_file, mnt.path, "d/big", 20 * MIB)
        client.wait_mark("committing")
        check_killed_at_once(mnt, log, call, client)
        assert ctl.expect_ok("list kind=session")["state"] == "committing"
    wait_until(lambda: "end" in ctl.expect_ok("list kind=session"), "the end of the commit")
    assert (mnt / "d/big").read_bytes() == content(9, "d/big", 20 * MIB)


def claim(_me, mount, path: str):
    with Ctl(mount) as ctl:
        ctl.expect_ok("claim", path=path, token=9)


def put(_me, mount, path: str):
    with Ctl(mount) as ctl:
        ctl.expect_ok("put", b"x", path=path, token=9, size=1)


def remove(_me, mount, path: str):
    with Ctl(mount) as ctl:
        ctl.expect_ok("remove", path=path, token=9)


@pytest.mark.parametrize("verb", ["claim", "put", "remove", "commit"])
def test_client_killed_while_the_database_is_written(mnt, ctl, tmp, verb):
    put_tree(ctl)
    session = ctl.expect_ok("open", path="d/big", token=9)["session"]
    (mnt.session(session) / "d/big").write_bytes(b"x")

    def commit(_me, _mount, _path):
        ctl.expect_ok("commit", session=session)

    act = {"claim": claim, "put": put, "remove": remove, "commit": commit}[verb]
    with held_up(mnt, tmp / "log", "fdatasync") as log:
        client = spawn(act, mnt.path, "d/big", keep_fds=[ctl.fileno()])
        check_killed_at_once(mnt, log, "fdatasync", client)
    if verb == "commit":
        ctl.reply()
    token = "none" if verb == "remove" else "1" if verb == "claim" else "9"
    wait_until(lambda: ctl.expect_ok("stat", path="d/big").get("token", "none") == token, "the end of it")
    assert ctl.expect_ok("stat", path="d/big")["highest"] == "9"


@pytest.mark.parametrize("how", ["write", "append", "truncate"])
def test_client_killed_while_a_large_file_is_copied(mnt, ctl, tmp, how):
    """The copy that a session's first write to a file starts from."""
    put_tree(ctl)
    flags = {"write": os.O_WRONLY, "append": os.O_RDWR | os.O_APPEND, "truncate": None}[how]
    with held_up(mnt, tmp / "log", "copy_file_range") as log:
        client = spawn(change_file, mnt.path, "d/big", flags)
        client.wait_mark("changing")
        check_killed_at_once(mnt, log, "copy_file_range", client)
    wait_until(lambda: "end" in ctl.expect_ok("list kind=session"), "the end of its session")
    wait_until(lambda: not mnt.store.staged(), "the removal of the copy")
    assert (mnt / "d/big").read_bytes() == content(1, "d/big", 8 * MIB)


class Interrupted(Exception):
    pass


def commit_and_be_interrupted(me, mount, path: str):
    def interrupt(_number, _frame):
        raise Interrupted

    signal.signal(signal.SIGUSR1, interrupt)
    with Ctl(mount) as ctl:
        reply = ctl.expect_ok("open", path=path, token=9)
        (Path(mount) / reply["path"]).write_bytes(content(9, path, 5 * MIB))
        me.mark("committing")
        try:
            os.write(ctl.fileno(), Ctl.line("commit", {"session": reply["session"]}))
            return "not interrupted"
        except Interrupted:
            me.mark("interrupted")
        return ctl.reply().raw  # the answer is still to come


def commit_and_try_again(me, mount, path: str):
    signal.signal(signal.SIGUSR1, lambda *_: me.mark("interrupted"))  # Python repeats the write by itself
    with Ctl(mount) as ctl:
        reply = ctl.expect_ok("open", path=path, token=9)
        (Path(mount) / reply["path"]).write_bytes(content(9, path, 5 * MIB))
        me.mark("committing")
        answer = ctl.request("commit", session=reply["session"])
        assert ctl.read_line() == b"", "two answers to one commit"
        return answer.raw


@pytest.mark.parametrize("how", ["give up", "try again"])
def test_commit_interrupted_by_a_signal(mnt, ctl, tmp, how):
    """The wait ends with EINTR, the commit does not, and its answer is still there to be read."""
    put_tree(ctl)
    act = {"give up": commit_and_be_interrupted, "try again": commit_and_try_again}[how]
    with held_up(mnt, tmp / "log", "fsync") as log:
        client = spawn(act, mnt.path, "d/big")
        client.wait_mark("committing")
        wait_until(lambda: is_held_up(log, "fsync"), "the daemon to be in fsync")
        wait_until(lambda: is_waiting(client.pid), "the client to wait")
        os.kill(client.pid, signal.SIGUSR1)
        client.wait_mark("interrupted")
    answer = client.result()
    assert re.fullmatch(r"ok revision=\d+ changed=1", answer), answer
    assert (mnt / "d/big").read_bytes() == content(9, "d/big", 5 * MIB)


def test_many_waiting_requests_hold_nobody_up(mnt, ctl, tmp):
    """64 wait for one fsync of the database; others read and write meanwhile."""
    put_tree(ctl)
    session = ctl.expect_ok("open", path="d", token=2)
    view = mnt / session["path"]
    waiting = [mnt.ctl() for _ in range(64)]
    threads = [
        threading.Thread(target=one.request, args=("claim",), kwargs={"path": f"c{i}", "token": 1})
        for i, one in enumerate(waiting)
    ]
    with held_up(mnt, tmp / "log", "fdatasync") as log:
        for thread in threads:
            thread.start()
        wait_until(lambda: is_held_up(log, "fdatasync"), "the daemon to be in fdatasync")
        assert (mnt / "small").read_bytes() == content(1, "small", 100)
        assert (mnt / "big").read_bytes() == content(1, "big", 8 * MIB)
        (view / "new").write_bytes(b"new")
        (view / "big").write_bytes(b"changed")
        with open(view / "f", "ab") as file:
            file.write(b"more")
        os.rename(view / "new", view / "newer")
        ctl.expect_ok("stat", path="small")
        assert all(thread.is_alive() for thread in threads), "they did not wait"
    for i, thread in enumerate(threads):
        thread.join()
        assert ctl.expect_ok("stat", path=f"c{i}")["highest"] == "1"
        waiting[i].close()


def put_half(me, mount):
    ctl = Ctl(mount)
    ctl.write(b"put path=half token=1 size=1000000\n" + b"x" * 500_000)
    me.pause("half")


def test_client_killed_in_mid_put(mnt, ctl):
    client = spawn(put_half, mnt.path)
    client.wait_mark("half")
    client.kill()
    wait_until(lambda: not mnt.store.staged(), "the removal of the half")
    assert ctl.expect_ok("stat", path="half")["kind"] == "absent"
    assert os.listdir(mnt.path) == []


REFUSED_PUTS = {
    "ESTALE": {"token": 1},
    "EINVAL": {"token": "x"},
    "ENOENT": {"path": "absent/p", "token": 9},
}


@pytest.mark.parametrize("size", [10, 20_000, 3 * MIB])
@pytest.mark.parametrize("why", list(REFUSED_PUTS))
def test_payload_of_a_refused_put_is_no_request(mnt, ctl, size, why):
    """However it comes, and whether or not the client minds the first errno, or tries again."""
    ctl.expect_ok("claim", path="p", token=5)
    fields = {"path": "p", "size": size} | REFUSED_PUTS[why]
    data = (b"claim path=q token=7\n" * (size // 20 + 1))[:size]
    number = getattr(errno, why)

    ctl.expect_err(why, "put", data, late=False, **fields)  # in one write: long ones come in pieces
    ctl.expect_ok("hello")
    assert ctl.write(Ctl.line("put", fields)) is None
    assert ctl.write(data) == number
    assert ctl.reply().errno_name == why and ctl.read_line() == b""
    ctl.expect_ok("hello")

    file = open(mnt / ".fence/ctl", "wb", buffering=4 * MIB)
    file.write(Ctl.line("put", fields) + data)
    for retry in (file.flush, file.close):  # both send it all
        try:
            retry()
        except OSError as error:
            assert error.errno == number, error
        else:
            raise AssertionError(f"{retry.__name__}: no error")
    assert "highest" not in ctl.expect_ok("stat", path="q")


# --------------------------------------------------------------------- the daemon and its own mount


def use_everything(_me, mount):
    mount = Path(mount)
    with Ctl(mount) as ctl:
        put_tree(ctl)
        ctl.expect_ok("hello")
        reply = ctl.expect_ok("open", path="d", token=3)
        view = mount / reply["path"]
        for size in (10, 2 * MIB):
            (view / f"n{size}").write_bytes(content(3, "n", size))
        with open(view / "big", "r+b") as file:
            file.write(b"changed")
        os.mkdir(view / "sub")
        os.rename(view / "f", view / "sub/f")
        os.symlink("f", view / "sub/link")
        os.setxattr(view / "sub/f", "user.a", b"b")
        os.statvfs(view)
        ctl.expect_ok("commit")
        late = ctl.expect_ok("open", path="d/late", token=3)
        (mount / late["path"]).write_bytes(content(3, "late", MIB))
        ctl.expect_ok("claim", path="d", token=4)
        ctl.expect_err("ESTALE", "commit", session=late["session"])
        reject = ctl.expect_ok("list kind=reject")
        (mount / reject["data"]).read_bytes()
        ctl.expect_ok("list kind=version", path="d/big")
        ctl.expect_ok("remove", path="small", token=9)
        for directory, _, names in os.walk(mount):
            for name in names:
                if not os.path.islink(f"{directory}/{name}"):
                    os.getxattr(f"{directory}/{name}", "user.fence.hash")


# Of these, a path or a descriptor in the mount is no access to it, or is the mounting itself.
NO_ACCESS = ("execve", "mount", "umount2", "write", "writev", "read", "pread64", "pwrite64", "readlink")


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
def test_daemon_never_touches_its_mount(mnt, tmp):
    """None of its system calls that take a path or a descriptor leads there, from the mount to the end."""
    mnt.unmount()
    log = tmp / "log"
    mnt.wrapper = strace(log, "--trace=%file,%desc", "--decode-fds=path", "--string-limit=4096")
    mnt.start()
    spawn(use_everything, mnt.path).result()
    assert not kernel.is_beneath(os.readlink(f"/proc/{mnt.pid}/cwd"), str(mnt.path))
    mnt.unmount()
    lines = log.read_text(errors="replace").splitlines()
    mounted = next(i for i, line in enumerate(lines) if re.search(r"\bmount\(", line))
    assert len(lines) - mounted > 1000
    path = re.escape(str(mnt.path))
    touches = [
        line
        for line in lines[mounted + 1 :]
        if (match := re.match(r"\d+ +(?:<\.\.\. )?(\w+)", line))
        and match[1] not in NO_ACCESS
        and re.search(f'["<]{path}["/>]', line)
    ]
    assert not touches, "\n".join(touches[:20])


@pytest.mark.parametrize("mountpoint", ["base", "base/store"])
def test_store_beneath_its_own_mountpoint(tmp, mountpoint):
    """The mount would hide the store from whoever goes by its path, as SQLite in the daemon does."""
    (tmp / "base").mkdir()
    store = Store(tmp / "base/store")
    refused = run(fencefs_program(), store.path, tmp / mountpoint, rc=1)
    assert re.search(f"the store {store.path} lies beneath {tmp / mountpoint}:", refused.stderr)
    assert kernel.mounts_beneath(tmp) == []
    (tmp / "base/store2").mkdir()  # no more than the beginning of a name in common
    mnt = Mount(store, mountpoint=tmp / "base/store2").start()
    mnt.unmount()
