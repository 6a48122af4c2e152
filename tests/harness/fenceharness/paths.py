# SPDX-License-Identifier: MIT
"""Where things are: the source, the build, and a place for scratch files."""

import os
from pathlib import Path

from .kernel import mount_of

# File systems that behave as a store's does: no tmpfs, no overlay.
REAL = ("ext4", "xfs", "btrfs")


def source_dir() -> Path:
    return Path(__file__).resolve().parents[3]


def build_dir() -> Path:
    return Path(os.environ.get("FENCE_BUILD") or source_dir() / "build").resolve()


def fence_program() -> str:
    return str(build_dir() / "tools" / "fence")


def fencefs_program() -> str:
    return str(build_dir() / "fs" / "fencefs")


def scratch_root() -> Path:
    """The directory that private directories are made in: FENCE_TEST_DIR, by default /var/tmp."""
    root = Path(os.environ.get("FENCE_TEST_DIR") or "/var/tmp").resolve()
    found = mount_of(root)
    if found.fstype not in REAL:
        raise RuntimeError(
            f"{root} is on {found.fstype}; set FENCE_TEST_DIR to a directory on ext4 or xfs"
        )
    return root


_private: list[Path] = []


def set_private_dir(path: Path):
    _private[:] = [path]


def private_dir() -> Path:
    """The running test's own directory; the runner removes it with all that is mounted beneath."""
    if not _private:
        raise RuntimeError("no test is running")
    return _private[0]


def time_scale() -> float:
    """How much longer everything may take, for builds with sanitizers (FENCE_TIME_SCALE)."""
    return float(os.environ.get("FENCE_TIME_SCALE") or 1)


def program_env(extra=None) -> dict:
    """The environment of the programs under test."""
    env = dict(os.environ)
    env["LC_ALL"] = "C.UTF-8"
    env.setdefault("ASAN_OPTIONS", "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    quiet = source_dir() / "tests/harness/tsan.supp"
    env.setdefault("TSAN_OPTIONS", f"second_deadlock_stack=1:suppressions={quiet}")
    env.update(extra or {})
    return env
