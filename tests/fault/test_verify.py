# SPDX-License-Identifier: MIT
"""Damage that the first full read finds: its reader gets the bytes, whoever opens it later gets EIO."""

import contextlib
import errno
import mmap
import os
import re
import sys

import pytest
from fenceharness import *
from fencelib.damage import BIG, NAMES, blob_of, content, discard, expect_one, expected, file_of, fill, flip, fsck, publish
from fencelib.tracing import calls, injecting, was_injected

AT = 77_777
BAD = bytearray(content("d/b", 2, BIG))
BAD[AT] ^= 0x40
MANY = 64 << 20


def evict(file):
    """The kernel is to read it from the disk again."""
    fd = os.open(file, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def damage(store: Store, path="d/b", version=2, offset=AT):
    file = file_of(store, path, version)
    flip(file, offset)
    evict(file)


def is_marked(store: Store, path="d/b", version=2) -> bool:
    name = "damaged/" + blob_of(store, path, version)
    return bool(store.query("SELECT 1 FROM setting WHERE name = ?", name))


def wait_marked(store: Store, *what):
    wait_until(lambda: is_marked(store, *what), "the damage to be found")


def expect_eio(*paths):
    for path in paths:
        try:
            path.read_bytes()
        except OSError as error:
            assert error.errno == errno.EIO, f"{path}: {error}"
        else:
            raise AssertionError(f"{path} was read")


def check_found(mnt: Mount, store: Store):
    """d/b is marked: what follows from that."""
    with mnt.ctl() as ctl:
        revision = ctl.expect_ok("hello")["revision"]
    expect_eio(mnt / "d/b", mnt / ".fence/versions/d/b/2", mnt / f".fence/at/{revision}/d/b")
    for name, data in expected(NAMES).items():
        assert name == "d/b" or (mnt / name).read_bytes() == data, name
    assert (mnt / ".fence/versions/d/b/1").read_bytes() == content("d/b", 1, BIG)
    expect_one(fsck(mnt)[0], "marked", "d/b", 2)


def checks(mnt: Mount, result: str) -> int:
    """So many files were compared with their hash, with this result."""
    found = re.search(rf'^fencefs_checks_total{{result="{result}"}} (\d+)$', (mnt / ".fence/metrics").read_text(), re.M)
    return int(found[1])


def told(mnt: Mount, what: str) -> list[str]:
    return [line for line in mnt.log().splitlines() if what in line]


def read_mapped(path) -> bytes:
    """Without a read(2)."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        return bytes(data)


@pytest.mark.parametrize("passthrough", ["on", "off"])
@pytest.mark.parametrize("how", ["read", "mapped"])
def test_first_read_finds_it(tmp, passthrough, how):
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount(f"passthrough={passthrough}")
    mnt.allow_log("is damaged")
    read = read_mapped if how == "mapped" else lambda path: path.read_bytes()
    with open(mnt / "d/b", "rb") as before:
        assert read(mnt / "d/b") == BAD
        wait_marked(store)
        assert before.read() == BAD, "what is open stays what it is"
    check_found(mnt, store)
    lines = told(mnt, "content is not what was sealed")
    assert len(lines) == 1 and "d/b, version 2 " in lines[0] and blob_of(store, "d/b", 2) in lines[0], lines
    assert all("d/b, version 2 " in line for line in told(mnt, "not handed out"))
    mnt.remount()
    check_found(mnt, store)
    # Found good again while it is mounted, it is what everybody gets.
    flip(file_of(store, "d/b", 2), AT)
    fsck(mnt, "--data", rc=20)
    fsck(mnt, "--data", rc=0)
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
    assert not is_marked(store)


@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_good_again_in_the_same_daemon(tmp, passthrough):
    """What the kernel has cached of it goes."""
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount(f"passthrough={passthrough}")
    mnt.allow_log("is damaged")
    assert (mnt / "d/b").read_bytes() == BAD
    wait_marked(store)
    flip(file_of(store, "d/b", 2), AT)
    fsck(mnt, "--data", rc=20)
    for _ in range(2):
        assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
    fsck(mnt, "--data", rc=0)


@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_what_this_daemon_sealed_and_read(tmp, passthrough):
    """It was hashed when it was sealed, from memory; now it comes from the disk."""
    store = Store(tmp / "s")
    mnt = store.mount(f"passthrough={passthrough}")
    mnt.allow_log("is damaged")
    with mnt.ctl() as ctl:
        publish(ctl, "b", 1, BIG)
    damage(store, "b", 1)
    (mnt / "b").read_bytes()
    wait_marked(store, "b", 1)
    expect_eio(mnt / "b")
    discard(store)


def test_reader_is_an_ordinary_user(tmp):
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    assert run("md5sum", mnt / "d/b", uid=12345).stdout
    wait_marked(store)
    expect_eio(mnt / "d/b")
    discard(store)


def test_in_a_session_and_a_refused_write(tmp):
    """Other names of the same content, and content that has none."""
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    with mnt.ctl() as ctl:
        ctl.expect_ok("claim", path="d/b", token=9)
        ctl.expect_err("ESTALE", "put", content("x", 1, BIG), path="d/b", token=1, size=BIG)
        refused = store.query("SELECT id, lower(hex(blob)) FROM reject")
        assert len(refused) == 1
        damage(store)
        file = store.path / "blobs" / refused[0][1][:2] / refused[0][1]
        flip(file, AT)
        evict(file)
        session = mnt.session(ctl.expect_ok("open", path="d/", token=9)["session"])
        os.rename(session / "d/b", session / "d/moved")
        assert (session / "d/moved").read_bytes() == BAD
        wait_marked(store)
        expect_eio(session / "d/moved", mnt / "d/b")
        kept = mnt / f".fence/rejects/{refused[0][0]}"
        kept.read_bytes()
        wait_until(lambda: f"blob {refused[0][1]} is damaged" in mnt.log(), "the other to be found")
        expect_eio(kept)
    discard(store)


@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_partial_read_is_no_full_read(tmp, passthrough):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    with mnt.ctl() as ctl:
        publish(ctl, "large", 1, MANY)
    mnt.unmount()
    damage(store)
    damage(store, "large", 1)
    mnt = store.mount(f"passthrough={passthrough}")
    mnt.allow_log("is damaged")
    with open(mnt / "large", "rb") as file:
        file.read(4096)
    (mnt / "d/b").read_bytes()  # waits behind it, if it waits
    wait_marked(store)
    assert not is_marked(store, "large", 1) and "large" not in mnt.log()
    wait_until(lambda: checks(mnt, "damaged") == 1, "the count")
    assert checks(mnt, "good") == 0
    (mnt / "large").read_bytes()
    wait_marked(store, "large", 1)
    discard(store)


# Runs a program whose cachestat(2) fails: seccomp(2), load the number, is it 451?, ENOSYS, else allowed.
NO_CACHESTAT = """
import ctypes, os, struct, sys
words = [(0x20, 0, 0, 0), (0x15, 0, 1, 451), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *word) for word in words))
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(len(words), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_once_until_it_comes_from_the_disk_again(tmp):
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    damage(store, "d/c")
    mnt = store.mount("passthrough=on")
    mnt.allow_log("is damaged")
    file = file_of(store, "d/a", 2)

    def read_often(log, then) -> int:
        """How often d/a was read to be checked."""
        before = len(calls(log))
        for _ in range(20):
            assert (mnt / "d/a").read_bytes() == content("d/a", 2, BIG)
        (mnt / then).read_bytes()  # is checked after it
        wait_marked(store, then)
        return len(calls(log)) - before

    with injecting(mnt, tmp / "log", "pread64", "delay_exit=1", "-P", file) as log:
        first = read_often(log, "d/b")
        evict(file)
        again = read_often(log, "d/c")
    assert first > 0 and again == first, (first, again)
    assert checks(mnt, "good") == checks(mnt, "damaged") == 2
    mnt.unmount()
    discard(store)


def test_without_cachestat(tmp):
    """Kernels before 6.5 have mincore(2) only."""
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    with mnt.ctl() as ctl:
        publish(ctl, "large", 1, MANY)
    mnt.unmount()
    damage(store)
    damage(store, "large", 1)
    mnt = store.mount("passthrough=on", wrapper=[sys.executable, "-c", NO_CACHESTAT])
    mnt.allow_log("is damaged")
    with injecting(mnt, tmp / "log", "mincore", "delay_exit=1") as log:
        with open(mnt / "large", "rb") as file:
            file.read(4096)
        assert (mnt / "d/b").read_bytes() == BAD
        wait_marked(store)
        assert not is_marked(store, "large", 1)
        (mnt / "large").read_bytes()
        wait_marked(store, "large", 1)
        assert any(call == "mincore" for _, call in calls(log))
    discard(store)


@pytest.mark.parametrize("passthrough", ["on", "off"])
@pytest.mark.parametrize("how", ["truncated", "missing"])
def test_open_finds_it(tmp, passthrough, how):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount(f"passthrough={passthrough}")
    mnt.allow_log("is missing or has the wrong size|is damaged")
    file = file_of(store, "d/b", 2)
    if how == "missing":
        file.rename(tmp / "away")
    else:
        os.truncate(file, BIG // 2)
    expect_eio(mnt / "d/b")
    assert "d/b, version 2 " in told(mnt, "is missing or has the wrong size")[0]
    wait_marked(store)
    mnt.remount()
    expect_eio(mnt / "d/b")
    assert (mnt / "d/a").read_bytes() == content("d/a", 2, BIG)
    with mnt.ctl() as ctl:
        session = mnt.session(ctl.expect_ok("open", path="d/b", token=1)["session"])
        with contextlib.suppress(OSError):
            with open(session / "d/b", "r+b"):
                raise AssertionError("it was copied")
        ctl.expect_ok("abort")
    mnt.unmount()
    fence("fsck", "--repair", "--yes", store, rc=0)
    assert fsck(store, "--data", rc=0)[0] == []
    mnt.start(f"passthrough={passthrough}")
    expect_eio(mnt / "d/b")
    assert (mnt / ".fence/versions/d/b/1").read_bytes() == content("d/b", 1, BIG)


def test_store_on_overlayfs(tmp):
    for name in ("lower", "upper", "work", "over"):
        (tmp / name).mkdir()
    what = ",".join(f"{name}dir={tmp / name}" for name in ("lower", "upper", "work"))
    run("mount", "-t", "overlay", "overlay", "-o", what, tmp / "over")
    store = Store(tmp / "over/s")
    fill(store)
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    assert (mnt / "d/b").read_bytes() == BAD
    wait_marked(store)
    expect_eio(mnt / "d/b")
    mnt.unmount()
    discard(store)
    run("umount", tmp / "over")


def test_copy_for_a_write_finds_it(tmp):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    mnt.allow_log("is missing or has the wrong size|is damaged")
    os.truncate(file_of(store, "d/b", 2), 5)
    with mnt.ctl() as ctl:
        session = mnt.session(ctl.expect_ok("open", path="d/b", token=1)["session"])
        try:
            with open(session / "d/b", "r+b"):
                raise AssertionError("it was copied")
        except OSError as error:
            assert error.errno == errno.EIO, error
        ctl.expect_ok("abort")
    wait_marked(store)
    assert "d/b, version 2 " in told(mnt, "is missing or has the wrong size")[0]
    discard(store)


def test_copied_for_a_write(tmp):
    """What a session changes begins as a copy, which reads it."""
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    with mnt.ctl() as ctl:
        session = mnt.session(ctl.expect_ok("open", path="d/b", token=1)["session"])
        with open(session / "d/b", "r+b") as file:
            assert file.read() == BAD
        wait_marked(store)
        ctl.expect_ok("abort")
    expect_eio(mnt / "d/b")
    discard(store)


def test_truncated_while_it_is_open(tmp):
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    with open(mnt / "d/b", "rb") as file:
        assert file.read() == content("d/b", 2, BIG)
        os.truncate(file_of(store, "d/b", 2), BIG - 1)
    wait_marked(store)
    assert "d/b, version 2 " in told(mnt, "its file has the wrong size")[0]
    discard(store)


def test_replaced_while_it_is_open(tmp):
    """A good copy came in the place of a bad one: that is what counts."""
    store = Store(tmp / "s")
    fill(store)
    file = file_of(store, "d/b", 2)
    (tmp / "good").write_bytes(file.read_bytes())
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    with open(mnt / "d/b", "rb") as opened:
        assert opened.read() == BAD
        (tmp / "good").rename(file)
        file.chmod(0o400)
    damage(store, "d/c")
    (mnt / "d/c").read_bytes()  # comes after it
    wait_marked(store, "d/c")
    assert not is_marked(store)
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
    flip(file_of(store, "d/c", 2), AT)
    fsck(mnt, "--data", rc=20)
    fsck(mnt, "--data", rc=0)


def test_disk_that_cannot_read(tmp):
    """With passthrough, so that only the check meets the error."""
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount("passthrough=on")
    mnt.allow_log("is damaged")
    file = file_of(store, "d/b", 2)
    with injecting(mnt, tmp / "log", "pread64", "error=EIO", "-P", file) as log:
        assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
        wait_marked(store)
        assert was_injected(log)
    assert "d/b, version 2 " in told(mnt, "its file cannot be read")[0]
    expect_eio(mnt / "d/b")
    fsck(mnt, "--data", rc=20)  # the mark; the content is good
    fsck(mnt, "--data", rc=0)
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)


def test_wrong_in_memory_only(tmp):
    """What the disk has decides."""
    store = Store(tmp / "s")
    fill(store)
    mnt = store.mount("passthrough=on")
    file = file_of(store, "d/b", 2)
    with injecting(mnt, tmp / "log", "pread64", "error=EIO:when=1", "-P", file):
        assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)
        wait_until(lambda: told(mnt, "is right on disk"), "it to be read again")
    assert not is_marked(store)
    assert (mnt / "d/b").read_bytes() == content("d/b", 2, BIG)


def test_full_disk_forgets_nothing(tmp):
    """A mark that cannot be written is written after a later read."""
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    wal = store.path / "meta.db-wal"
    with injecting(mnt, tmp / "log", "pwrite64,pwritev,write", "error=ENOSPC", "-P", wal) as log:
        (mnt / "d/b").read_bytes()
        wait_until(lambda: told(mnt, "could not be marked"), "the failure")
        assert was_injected(log)
    assert (mnt / "d/b").read_bytes() == BAD
    wait_marked(store)
    expect_eio(mnt / "d/b")
    discard(store)


def test_restored_and_pruned(tmp):
    """A new version is not damaged; with the old one its mark goes."""
    store = Store(tmp / "s")
    fill(store)
    damage(store)
    mnt = store.mount()
    mnt.allow_log("is damaged")
    (mnt / "d/b").read_bytes()
    wait_marked(store)
    fence("restore", "--token", "1", f"{mnt.path}/d/b@1")
    assert (mnt / "d/b").read_bytes() == content("d/b", 1, BIG)
    expect_eio(mnt / ".fence/versions/d/b/2")
    assert fsck(mnt, "--data", rc=20)[0]
    fence("gc", "--keep-last", "1", "--grace", "0", mnt)
    assert not store.query("SELECT 1 FROM setting WHERE name LIKE 'damaged/%'")
    fsck(mnt, "--data", rc=0)


def read_all(me, mount, number: int):
    me.mark("reading")
    done = 0
    while True:
        for name in (f"f{n}" for n in range(40)):
            with contextlib.suppress(FileNotFoundError):
                with open(f"{mount}/{name}", "rb") as file:
                    file.read()
                done += 1
        if done > number:
            return done


@pytest.mark.timeout(300)
@pytest.mark.parametrize("passthrough", ["on", "off"])
def test_beside_gc(tmp, passthrough):
    """Content goes between the read and the check: no alarm."""
    store = Store(tmp / "s")
    mnt = store.mount(f"passthrough={passthrough}")
    with mnt.ctl() as ctl:
        for name in range(40):
            publish(ctl, f"f{name}", 0, BIG)
    mnt.remount()
    children = [spawn(read_all, mnt.path, 1000) for _ in range(2)]
    for child in children:
        child.wait_mark("reading")
    with mnt.ctl() as ctl:
        for version in range(1, 8):
            for name in range(40):
                publish(ctl, f"f{name}", version, BIG)
            for file in store.blobs():
                with contextlib.suppress(FileNotFoundError):
                    evict(file)
            fence("gc", "--keep-last", "1", "--grace", "0", mnt)
    for child in children:
        assert child.result(200) > 1000
    assert not store.query("SELECT 1 FROM setting WHERE name LIKE 'damaged/%'")
    assert not told(mnt, "blob") and checks(mnt, "good") > 0 and checks(mnt, "damaged") == 0
    fsck(mnt, "--data", rc=0)


def test_unmount_does_not_wait(tmp):
    """Of a large file no more is read than what is under way."""
    store = Store(tmp / "s")
    mnt = store.mount(env={"ASAN_OPTIONS": "detect_leaks=0"})  # it ends under a tracer
    with mnt.ctl() as ctl:
        publish(ctl, "large", 1, MANY)
    mnt.remount("passthrough=on")
    file = file_of(store, "large", 1)
    with injecting(mnt, tmp / "log", "pread64", "delay_enter=2s", "-P", file) as log:
        run("cat", mnt / "large")
        wait_until(lambda: "pread64(" in log.read_text(), "the check to begin")
        mnt.unmount()
        assert 0 < len(calls(log)) < 32, len(calls(log))


def test_many_at_once(tmp):
    """More than can wait: those left out are found when they are read again."""
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for name in range(300):
            publish(ctl, f"f{name}", 1, 20_000)
    mnt.unmount()
    for name in range(300):
        damage(store, f"f{name}", 1, 19_999)
    mnt = store.mount()
    mnt.allow_log("is damaged")

    def all_found():
        run("sh", "-c", f"cat {mnt.path}/f* >/dev/null", rc=None)
        return store.query("SELECT count(*) FROM setting WHERE name LIKE 'damaged/%'")[0][0] == 300

    wait_until(all_found, "all to be found", 60)
    discard(store)
