# SPDX-License-Identifier: MIT
"""The model: the live tree, the fences, and sessions with their changes on top.

As in the store, a directory is an object that keeps its identity when it moves, and a committed file
never changes. A session overrides names, (directory, name), with nodes of its own or with nothing.
"""


class Content:
    """Bytes under one kernel inode: those of a version, or those that a session works on."""

    __slots__ = ("data", "session", "tampered", "is_stored")

    def __init__(self, data=b"", session=None):
        self.data = bytearray(data)
        self.session = session  # who may still change it
        self.tampered = False  # a writer went on after the end of its session
        self.is_stored = False  # through a mapping: without passthrough its mtime moves once more, later


class Node:
    __slots__ = ("mode", "owner", "mtime", "xattrs", "session", "origin")

    def __init__(self, mode, session):
        self.mode = mode
        self.owner = (0, 0)
        self.mtime = None  # None: whatever it is
        self.xattrs = {}
        self.session = session  # whose it is; None: committed
        self.origin = None  # the committed node that this is a changed copy of

    def copy_for(self, session):
        new = type(self).__new__(type(self))
        new.mode, new.owner, new.mtime = self.mode, self.owner, self.mtime
        new.xattrs = dict(self.xattrs)
        new.session, new.origin = session, self
        return new

    def same_attributes(self, other) -> bool:
        return (self.mode, self.owner, self.xattrs) == (other.mode, other.owner, other.xattrs)


class File(Node):
    __slots__ = ("content", "token", "revisions")

    def __init__(self, mode, session):
        super().__init__(mode, session)
        self.content = Content(session=session)
        self.token = None
        self.revisions = ()  # that a committed one may have

    def copy_for(self, session):
        new = super().copy_for(session)
        new.content, new.token, new.revisions = self.content, self.token, self.revisions
        return new


class Link(Node):
    __slots__ = ("target",)

    def __init__(self, target, session):
        super().__init__(0o777, session)
        self.target = target

    def copy_for(self, session):
        new = super().copy_for(session)
        new.target = self.target
        return new


class Dir(Node):
    __slots__ = ("names", "changed")

    def __init__(self, mode, session=None):
        super().__init__(mode, session)
        self.names = {}  # of the live tree
        self.changed = 0  # the last revision that changed its attributes


class Attributes:
    """What a session made of a directory of the live tree."""

    __slots__ = ("mode", "owner", "mtime", "xattrs", "explicit")

    def __init__(self, of):
        self.mode, self.owner, self.mtime, self.xattrs = of.mode, of.owner, None, dict(of.xattrs)
        self.explicit = False  # not only its names have changed


class Override:
    __slots__ = ("node", "base")

    def __init__(self, node, base):
        self.node = node
        self.base = base  # the live node that it hides


def is_within(path: str, top: str) -> bool:
    return top == "." or path == top or path.startswith(top + "/")


def ancestors(path: str):
    """@path and all above it, up to "."."""
    while path != ".":
        yield path
        path = path.rpartition("/")[0] or "."
    yield "."


def join(directory: str, name: str) -> str:
    return name if directory == "." else f"{directory}/{name}"


class Live:
    def __init__(self):
        self.root = Dir(0o755)
        self.revision = 0
        self.fences = {}

    # ------------------------------------------------------------------------------------- as a tree

    def lookup(self, directory: Dir, name: str):
        return directory.names.get(name)

    def names(self, directory: Dir) -> list:
        return sorted(directory.names)

    def attributes(self, directory: Dir):
        return directory

    def find(self, path: str):
        return find(self, self.root, path)

    def place_of(self, directory: Dir) -> str | None:
        """The path of a directory; for the few times that it is asked for, by search."""
        todo = [(".", self.root)]
        while todo:
            path, here = todo.pop()
            if here is directory:
                return path
            todo += [(join(path, n), d) for n, d in here.names.items() if isinstance(d, Dir)]
        return None

    # ----------------------------------------------------------------------------------------- fences

    def highest(self, path: str) -> int:
        return max(self.fences.get(p, 0) for p in ancestors(path))

    def highest_beneath(self, path: str) -> int:
        return max((t for p, t in self.fences.items() if p != path and is_within(p, path)), default=0)

    def claim(self, path: str, token: int) -> bool:
        if token < self.highest(path):
            return False
        self.fences = {
            p: t for p, t in self.fences.items() if t > token or p == path or not is_within(p, path)
        }
        self.fences[path] = max(token, self.fences.get(path, 0))
        return True


def find(tree, root: Dir, path: str):
    node = root
    if path == ".":
        return node
    for name in path.split("/"):
        if not isinstance(node, Dir):
            return None
        node = tree.lookup(node, name)
    return node


class Session:
    def __init__(self, live: Live, path: str, token: int):
        self.live = live
        self.root = live.root
        self.path = path
        self.token = token
        self.opened = live.revision
        self.over: dict[Dir, dict[str, Override]] = {}
        self.placed: dict[Dir, tuple] = {}  # directories that have a place in `over`
        self.dirs: dict[Dir, Attributes] = {}
        self.has_ended = False

    # ------------------------------------------------------------------------------------- as a tree

    def lookup(self, directory: Dir, name: str):
        override = self.over.get(directory, {}).get(name)
        if override:
            return override.node
        node = directory.names.get(name)
        if isinstance(node, Dir) and self.placed.get(node, (directory, name)) != (directory, name):
            return None  # it is where this session has put it
        return node

    def names(self, directory: Dir) -> list:
        own = self.over.get(directory, {})
        return sorted(n for n in {*directory.names, *own} if self.lookup(directory, n) is not None)

    def attributes(self, directory: Dir):
        """None: somebody else has changed them meanwhile, and it depends."""
        if directory.session is None and directory.changed > self.opened:
            return None
        return self.dirs.get(directory, directory)

    def find(self, path: str):
        return find(self, self.root, path)

    def is_fenced(self, path: str) -> bool:
        return self.live.highest(path) > self.token

    # ---------------------------------------------------------------------------------------- changes

    def put(self, directory: Dir, name: str, node):
        """@node (None: nothing) is at that name from now on."""
        own = self.over.setdefault(directory, {})
        override = own.get(name)
        if override is None:
            base = directory.names.get(name)
            if isinstance(base, Dir) and self.placed.get(base, (directory, name)) != (directory, name):
                base = None
            override = own[name] = Override(None, base)
        elif isinstance(override.node, Dir) and self.placed.get(override.node) == (directory, name):
            del self.placed[override.node]
        override.node = node
        if isinstance(node, Dir):
            self.placed[node] = (directory, name)
        elif node is None and override.base is None:
            del own[name]

    def own(self, directory: Dir, name: str, node):
        """A copy of @node, which is at that name, that this session may change."""
        if isinstance(node, Dir) or node.session is self:
            return node
        node = node.copy_for(self)
        self.put(directory, name, node)
        return node

    def own_content(self, directory: Dir, name: str, node: File, empty: bool = False) -> File:
        node = self.own(directory, name, node)
        if node.content.session is not self:
            node.content = Content(b"" if empty else node.content.data, self)
            if empty:
                node.mtime = None
        return node

    def touch(self, directory: Dir):
        """Names in it have changed."""
        if directory.session is self:
            directory.mtime = None
        else:
            self.dirs.setdefault(directory, Attributes(directory)).mtime = None

    def attributes_to_change(self, directory: Dir):
        if directory.session is self:
            return directory
        found = self.dirs.setdefault(directory, Attributes(directory))
        found.explicit = True
        return found

    def forget_unlinked(self, directory: Dir):
        """A directory made here that is gone takes nothing along: it is empty."""
        self.over.pop(directory, None)

    # ----------------------------------------------------------------------------------------- commit

    def place_of(self, directory: Dir) -> str | None:
        """The path of @directory as this session sees it."""
        parts = []
        while directory is not self.root:
            place = self.placed.get(directory) or self._live_place(directory)
            if place is None:
                return None
            directory, name = place
            parts.append(name)
        return "/".join(reversed(parts)) or "."

    def _live_place(self, directory: Dir):
        path = self.live.place_of(directory)
        if path is None:
            return None
        above = self.live.find(path.rpartition("/")[0] or ".")
        name = path.rpartition("/")[2]
        if name in self.over.get(above, {}):
            return None
        return above, name

    def changes(self):
        """(path, node, old node, is certain) of all overridden names."""
        for directory, own in self.over.items():
            where = self.place_of(directory)
            if where is None:
                where = self.live.place_of(directory)
            for name, override in own.items():
                path = join(where, name) if where else None
                yield path, override.node, override.base, is_change(override)

    def refusal(self) -> tuple[bool, bool]:
        """(the commit must be refused as stale, it may be); one that changes nothing, too."""
        must = may = self.is_fenced(self.path)
        for path, node, base, certain in self.changes():
            stale = path is None or self.is_fenced(path)
            for end in (node, base):
                if isinstance(end, Dir) and node is not base and path:
                    stale = stale or self.live.highest_beneath(path) > self.token
            may = may or stale
            must = must or (stale and certain)
        for directory, attributes in self.dirs.items():
            path = self.place_of(directory)
            if attributes.explicit and path and self.is_fenced(path):
                may = must = True
        return must, may

    def commit(self, revision: int):
        """What it changed is the live tree's from now on; @revision is the one that the store made."""
        for directory, own in self.over.items():
            if own and directory.session is not self:
                directory.mtime = None
            for name, override in own.items():
                if override.node is None or override.base is not None:
                    directory.names.pop(name, None)
        for directory, own in self.over.items():
            for name, override in own.items():
                if override.node is not None:
                    directory.names[name] = published(override, self, revision)
        for directory, attributes in self.dirs.items():
            if attributes.explicit:
                directory.mode, directory.owner = attributes.mode, attributes.owner
                directory.mtime, directory.xattrs = attributes.mtime, attributes.xattrs
                directory.changed = revision
            elif directory in self.placed:
                directory.mtime = None  # names came and went in it before or after it moved
        self.live.revision = revision


def is_change(override: Override) -> bool:
    """Whether it is certain that the store takes it for a change."""
    node, base = override.node, override.base
    if node is None or isinstance(node, Dir) or base is None or node.origin is not base:
        return True
    if not node.same_attributes(base):
        return True
    return isinstance(node, File) and node.content.data != base.content.data


def published(override: Override, session: Session, revision: int):
    node = override.node
    if node.session is session:
        node.session = None
    if isinstance(node, File):
        kept = () if is_change(override) else node.revisions
        node.token = session.token if not kept else None
        node.revisions = (revision, *kept)
        if node.content.session is session:
            node.content.session = None
    elif isinstance(node, Dir):
        node.changed = revision
    node.origin = None
    return node
