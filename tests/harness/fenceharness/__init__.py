# SPDX-License-Identifier: MIT
"""What every mounted test uses. A file of tests:

    import pytest
    from fenceharness import *

    @pytest.mark.mount_options("passthrough=on", "passthrough=off")     # run once with each
    def test_late_writer_is_refused(mnt, ctl):
        ctl.expect_ok("claim", path="p", token=42)
        ctl.expect_err("ESTALE", "claim", path="p", token=41)

tests/README.md says how such a test is run and supervised, and which fixtures there are.
"""

from .any_moment import AnyMoment
from .cli import Result, fence
from .ctl import Ctl, ProtocolError, Reply, quote, unquote
from .database import changing
from .loopfs import LoopFs, loop_fs
from .mount import Daemon, Mount, Store
from .paths import build_dir, fence_program, fencefs_program, helper_program, scratch_root, source_dir
from .process import (
    Child,
    ChildFailed,
    continue_process,
    run,
    spawn,
    stop_process,
    wait_until,
)
from .kernel import fuse_connection, fuse_parameter, mounts_beneath
from .terminal import Terminal
from .namespace import own_mounts

__all__ = [
    "AnyMoment",
    "Child",
    "ChildFailed",
    "Ctl",
    "Daemon",
    "LoopFs",
    "Mount",
    "ProtocolError",
    "Reply",
    "Result",
    "Store",
    "Terminal",
    "build_dir",
    "changing",
    "continue_process",
    "fence",
    "fence_program",
    "fencefs_program",
    "fuse_connection",
    "fuse_parameter",
    "helper_program",
    "loop_fs",
    "mounts_beneath",
    "own_mounts",
    "quote",
    "run",
    "scratch_root",
    "source_dir",
    "spawn",
    "stop_process",
    "unquote",
    "wait_until",
]
