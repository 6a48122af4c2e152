# SPDX-License-Identifier: MIT
"""One conversation on .fence/ctl: requests written, replies read, both unbuffered."""

import errno
import os
import re
from dataclasses import dataclass, field

ERRNAME = re.compile(r"E[A-Z0-9]+\Z")
KEY = re.compile(r"[a-z][a-z0-9_]*\Z")


class ProtocolError(AssertionError):
    """A reply that the grammar does not allow."""


def _bytes(value) -> bytes:
    if isinstance(value, bytes):
        return value
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    return text.encode("utf-8", "surrogateescape")


def quote(value) -> str:
    """Percent-encodes what a value may not hold."""
    text = _bytes(value).decode("utf-8", "surrogateescape")
    return re.sub(r"[ \t\n\r\0%]", lambda m: f"%{ord(m[0]):02X}", text)


def unquote(text: str) -> str:
    """Undoes quote(); raises ProtocolError on a bare or broken percent sign."""
    raw = text.encode("utf-8", "surrogateescape")
    if re.search(rb"%(?![0-9A-Fa-f]{2})", raw) or re.search(rb"[\t\r\0]", raw):
        raise ProtocolError(f"badly encoded value {text!r}")
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), raw)
    return raw.decode("utf-8", "surrogateescape")


@dataclass
class Reply:
    """A reply line, and the errno that the write of its request failed with."""

    ok: bool
    errno_name: str | None
    fields: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    raw: str = ""
    write_errno: int | None = None

    def __getitem__(self, key: str) -> str:
        if key not in self.fields:
            raise AssertionError(f"no {key}= in reply {self.raw!r}")
        return self.fields[key]

    def __contains__(self, key: str) -> bool:
        return key in self.fields

    def get(self, key: str, default=None):
        return self.fields.get(key, default)

    def int(self, key: str) -> int:
        return int(self[key])

    @property
    def write_errno_name(self) -> str | None:
        return None if self.write_errno is None else errno.errorcode.get(self.write_errno, "?")


def parse_reply(line: bytes, write_errno: int | None = None) -> Reply:
    if not line.endswith(b"\n"):
        raise ProtocolError(f"reply without its end of line: {line!r}")
    raw = line[:-1].decode("utf-8", "surrogateescape")
    head, mark, text = raw.partition(" # ")
    words = head.split(" ")
    name = None
    if words[0] == "err":
        name = words[1] if len(words) > 1 else ""
        if not ERRNAME.match(name) or not hasattr(errno, name):
            raise ProtocolError(f"no errno name in {raw!r}")
        words = words[1:]
    elif words[0] != "ok":
        raise ProtocolError(f"neither ok nor err: {raw!r}")
    fields = {}
    for word in words[1:]:
        key, sign, value = word.partition("=")
        if not sign or not KEY.match(key) or key in fields:
            raise ProtocolError(f"bad field {word!r} in {raw!r}")
        fields[key] = unquote(value)
    return Reply(name is None, name, fields, text if mark else None, raw, write_errno)


class Ctl:
    """with Ctl(mnt.path) as ctl: ctl.expect_ok("open", path="p", token=41)"""

    def __init__(self, mount=None, fd: int | None = None):
        """@mount: a Mount or the path of one; @fd: instead, a descriptor that is this object's then."""
        if fd is None:
            path = os.fspath(getattr(mount, "path", mount))
            fd = os.open(os.path.join(path, ".fence/ctl"), os.O_RDWR | os.O_CLOEXEC)
        self.fd = fd
        self._pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def fileno(self) -> int:
        return self.fd

    @staticmethod
    def line(request, fields: dict) -> bytes:
        """The bytes of a request: @request as it is, then key=value of @fields, encoded."""
        words = [_bytes(request)]
        words += [_bytes(f"{key}=") + _bytes(quote(value)) for key, value in fields.items()]
        return b" ".join(words) + b"\n"

    def write(self, data: bytes) -> int | None:
        """Writes all of @data; returns the errno when a write fails, None otherwise."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except OSError as error:
                return error.errno
        return None

    def read_line(self) -> bytes:
        """The next reply line, waiting for it; b"" when there is none and none will come."""
        while b"\n" not in self._pending:
            part = os.read(self.fd, 65536)
            if not part:
                break
            self._pending += part
        line, end, self._pending = self._pending.partition(b"\n")
        return line + end

    def reply(self, write_errno: int | None = None) -> Reply:
        """The reply to a request that was written before."""
        return parse_reply(self.read_line(), write_errno)

    def send(self, request, data: bytes = b"", **fields) -> int | None:
        """Writes a request and leaves its reply to reply(); returns the errno of the write."""
        return self.write(self.line(request, fields) + data)

    def request(self, request, data: bytes = b"", **fields) -> Reply:
        """request("open path=p token=41") or request("open", path="p", token=41)."""
        return self.reply(self.send(request, data, **fields))

    def expect_ok(self, request, data: bytes = b"", **fields) -> Reply:
        reply = self.request(request, data, **fields)
        if not reply.ok or reply.write_errno is not None:
            raise AssertionError(
                f"{request} {fields}: {reply.raw!r}, write: {reply.write_errno_name}, expected ok"
            )
        return reply

    def expect_err(self, name: str, request, data: bytes = b"", *, late=None, **fields) -> Reply:
        """Expects `err NAME`, and the write to have succeeded or failed with the same errno.

        @late: True when the write must have succeeded (the refusal comes after waiting), False when
        it must have failed.
        """
        reply = self.request(request, data, **fields)
        number = getattr(errno, name)
        writes = {False: (number,), True: (None,), None: (None, number)}[late]
        if reply.errno_name != name or reply.write_errno not in writes:
            raise AssertionError(
                f"{request} {fields}: {reply.raw!r}, write: {reply.write_errno_name}, expected {name}"
            )
        return reply
