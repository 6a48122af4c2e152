# SPDX-License-Identifier: MIT
"""The operations. Each picks what it works on, predicts what must happen, does it, and compares.

An operation is a function of the Walk, registered with its weight. It says what it does by w.say()
before it does it, so that a failure shows it.
"""

import ctypes
import errno
import mmap
import os
import stat
from dataclasses import dataclass

from . import compare
from .tree import Content, Dir, File, Link, Session, is_within, join

NAMES = ("a", "b", "c", "d", "e e", "f\n", "g" * 200, "ü", "-h")
SIZE_MAX = 80000
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
NOREPLACE, EXCHANGE = 1, 2

libc = ctypes.CDLL(None, use_errno=True)
operations = []


def operation(weight: float):
    def register(function):
        operations.append((function, weight))
        return function

    return register


@dataclass
class Spot:
    """A name in a directory of a session's tree, and what is there."""

    session: Session
    directory: Dir
    name: str
    path: str  # from the root of the tree
    node: object

    @property
    def real(self) -> str:
        return f"{self.session.top}/{self.path}"


@dataclass(eq=False)
class Held:
    """An open file that is held on to."""

    fd: int
    content: Content
    session: Session | None  # None: of the live tree
    writable: bool
    mapped: mmap.mmap | None = None

    def is_over(self) -> bool:
        """Its session has ended: what it writes changes nothing that anybody sees."""
        return self.writable and self.session.has_ended

    def is_tampered(self) -> bool:
        return self.session is not None and self.content.tampered

    def close(self):
        if self.mapped:
            self.mapped.close()
        try:
            os.close(self.fd)
        except OSError as error:  # what could not be written back when its session had ended
            assert error.errno in (errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.ECONNABORTED), error


# -------------------------------------------------------------------------------------- picking a spot


def walk_down(w, session: Session, depth: int):
    """A directory that can be reached, and its path: most often within the claim."""
    path = session.path if w.rng.random() < 0.93 else "."
    directory = session.find(path)
    if not isinstance(directory, Dir):  # the claim of a file, or it is gone
        path = path.rpartition("/")[0] or "."
        directory = session.find(path)
        if not isinstance(directory, Dir):
            path, directory = ".", session.root
    while depth and w.rng.random() < 0.6:
        below = [n for n in session.names(directory) if isinstance(session.lookup(directory, n), Dir)]
        if not below:
            break
        name = w.rng.choice(below)
        directory, path = session.lookup(directory, name), join(path, name)
        depth -= 1
    return directory, path


def spot(w, session: Session, kind=None) -> Spot:
    """A name: mostly of something that is there and of @kind, sometimes any."""
    if session.path != "." and not isinstance(session.find(session.path), Dir) and w.rng.random() < 0.5:
        above, _, name = session.path.rpartition("/")
        directory = session.find(above or ".")
        if isinstance(directory, Dir):
            return Spot(session, directory, name, session.path, session.lookup(directory, name))
    directory, path = walk_down(w, session, 4)
    names = session.names(directory)
    if kind:
        names = [n for n in names if isinstance(session.lookup(directory, n), kind)]
    if names and w.rng.random() < 0.85:
        name = w.rng.choice(names)
    else:
        name = w.rng.choice(NAMES)
    return Spot(session, directory, name, join(path, name), session.lookup(directory, name))


def refusal(s: Spot) -> int:
    """What the daemon says to a change there: 0, or an errno."""
    return refusal_of(s.session, s.path)


def refusal_of(session: Session, path: str) -> int:
    if not is_within(path, session.path):
        return errno.EROFS
    return errno.ESTALE if session.is_fenced(path) else 0


def attempt(w, want: int, call, *args):
    """call(*args) must fail with errno @want, or succeed if that is 0. The result, None after a failure."""
    try:
        result = call(*args)
    except OSError as error:
        if error.errno != want:
            raise compare.Difference(
                f"{error}, expected {errno.errorcode.get(want, 'success')}"
            ) from None
        w.refused += 1
        return None
    if want:
        if call is os.open:
            os.close(result)
        raise compare.Difference(f"succeeded, expected {errno.errorcode[want]}")
    return result


def open_errno(s: Spot, flags: int) -> int:
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC)
    if s.node is None:
        return refusal(s) if flags & os.O_CREAT else errno.ENOENT
    if flags & os.O_CREAT and flags & os.O_EXCL:
        return errno.EEXIST
    if isinstance(s.node, Link):
        return errno.ENOENT  # all links here lead nowhere
    if isinstance(s.node, Dir):
        return errno.EISDIR if writes or flags & os.O_CREAT else 0
    return refusal(s) if writes else 0


def open_spot(w, s: Spot, flags: int, mode: int = 0o644):
    """open(2) there: (fd, content) and the model is up to date, or None."""
    if s.node is None and w.is_crowded:
        flags &= ~os.O_CREAT
    w.say(f"open {s.path!r} {flags:#o}")
    fd = attempt(w, open_errno(s, flags), os.open, s.real, flags, mode)
    if fd is None or isinstance(s.node, Dir):
        if fd is not None:
            os.close(fd)
        return None
    session = s.session
    if s.node is None:
        s.node = File(mode, session)
        session.put(s.directory, s.name, s.node)
        session.touch(s.directory)
    elif flags & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC):
        truncates = bool(flags & os.O_TRUNC)
        s.node = session.own_content(s.directory, s.name, s.node, empty=truncates)
        if truncates:
            s.node.content.data.clear()
            s.node.mtime = None
    return fd, s.node.content


def some_bytes(w, most: int = 30000) -> bytes:
    size = w.rng.choice((1, 10, 100, 100, 1000, 1000, 4096, 5000, 16384, 16385, most))
    size = w.rng.randrange(1, size + 1)
    start = w.rng.randrange(len(w.noise) - size)
    return w.noise[start : start + size]


def some_offset(w, length: int) -> int:
    kind = w.rng.random()
    if kind < 0.3:
        return length
    if kind < 0.4:
        return length + w.rng.randrange(9000)
    return w.rng.randrange(length + 1)


def put_bytes(content: Content, offset: int, data: bytes):
    if len(content.data) < offset:
        content.data.extend(bytes(offset - len(content.data)))
    content.data[offset : offset + len(data)] = data


def set_size(content: Content, size: int):
    del content.data[size:]
    content.data.extend(bytes(size - len(content.data)))


def shown_at(content: Content):
    """(directory, name, file) for all that shows @content in its session: one, or none if it is unlinked."""
    for directory, own in content.session.over.items():
        for name, override in own.items():
            if isinstance(override.node, File) and override.node.content is content:
                yield directory, name, override.node


def refusal_of_content(content: Content) -> int:
    """What the daemon says to a change of size: it goes by where the file is now, others may have moved it."""
    for directory, name, _ in shown_at(content):
        where = content.session.place_of(directory)
        if where:
            return refusal_of(content.session, join(where, name))
    return 0


def written(content: Content):
    """The mtime of what shows @content has moved."""
    for _, _, file in shown_at(content):
        file.mtime = None


# --------------------------------------------------------------------------------------- file content


@operation(16)
def write(w):
    s = spot(w, w.session(), File)
    flags = w.rng.choice((os.O_WRONLY, os.O_RDWR)) | w.rng.choice((0, os.O_CREAT, os.O_CREAT, os.O_TRUNC))
    opened = open_spot(w, s, flags)
    if not opened:
        return
    fd, content = opened
    for _ in range(w.rng.choice((0, 1, 1, 1, 3))):
        data = some_bytes(w)
        offset = some_offset(w, len(content.data))
        if offset + len(data) > SIZE_MAX:
            continue
        w.say(f"  pwrite {len(data)} at {offset}")
        assert os.pwrite(fd, data, offset) == len(data)
        put_bytes(content, offset, data)
        s.node.mtime = None
        if flags & os.O_RDWR:
            back = os.pread(fd, len(data) + 10, max(0, offset - 5))
            at = max(0, offset - 5)
            compare.expect_data(content.data[at : at + len(data) + 10], back, s.path)
    os.close(fd)


@operation(8)
def append(w):
    s = spot(w, w.session(), File)
    opened = open_spot(w, s, os.O_WRONLY | os.O_APPEND | w.rng.choice((0, os.O_CREAT)))
    if not opened:
        return
    fd, content = opened
    for _ in range(w.rng.randrange(1, 4)):
        data = some_bytes(w, 5000)
        if len(content.data) + len(data) > SIZE_MAX:
            break
        w.say(f"  append {len(data)}")
        assert os.write(fd, data) == len(data)
        content.data.extend(data)
        s.node.mtime = None
    os.close(fd)


@operation(4)
def create_exclusively(w):
    s = spot(w, w.session())
    opened = open_spot(w, s, os.O_RDWR | os.O_CREAT | os.O_EXCL, w.rng.choice((0o600, 0o644, 0o400, 0o755)))
    if opened:
        data = some_bytes(w)
        w.say(f"  write {len(data)}")
        assert os.write(opened[0], data) == len(data)
        opened[1].data[:] = data
        os.close(opened[0])


@operation(4)
def truncate(w):
    s = spot(w, w.session(), File)
    length = len(s.node.content.data) if isinstance(s.node, File) else 0
    size = w.rng.choice((0, length, w.rng.randrange(length + 1), min(SIZE_MAX, length + w.rng.randrange(20000))))
    w.say(f"truncate {s.path!r} to {size}")
    want = errno.EISDIR if isinstance(s.node, Dir) else open_errno(s, os.O_WRONLY)
    attempt(w, want, os.truncate, s.real, size)
    if not want:
        s.node = s.session.own_content(s.directory, s.name, s.node, empty=size == 0)
        set_size(s.node.content, size)
        s.node.mtime = None


@operation(4)
def store_through_mapping(w):
    s = spot(w, w.session(), File)
    opened = open_spot(w, s, os.O_RDWR)
    if not opened:
        return
    fd, content = opened
    if content.data:
        with mmap.mmap(fd, len(content.data)) as view:
            compare.expect_data(content.data, view[:], f"mapping of {s.path}")
            for _ in range(w.rng.randrange(1, 4)):
                data = some_bytes(w, 5000)[: len(content.data)]
                offset = w.rng.randrange(len(content.data) - len(data) + 1)
                w.say(f"  store {len(data)} at {offset}")
                view[offset : offset + len(data)] = data
                content.data[offset : offset + len(data)] = data
            if w.rng.random() < 0.5:
                view.flush()
            back = os.pread(fd, len(content.data) + 1, 0)
            compare.expect_data(content.data, back, f"{s.path} after stores")
        s.node.mtime = None
    os.close(fd)


@operation(5)
def allocate(w):
    """fallocate: grow, keep the size, punch a hole, zero a range."""
    s = spot(w, w.session(), File)
    opened = open_spot(w, s, os.O_RDWR)
    if not opened:
        return
    fd, content = opened
    mode = w.rng.choice((0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE))
    offset = w.rng.randrange(len(content.data) + 5000)
    length = w.rng.choice((1, 100, 4096, 10000, 30000))
    w.say(f"  fallocate {mode} {offset} {length}")
    if offset + length <= SIZE_MAX:
        done = libc.fallocate(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(length))
        if done < 0:
            raise compare.Difference(f"fallocate: {os.strerror(ctypes.get_errno())}")
        end = offset + length
        if not mode & KEEP_SIZE and end > len(content.data):
            set_size(content, end)
        if mode & (PUNCH_HOLE | ZERO_RANGE):
            end = min(end, len(content.data))
            content.data[offset:end] = bytes(max(0, end - offset))
        s.node.mtime = None
    os.close(fd)


@operation(3)
def copy_range(w):
    """copy_file_range from anything in the tree, or in the live one, to a file of the session."""
    session = w.session()
    source = spot(w, session, File)
    target = spot(w, session, File)
    if not isinstance(source.node, File):
        return
    w.say(f"copy_file_range from {source.path!r}")
    from_fd = os.open(source.real, os.O_RDONLY)
    from_content = source.node.content
    opened = open_spot(w, target, os.O_WRONLY | os.O_CREAT)
    if opened:
        fd, content = opened
        start = w.rng.randrange(len(from_content.data) + 1)
        length = w.rng.randrange(1, 40000)
        offset = some_offset(w, len(content.data))
        data = bytes(from_content.data[start : start + length])
        overlaps = content is from_content and abs(start - offset) < length
        if offset + len(data) <= SIZE_MAX and not overlaps:
            w.say(f"  {length} from {start} to {offset}")
            done = 0
            while done < len(data):
                step = os.copy_file_range(from_fd, fd, len(data) - done, start + done, offset + done)
                assert step, "copied nothing"
                done += step
            if data:
                put_bytes(content, offset, data)
                target.node.mtime = None
        os.close(fd)
    os.close(from_fd)


@operation(8)
def read(w):
    s = spot(w, w.session(), File)
    opened = open_spot(w, s, os.O_RDONLY)
    if opened:
        fd, content = opened
        offset = w.rng.randrange(len(content.data) + 100)
        size = w.rng.choice((1, 100, 4096, SIZE_MAX))
        compare.expect_data(content.data[offset : offset + size], os.pread(fd, size, offset), s.path)
        os.close(fd)


# --------------------------------------------------------------------------------------- names


@operation(6)
def mkdir(w):
    s = spot(w, w.session())
    if w.is_crowded or s.path.count("/") > 6:
        return
    w.say(f"mkdir {s.path!r}")
    mode = w.rng.choice((0o755, 0o700, 0o1777))
    want = errno.EEXIST if s.node else refusal(s)
    attempt(w, want, os.mkdir, s.real, mode)
    if not want:
        s.session.put(s.directory, s.name, Dir(mode, s.session))
        s.session.touch(s.directory)


@operation(4)
def rmdir(w):
    s = spot(w, w.session(), Dir)
    w.say(f"rmdir {s.path!r}")
    if s.node is None:
        want = errno.ENOENT
    elif not isinstance(s.node, Dir):
        want = errno.ENOTDIR
    else:
        want = refusal(s) or (errno.ENOTEMPTY if s.session.names(s.node) else 0)
    attempt(w, want, os.rmdir, s.real)
    if not want:
        s.session.put(s.directory, s.name, None)
        s.session.touch(s.directory)
        if s.node.session is s.session:
            s.session.forget_unlinked(s.node)


@operation(6)
def unlink(w):
    s = spot(w, w.session(), (File, Link))
    w.say(f"unlink {s.path!r}")
    if s.node is None:
        want = errno.ENOENT
    else:
        want = errno.EISDIR if isinstance(s.node, Dir) else refusal(s)
    attempt(w, want, os.unlink, s.real)
    if not want:
        s.session.put(s.directory, s.name, None)
        s.session.touch(s.directory)


@operation(3)
def symlink(w):
    s = spot(w, w.session())
    target = "/nowhere/" + w.rng.choice(NAMES)
    w.say(f"symlink {s.path!r}")
    want = errno.EEXIST if s.node else refusal(s)
    attempt(w, want, os.symlink, target, s.real)
    if not want:
        s.session.put(s.directory, s.name, Link(target, s.session))
        s.session.touch(s.directory)


def rename_errno(a: Spot, b: Spot, flags: int) -> int:
    """In the order in which kernel and daemon look."""
    if a.node is None:
        return errno.ENOENT
    if b.node is not None and flags & NOREPLACE:
        return errno.EEXIST
    if b.node is None and flags & EXCHANGE:
        return errno.ENOENT
    if is_within(b.path, a.path) and b.path != a.path:
        return errno.EINVAL
    if is_within(a.path, b.path) and b.path != a.path:
        return errno.EINVAL if flags & EXCHANGE else errno.ENOTEMPTY
    if a.node is b.node:
        return 0
    if b.node is not None and not flags & EXCHANGE:
        if isinstance(a.node, Dir) and not isinstance(b.node, Dir):
            return errno.ENOTDIR
        if isinstance(b.node, Dir) and not isinstance(a.node, Dir):
            return errno.EISDIR
    refused = refusal(a) or refusal(b)
    if refused:
        return refused
    if isinstance(b.node, Dir) and not flags & EXCHANGE and a.session.names(b.node):
        return errno.ENOTEMPTY
    return 0


def rename2(source: str, target: str, flags: int):
    if libc.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flags) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@operation(11)
def rename(w):
    session = w.session()
    kind = w.rng.choice((None, Dir, (File, Link)))
    a, b = spot(w, session, kind), spot(w, session, w.rng.choice((None, kind)))
    flags = w.rng.choice((0, 0, 0, NOREPLACE, EXCHANGE))
    if a.node is not None and w.levels_beneath(session, a.node) + b.path.count("/") > 8:
        return
    w.say(f"rename {a.path!r} to {b.path!r} flags {flags}")
    want = rename_errno(a, b, flags)
    for end in (a, b):
        # A directory that a commit has moved is found at its new place by a walk to it, but by a rename
        # only where it was: the kernel (6.18, __d_unalias()) then says ESTALE.
        if isinstance(end.node, Dir):
            os.lstat(end.real)
    attempt(w, want, rename2, a.real, b.real, flags)
    if want or a.node is b.node:
        return
    source = session.own(a.directory, a.name, a.node)
    target = b.node
    if target is not None:
        target = session.own(b.directory, b.name, target)
    if flags & EXCHANGE:
        session.put(a.directory, a.name, None)
        session.put(b.directory, b.name, None)
        session.put(b.directory, b.name, source)
        session.put(a.directory, a.name, target)
    else:
        session.put(a.directory, a.name, None)
        session.put(b.directory, b.name, None)
        session.put(b.directory, b.name, source)
        if isinstance(target, Dir) and target.session is session:
            session.forget_unlinked(target)
    session.touch(a.directory)
    session.touch(b.directory)


@operation(3)
def list_directory(w):
    session = w.session()
    directory, path = walk_down(w, session, 4)
    w.say(f"list {path!r}")
    compare.expect(session.names(directory), sorted(os.listdir(f"{session.top}/{path}")), f"names in {path}")


@operation(4)
def look(w):
    s = spot(w, w.session())
    w.say(f"lstat {s.path!r}")
    if s.node is None:
        attempt(w, errno.ENOENT, os.lstat, s.real)
        return
    found = os.lstat(s.real)
    attributes = s.session.attributes(s.node) if isinstance(s.node, Dir) else s.node
    if attributes is not None:
        compare.compare_attributes(attributes, found, s.path)
    if isinstance(s.node, File):
        compare.expect(len(s.node.content.data), found.st_size, f"size of {s.path}")


# --------------------------------------------------------------------------------------- attributes


def change_attributes(w, s: Spot, follow: bool, call, *args):
    """The node whose attributes call(*args) has changed, or None."""
    if s.node is None or (follow and isinstance(s.node, Link)):
        attempt(w, errno.ENOENT, call, *args)
        return None
    want = refusal(s)
    attempt(w, want, call, *args)
    if want:
        return None
    if isinstance(s.node, Dir):
        return s.session.attributes_to_change(s.node)
    return s.session.own(s.directory, s.name, s.node)


@operation(4)
def chmod(w):
    s = spot(w, w.session())
    mode = w.rng.choice((0o644, 0o600, 0o755, 0o1777, 0o000))
    if isinstance(s.node, File):
        mode = w.rng.choice((mode, 0o4755, 0o2775, 0o2644))
    w.say(f"chmod {s.path!r} {mode:o}")
    node = change_attributes(w, s, True, os.chmod, s.real, mode)
    if node:
        node.mode = mode


@operation(2)
def chown(w):
    s = spot(w, w.session())
    owner = (w.rng.randrange(5), w.rng.randrange(5))
    w.say(f"chown {s.path!r} {owner}")

    def change():
        os.chown(s.real, *owner, follow_symlinks=False)

    node = change_attributes(w, s, False, change)
    if node:
        if isinstance(s.node, File):  # by root, too, as on other file systems
            node.mode &= ~stat.S_ISUID
            if node.mode & stat.S_IXGRP:
                node.mode &= ~stat.S_ISGID
        node.owner = owner


@operation(3)
def set_times(w):
    s = spot(w, w.session())
    ns = w.rng.randrange(2 * 10**18)
    w.say(f"utimens {s.path!r} {ns}")

    def change():
        os.utime(s.real, ns=(ns, ns), follow_symlinks=False)

    node = change_attributes(w, s, False, change)
    if node and not (isinstance(node, File) and node.content.is_stored):
        node.mtime = ns


@operation(4)
def set_xattr(w):
    s = spot(w, w.session())
    if isinstance(s.node, Link):
        return
    name = "user." + w.rng.choice("abc")
    value = some_bytes(w, 300)[:2000]
    w.say(f"setxattr {s.path!r} {name} of {len(value)}")
    node = change_attributes(w, s, True, os.setxattr, s.real, name, value)
    if node:
        node.xattrs[name] = value


@operation(2)
def remove_xattr(w):
    s = spot(w, w.session())
    if isinstance(s.node, Link) or s.node is None or refusal(s):
        return
    attributes = s.session.attributes(s.node) if isinstance(s.node, Dir) else s.node
    if attributes is None:
        return
    name = "user." + w.rng.choice("abc")
    w.say(f"removexattr {s.path!r} {name}")
    if name not in attributes.xattrs:
        attempt(w, errno.ENODATA, os.removexattr, s.real, name)
        return
    node = change_attributes(w, s, True, os.removexattr, s.real, name)
    node.xattrs.pop(name)


# ------------------------------------------------------------------------------------- what is held open


def drop(w, held: Held):
    w.say(f"close {held.fd}")
    w.held.remove(held)
    held.close()


@operation(3)
def hold(w):
    """An open file is kept, over changes of its name, commits and the end of its session."""
    if len(w.held) > 12:
        drop(w, w.rng.choice(w.held))
        return
    s = spot(w, w.session(), File)
    flags = w.rng.choice((os.O_RDONLY, os.O_RDONLY, os.O_RDWR))
    opened = open_spot(w, s, flags)
    if opened:
        fd, content = opened
        held = Held(fd, content, s.session, flags == os.O_RDWR)
        if held.writable and content.data and w.rng.random() < 0.4:
            w.say("  mapped")
            held.mapped = mmap.mmap(fd, len(content.data))
        w.held.append(held)


@operation(2)
def hold_live(w):
    if len(w.held) > 12:
        return
    files = [(p, n) for p, n in w.live_nodes() if isinstance(n, File)]
    if files:
        path, node = w.rng.choice(files)
        w.say(f"open live {path!r}")
        fd = os.open(f"{w.mnt}/{path}", os.O_RDONLY)
        w.held.append(Held(fd, node.content, None, False))


@operation(6)
def use_held(w):
    if not w.held:
        return
    held = w.rng.choice(w.held)
    if held.is_over():
        disturb(w, held)
        return
    content = held.content
    if held.writable and w.rng.random() < 0.7:
        change_held(w, held)
    if not held.is_tampered():
        w.say(f"read held {held.fd}")
        got = os.pread(held.fd, len(content.data) + 1, 0)
        compare.expect_data(content.data, got, f"held file {held.fd}")
        compare.expect(len(content.data), os.fstat(held.fd).st_size, f"size of held file {held.fd}")


def change_held(w, held: Held):
    content = held.content
    data = some_bytes(w, 5000)
    if held.mapped and w.rng.random() < 0.6:
        room = min(len(held.mapped), len(content.data))
        data = data[:room]
        if data:
            offset = w.rng.randrange(room - len(data) + 1)
            w.say(f"store {len(data)} at {offset} of held {held.fd}")
            held.mapped[offset : offset + len(data)] = data
            content.is_stored = True
            content.data[offset : offset + len(data)] = data
    elif w.rng.random() < 0.2:
        size = w.rng.randrange(SIZE_MAX)
        w.say(f"ftruncate held {held.fd} to {size}")
        want = refusal_of_content(content)
        attempt(w, want, os.ftruncate, held.fd, size)
        if want:
            return
        set_size(content, size)
    else:
        offset = some_offset(w, len(content.data))
        if offset + len(data) <= SIZE_MAX:
            w.say(f"pwrite {len(data)} at {offset} of held {held.fd}")
            assert os.pwrite(held.fd, data, offset) == len(data)
            put_bytes(content, offset, data)
    written(content)


def disturb(w, held: Held):
    """Whatever it says to that: the comparisons that follow find out if it did any harm."""
    w.say(f"disturb through {held.fd}")
    held.content.tampered = True
    if held.mapped and held.content.data:
        held.mapped[0:1] = b"!"
    try:
        os.pwrite(held.fd, b"disturbed", 0)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
    if w.rng.random() < 0.3:
        drop(w, held)


# --------------------------------------------------------------------------------- the live tree, and more


@operation(2)
def read_live(w):
    nodes = w.live_nodes()
    if nodes:
        path, node = w.rng.choice(nodes)
        w.say(f"compare live {path!r}")
        real = f"{w.mnt}/{path}"
        if isinstance(node, Dir):
            compare.expect(sorted(node.names), sorted(os.listdir(real)), f"names in live {path}")
        else:
            compare.compare_node(node, real, os.lstat(real), True)


@operation(1)
def change_live(w):
    nodes = w.live_nodes()
    if not nodes:
        return
    path, node = w.rng.choice(nodes)
    real = f"{w.mnt}/{path}"
    w.say(f"change live {path!r}")
    calls = [lambda: os.rename(real, real + "x"), lambda: os.utime(real, ns=(1, 1), follow_symlinks=False)]
    if isinstance(node, Dir):
        calls += [lambda: os.mkdir(f"{real}/new"), lambda: os.rmdir(real)]
    else:
        calls += [lambda: os.unlink(real)]
    if isinstance(node, File):
        calls += [lambda: os.open(real, os.O_WRONLY), lambda: os.truncate(real, 0)]
    attempt(w, errno.EROFS, w.rng.choice(calls))


@operation(1.5)
def open_session(w):
    if len(w.sessions) >= 3:
        return
    w.open_session()


@operation(1.2)
def commit(w):
    if w.sessions:
        w.commit(w.session())


@operation(0.3)
def abort(w):
    if w.sessions:
        w.abort(w.session())


@operation(0.03)
def remount(w):
    w.remount()


@operation(0.03)
def kill_daemon(w):
    w.kill()


@operation(0.03)
def kill_daemon_in_a_commit(w):
    if w.sessions:
        w.kill_in_commit(w.session())


