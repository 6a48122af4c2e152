# SPDX-License-Identifier: MIT
"""Programs in a mount namespace of their own, which nothing that runs beside them notices."""

from .paths import private_dir

# A copy of another test's mount would keep it alive: its daemon would not end when that test unmounts it.
FORGET = r"""
keep=$1; shift
awk '$0 ~ / - fuse\.fencefs / { gsub(/\\040/, " ", $5); print $5 }' FS=" " /proc/self/mountinfo |
    while IFS= read -r at; do
        case $at/ in "$keep"/*) ;; *) umount --lazy "$at" 2>/dev/null || : ;; esac
    done
exec "$@"
"""


def own_mounts(*options, keep=None) -> list[str]:
    """What to put before a command: of all fencefs mounts it sees those at and beneath @keep (the test's) alone."""
    keep = keep or private_dir()
    return ["unshare", "--mount", "--propagation", "private", *options, "sh", "-c", FORGET, "sh", str(keep)]
