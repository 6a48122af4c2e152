# SPDX-License-Identifier: MIT
"""What fence says when nobody can say what became of a request, and when the store is full."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from fenceharness import *
from fenceharness import kernel


def sends_content(pid: int) -> bool:
    """Whether it is in write(2) with a piece of content."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/syscall").read_text().split()
        return words[0] == "1" and int(words[3], 16) == 65536
    return False


def test_the_daemon_goes_in_the_middle_of_a_put(mnt, tmp):
    """strace makes each write last, so that the connection can be broken between two of them."""
    content = os.urandom(4 << 20)
    (tmp / "new").write_bytes(content)
    fence("put", "-t", 1, "-", mnt / "f", input="old")
    slowly = ["strace", "-o", "/dev/null", "-e", "inject=write:delay_exit=50000"]
    child = subprocess.Popen(
        [*slowly, fence_program(), "put", "-t", "1", tmp / "new", mnt / "f"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        text=True,
    )
    wait_until(lambda: any(map(sends_content, kernel.children(child.pid))), "a put under way")
    mnt.abort()
    _, said = child.communicate(timeout=20)
    assert child.returncode == 15, (child.returncode, said)
    assert said.splitlines() == [
        f"fence: put {mnt.path}/f: the outcome is unknown: the daemon went away before it answered",
        "fence: check before you repeat it (fence show, fence log), or repeat it with the same --op",
    ]
    mnt.kill()
    mnt.start()
    assert (mnt / "f").read_bytes() in (b"old", content)


def test_a_full_store(tmp):
    with loop_fs("ext4", "32M") as disk:
        mnt = Store(disk / "store").mount()
        mnt.allow_log("space|full|ENOSPC")
        fence("put", "-t", 1, "-", mnt / "f", input="old")
        (tmp / "big").write_bytes(b"x" * (40 << 20))
        result = fence("put", "-t", 1, tmp / "big", mnt / "f", rc=1)
        assert result.err.splitlines() == [
            f"fence: put {mnt.path}/f: no space left in the store: its file"
            " system is full, or the limit set by fence policy is reached; free some space and try again",
            "fence: nothing was published; nothing that was there is lost",
        ], result.err
        assert (mnt / "f").read_text() == "old"
        fence("put", "-t", 1, "-", mnt / "f", input="new")
        assert (mnt / "f").read_text() == "new"
        mnt.unmount()
