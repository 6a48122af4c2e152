# SPDX-License-Identifier: MIT
"""What every mounted test uses. A test file is a script of functions test_*:

    from fenceharness import *

    @mount_options("passthrough=on", "passthrough=off")     # run once with each
    def test_late_writer_is_refused(mnt, ctl):              # arguments are fixtures, by name
        ctl.expect_ok("claim", path="p", token=42)
        ctl.expect_err("ESTALE", "claim", path="p", token=41)

    if __name__ == "__main__":
        main()

Fixtures: tmp (a private directory on a real file system), store (a Store), mnt (it, mounted), ctl (a
conversation on mnt). Every test runs in a process of its own, under a hard timeout; what it leaves
behind (processes, mounts, loop devices) is found and removed by the runner, and mounts and daemons
left behind by a test that passed make it fail.

Run one file:       tests/run NAME [FUNCTION...]
Or by hand:         PYTHONPATH=tests/harness python3 tests/fs/test-x.py [--help]
"""

from .any_moment import AnyMoment
from .cli import Result, fence
from .ctl import Ctl, ProtocolError, Reply, quote, unquote
from .database import changing
from .loopfs import LoopFs, loop_fs
from .mount import Daemon, Mount, Store
from .paths import build_dir, fence_program, fencefs_program, scratch_root, source_dir
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
from .runner import main, mount_options, params, skip, skip_unless, timeout

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
    "loop_fs",
    "main",
    "mount_options",
    "mounts_beneath",
    "own_mounts",
    "params",
    "quote",
    "run",
    "scratch_root",
    "skip",
    "skip_unless",
    "source_dir",
    "spawn",
    "stop_process",
    "timeout",
    "unquote",
    "wait_until",
]
