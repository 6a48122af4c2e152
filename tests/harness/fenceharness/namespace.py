# SPDX-License-Identifier: MIT
"""Programs in a mount namespace of their own, which nothing that runs beside them notices."""

from .paths import private_dir, scratch_root

# A copy of another test's mount would keep it alive: its daemon, or its loop device, would not end when that test
# unmounts it.
FORGET = r"""
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


def own_mounts(*options, keep=None) -> list[str]:
    """What to put before a command: of all fencefs mounts it sees those at and beneath @keep (the test's) alone."""
    keep = keep or private_dir()
    forget = ["sh", "-c", FORGET, "sh", str(keep), str(scratch_root())]
    return ["unshare", "--mount", "--propagation", "private", *options, *forget]
