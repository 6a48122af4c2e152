# SPDX-License-Identifier: MIT
"""Answers come in the order of what is durable: nobody is told of a state that is not visible yet (P1, P3).

A large commit is durable for a while before it is visible, since the kernel drops each changed name first. The database tells when
that while begins.
"""

import contextlib
import os
import sqlite3
import threading

import pytest
from fenceharness import *
from fencelib.dialog import put

NAMES = 2000


@contextlib.contextmanager
def revisions(mnt):
    """A function that tells the newest durable revision."""
    path = mnt.store.path / "meta.db"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as db:
        yield lambda: db.execute("SELECT max(revision) FROM revision").fetchone()[0]


def fill(mnt, ctl, token, content, owner):
    path = "d" if (mnt / "d").exists() else "d/"
    reply = ctl.expect_ok("open", path=path, token=token, owner=owner)
    for number in range(NAMES):
        (mnt / reply["dir"] / f"d/{number:05}").write_bytes(content)


class LargeCommit:
    """A commit of many names that the kernel remembers, durable when this is entered, and visible some time later."""

    def __init__(self, mnt):
        self.mnt = mnt
        self.last = mnt / f"d/{NAMES - 1:05}"

    def __enter__(self):
        self.ctl = self.mnt.ctl()
        fill(self.mnt, self.ctl, 10, b"old", "A")
        self.ctl.expect_ok("commit")
        for number in range(NAMES):
            os.stat(self.mnt / f"d/{number:05}")
        fill(self.mnt, self.ctl, 20, b"new", "A")
        with revisions(self.mnt) as newest:
            before = newest()
            self.thread = threading.Thread(target=self.ctl.expect_ok, args=("commit",))
            self.thread.start()
            while newest() == before:
                pass
        return self

    def __exit__(self, *_):
        self.thread.join()
        self.ctl.close()


@pytest.mark.parametrize("verb", ["claim", "open", "acquire"])
def test_a_new_owner_finds_what_the_old_one_published(mnt, verb):
    how = {"acquire": {"ttl": "60s"}}.get(verb, {"token": 30})
    with mnt.ctl() as other, LargeCommit(mnt) as large:
        other.expect_ok(verb, path="d", owner="B", **how)
        assert large.last.read_bytes() == b"new"


def test_a_refusal_comes_behind_what_it_tells_of(mnt):
    with mnt.ctl() as other, LargeCommit(mnt) as large:
        refused = other.expect_err("ESTALE", "claim", path="d", token=15)
        assert refused["highest"] == "20"
        assert large.last.read_bytes() == b"new"


def test_a_repeated_op_is_answered_when_it_can_be_seen(mnt):
    with mnt.ctl() as first, mnt.ctl() as again, revisions(mnt) as newest, LargeCommit(mnt):
        before = newest()
        thread = threading.Thread(target=put, args=(first, "p", b"second", 30), kwargs={"op": "K"})
        thread.start()
        while newest() == before:
            pass
        put(again, "p", b"second", 30, op="K")
        assert (mnt / "p").read_bytes() == b"second"
        thread.join()
