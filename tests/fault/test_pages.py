# SPDX-License-Identifier: MIT
"""Pages of the database that do not match their checksums: what is read from them all the same harms nothing else."""

import errno
import random
import struct

from fenceharness import *
from fenceharness.database import PAGE, changing

SIZE = 500


def content(name: str, size: int = SIZE) -> bytes:
    return random.Random(name).randbytes(size)


def publish(ctl: Ctl, path: str, size: int = SIZE):
    ctl.expect_ok("put", content(path, size), path=path, token=1, size=size)


def refused_writer(ctl: Ctl, mnt: Mount):
    """Leaves its content to gc."""
    session = ctl.expect_ok("open", path="late", token=1)
    (mnt / session["path"]).write_bytes(content("late"))
    ctl.expect_ok("claim", path="late", token=2)
    ctl.expect_err("ESTALE", "commit")


def root_of(store: Store, name: str) -> int:
    return store.query("SELECT rootpage FROM sqlite_schema WHERE name = ?", name)[0][0]


def redirect(store: Store, blob: bytes, to: int):
    """The index of contents leads from @blob to the row @to."""
    start = (root_of(store, "blob_id") - 1) * PAGE
    with open(store.path / "meta.db", "r+b") as file:
        file.seek(start)
        page = file.read(PAGE)
        assert page[0] == 10 and page.count(blob) == 1  # 10: a leaf of an index; the number of the row is behind the id
        file.seek(start + page.index(blob) + len(blob))
        file.write(bytes([to]))


def row_of(store: Store, path: str) -> tuple[bytes, int]:
    return store.query(
        "SELECT id, n FROM blob WHERE id = (SELECT blob FROM entry WHERE name = ? AND died IS NULL)", path.encode()
    )[0]


def prepared(tmp) -> Store:
    store = Store(tmp / "s")
    mnt = store.mount()
    with mnt.ctl() as ctl:
        for path in ("first", "a", "b"):
            publish(ctl, path)
        refused_writer(ctl, mnt)
    mnt.unmount()
    return store


def discard(store: Store):
    """It stays damaged: not to be checked at the end of the test."""
    store.path.rename(store.path.with_name("discarded"))


def check_unreadable(path):
    try:
        found = path.read_bytes()
    except OSError as error:
        assert error.errno == errno.EIO, error
    else:
        raise AssertionError(f"{path} was read: {found[:20]}")


def test_no_content_is_read_for_another(tmp):
    """One of the same size, in the row that a damaged index leads to, has a hash that is right for it."""
    store = prepared(tmp)
    redirect(store, row_of(store, "a")[0], row_of(store, "b")[1])
    mnt = store.mount()
    mnt.allow_log("damaged|database")
    check_unreadable(mnt / "a")
    assert (mnt / "b").read_bytes() == content("b")
    mnt.unmount()
    discard(store)


def free_some_pages(store: Store):
    with changing(store.path / "meta.db") as db:
        db.execute("CREATE TABLE scratch(x)")
        db.execute("INSERT INTO scratch VALUES(zeroblob(?))", (20 * PAGE,))
        db.execute("DROP TABLE scratch")


def damage_list_of_free_pages(store: Store, page: int):
    """It says that @page is free, which is not."""
    with open(store.path / "meta.db", "r+b") as file:
        file.seek(32)
        (trunk,) = struct.unpack(">I", file.read(4))
        file.seek((trunk - 1) * PAGE)
        _, count = struct.unpack(">II", file.read(8))
        assert count > 10
        file.write(struct.pack(">I", page))


def test_no_page_of_another_table_is_written_over(tmp):
    """New content takes pages that are free: which they are is not taken from a page that is damaged."""
    store = prepared(tmp)
    refused = store.query("SELECT * FROM reject")
    assert refused
    free_some_pages(store)
    damage_list_of_free_pages(store, root_of(store, "reject"))
    mnt = store.mount()
    mnt.allow_log("damaged|database")
    with mnt.ctl() as ctl:
        for name in ("one", "two"):
            reply = ctl.request("put", content(name, 16_000), path=name, token=1, size=16_000)
            assert not reply.ok, reply.raw
        publish(ctl, "small")  # it takes no page
        assert (mnt / "small").read_bytes() == content("small")
    mnt.unmount()
    assert store.query("SELECT * FROM reject") == refused
    discard(store)
