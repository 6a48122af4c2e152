# SPDX-License-Identifier: MIT
"""What several files of tests say to ctl, as functions. No tests here."""

import contextlib
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from fenceharness import Ctl, Reply


@dataclass
class Session:
    """An open session: its id, its whole tree, and the claimed path in it."""

    ident: str
    top: Path
    path: Path
    reply: Reply

    def is_there(self) -> bool:
        return self.ident in os.listdir(self.top.parent)


def open_session(mnt, ctl: Ctl, path, token, **more) -> Session:
    reply = ctl.expect_ok("open", path=path, token=token, **more)
    assert reply["token"] == str(token), reply.raw
    assert reply["dir"] == f".fence/sessions/{reply['session']}", reply.raw
    return Session(reply["session"], mnt / reply["dir"], mnt / reply["path"], reply)


def put(ctl: Ctl, path, data, token, **more) -> Reply:
    """Publishes @data as @path; the reply of a success."""
    data = data.encode() if isinstance(data, str) else data
    return ctl.expect_ok("put", data, path=path, token=token, size=len(data), **more)


def put_refused(ctl: Ctl, name: str, path, data, token, **more) -> Reply:
    data = data.encode() if isinstance(data, str) else data
    return ctl.expect_err(name, "put", data, path=path, token=token, size=len(data), **more)


def publish(mnt, path, token, fill, **more) -> Reply:
    """A session on @path that fill(path in the session) writes into; the reply of its commit."""
    with mnt.ctl() as ctl:
        session = open_session(mnt, ctl, path, token, **more)
        fill(session.path)
        return ctl.expect_ok("commit", session=session.ident)


def make_dir(mnt, path, *, uid=0, gid=0, mode=0o755, token=0):
    """A directory of that owner and mode, published by root."""

    def fill(top):
        if not top.is_dir():
            top.mkdir()
        os.chown(top, uid, gid)
        top.chmod(mode)

    publish(mnt, f"{path}/", token, fill)


def records(ctl: Ctl, kind: str, **more) -> list[Reply]:
    """All records of `list kind=…`."""
    found = []
    after = {}
    while True:
        reply = ctl.expect_ok("list", kind=kind, **more, **after)
        if reply.get("end") == "1":
            return found
        found.append(reply)
        after = {"after": reply["id"]}


def expect_stale(reply: Reply, *, path, token, highest, by, held):
    """The line that tells a late writer all there is to know."""
    want = dict(path=path, token=str(token), highest=str(highest), set_by=by, held_path=held)
    got = {key: reply.get(key) for key in want}
    assert reply.errno_name == "ESTALE" and got == want, f"{reply.raw!r}, expected {want}"
    text = f"token {token} is older than {highest} on {held} (set by {by} at "
    assert reply.text and reply.text.startswith(text), reply.raw
    assert reply.text.endswith(" UTC); take a new token"), reply.raw


def errno_name(number: int | None) -> str | None:
    """As the protocol spells it: number 95 has two names."""
    return "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode.get(number)


def errno_of(function, *args) -> str | None:
    """The errno that function(*args) fails with, None if it does not."""
    try:
        function(*args)
    except OSError as error:
        return errno_name(error.errno)
    return None


@contextlib.contextmanager
def fails(name: str):
    """The block must end with an OSError of that name."""
    try:
        yield
    except OSError as error:
        assert errno_name(error.errno) == name, f"{error}: expected {name}"
    else:
        raise AssertionError(f"succeeded, expected {name}")
