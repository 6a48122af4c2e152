# SPDX-License-Identifier: MIT
"""A mounted tree against a modelled one."""

import os
import stat

from .tree import Attributes, Dir, File, Link, Live

KINDS = {File: stat.S_IFREG, Link: stat.S_IFLNK, Dir: stat.S_IFDIR, Attributes: stat.S_IFDIR}


class Difference(AssertionError):
    pass


def expect(want, got, what: str):
    if want != got:
        raise Difference(f"{what}: {got!r}, expected {want!r}")


def expect_data(want, got: bytes, what: str):
    if want != got:
        at = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        raise Difference(
            f"{what}: {len(got)} bytes, expected {len(want)}; they differ from byte {at} on: "
            f"{got[at : at + 16].hex()}, expected {bytes(want[at : at + 16]).hex()}"
        )


def read(path: str, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        data = os.read(fd, size + 1)
        while len(data) < size:
            part = os.read(fd, size + 1 - len(data))
            if not part:
                break
            data += part
        return data
    finally:
        os.close(fd)


def compare_attributes(node, found: os.stat_result, path: str):
    expect(KINDS[type(node)], stat.S_IFMT(found.st_mode), f"kind of {path}")
    if not isinstance(node, Link):
        expect(oct(node.mode), oct(stat.S_IMODE(found.st_mode)), f"mode of {path}")
    expect(node.owner, (found.st_uid, found.st_gid), f"owner of {path}")
    if node.mtime is not None:
        expect(node.mtime, found.st_mtime_ns, f"mtime of {path}")


def compare_xattrs(node, path: str):
    listed = os.listxattr(path, follow_symlinks=False)
    expect(sorted(node.xattrs), sorted(listed), f"names of attributes of {path}")
    for name, value in node.xattrs.items():
        expect(value, os.getxattr(path, name), f"{name} of {path}")


def compare_file(node: File, path: str, is_live: bool):
    expect_data(node.content.data, read(path, len(node.content.data)), path)
    if is_live and node.token is not None:
        expect(b"%d" % node.token, os.getxattr(path, "user.fence.token"), f"token of {path}")
        revision = int(os.getxattr(path, "user.fence.revision"))
        if revision not in node.revisions:
            raise Difference(f"revision of {path}: {revision}, expected one of {node.revisions}")


def compare_node(node, path: str, found: os.stat_result, is_live: bool):
    compare_attributes(node, found, path)
    if isinstance(node, File):
        expect(len(node.content.data), found.st_size, f"size of {path}")
        compare_file(node, path, is_live)
        compare_xattrs(node, path)
    elif isinstance(node, Link):
        expect(node.target, os.readlink(path), f"target of {path}")


def compare_tree(tree, directory: Dir, path: str):
    """All of @directory, which is mounted at @path, as @tree (the live one, or a session) sees it."""
    with os.scandir(path) as entries:
        found = {entry.name: entry for entry in entries}
    expect(tree.names(directory), sorted(found), f"names in {path}")
    for name, entry in found.items():
        node = tree.lookup(directory, name)
        if isinstance(node, Dir):
            attributes = tree.attributes(node)
            if attributes is not None:
                compare_attributes(attributes, entry.stat(follow_symlinks=False), entry.path)
                compare_xattrs(attributes, entry.path)
            compare_tree(tree, node, entry.path)
        else:
            compare_node(node, entry.path, entry.stat(follow_symlinks=False), isinstance(tree, Live))
