# SPDX-License-Identifier: MIT
"""Mount namespaces of a test's own, whose mounts nothing that runs beside it notices.

A namespace begins with copies of all mounts. Those of other tests have to go: a copy would keep a mount alive, its
daemon or its loop device would not end when that test unmounts it.
"""

import ctypes

from . import kernel
from .paths import private_dir, scratch_root
from .process import run

CLONE_NEWNS = 0x20000

# A chroot's root need not be a mount point: then each mount that can be seen is made private.
PRIVATE = """
mount --make-rprivate / 2>/dev/null ||
    awk '{ gsub(/\\\\040/, " ", $5); print $5 }' /proc/self/mountinfo |
    while IFS= read -r at; do mount --make-private "$at" 2>/dev/null || :; done
"""
FORGET = (
    PRIVATE
    + r"""
keep=$1; others=$2/fence-; shift 2
awk '{ gsub(/\\040/, " ", $5); print ($0 ~ / - fuse\.fencefs /) " " $5 }' FS=" " /proc/self/mountinfo |
    while read -r ours at; do
        case $at/ in
        "$keep"/*) ;;
        "$others"*) umount --lazy "$at" 2>/dev/null || : ;;
        *) [ "$ours" = 0 ] || umount --lazy "$at" 2>/dev/null || : ;;
        esac
    done
exec "$@"
"""
)

_libc = ctypes.CDLL(None, use_errno=True)
_is_own = False


def _forgetting(keep, *command) -> list[str]:
    return ["sh", "-c", FORGET, "sh", str(keep or private_dir()), str(scratch_root()), *command]


def own_mounts(*options, keep=None) -> list[str]:
    """What to put before a command: of all tests' mounts it sees those at and beneath @keep (the test's) alone."""
    return ["unshare", "--mount", "--propagation", "unchanged", *options, *_forgetting(keep)]


def enter_own_mounts():
    """From now on this process, and what it starts, has mounts of its own."""
    global _is_own
    if _is_own:
        return
    if _libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    _is_own = True
    run(*_forgetting(None, "true"))


def check_left():
    """The supervision does not see what is mounted here."""
    left = kernel.mounts_beneath(private_dir()) if _is_own else []
    assert not left, "left behind: " + ", ".join(f"{one.fstype} at {one.path}" for one in left)
