# SPDX-License-Identifier: MIT
"""Where things are: the source, the build, and a place for scratch files."""

import contextlib
import ctypes
import functools
import os
import shutil
import tempfile
from pathlib import Path

# File systems that behave as a store's does, by their magic numbers (statfs(2)): no tmpfs, no overlay.
REAL = {0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs"}

SUPPRESSIONS = "tests/harness/tsan.supp"

# What users other than root run, beneath the build directory.
PROGRAMS = ("tools/fence", "fs/fencefs", "mount-helpers/mount.fencefs")


def source_dir() -> Path:
    return Path(__file__).resolve().parents[3]


def build_dir() -> Path:
    return Path(os.environ.get("FENCE_BUILD") or source_dir() / "build").resolve()


def program(name: str) -> Path:
    """One of PROGRAMS, where every user can run it."""
    return Path(os.environ.get("FENCE_PROGRAMS") or build_dir()) / name


def fence_program() -> str:
    return str(program("tools/fence"))


def fencefs_program() -> str:
    return str(program("fs/fencefs"))


def helper_program() -> str:
    return str(program("mount-helpers/mount.fencefs"))


def _is_open_to_all(path: Path) -> bool:
    """Whether every user may look into the directory @path and all above it."""
    return all(one.stat().st_mode & 0o001 for one in (path, *path.parents))


@contextlib.contextmanager
def programs_for_all():
    """Copies PROGRAMS for as long as the block lasts, if the build lies where other users cannot go."""
    if _is_open_to_all(build_dir()) and _is_open_to_all(source_dir()):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="fence-programs-", dir=scratch_root()) as copies:
        os.chmod(copies, 0o755)
        for name in (*PROGRAMS, SUPPRESSIONS):
            (Path(copies) / name).parent.mkdir(parents=True, exist_ok=True)
            top = source_dir() if name == SUPPRESSIONS else build_dir()
            shutil.copy2(top / name, Path(copies) / name)
        os.environ["FENCE_PROGRAMS"] = copies
        try:
            yield
        finally:
            del os.environ["FENCE_PROGRAMS"]


@functools.cache
def scratch_root() -> Path:
    """The directory that private directories are made in: FENCE_TEST_DIR, by default /var/tmp."""
    root = Path(os.environ.get("FENCE_TEST_DIR") or "/var/tmp").resolve()
    if _magic(root) not in REAL:
        raise RuntimeError(f"{root} is on none of {', '.join(REAL.values())}; set FENCE_TEST_DIR to a directory on one")
    return root


def _magic(path: Path) -> int:
    """What kind of file system @path is on. mountinfo does not show what the root of a chroot lies on."""
    found = ctypes.create_string_buffer(256)
    if ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(path), found):
        raise OSError(ctypes.get_errno(), "statfs", str(path))
    return ctypes.c_long.from_buffer(found).value


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
    """The environment of the programs under test; memory that they free is overwritten with FENCE_PERTURB."""
    env = dict(os.environ)
    env.setdefault("MALLOC_PERTURB_", env.get("FENCE_PERTURB", "0"))
    env["LC_ALL"] = "C.UTF-8"
    env.setdefault("ASAN_OPTIONS", "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    quiet = Path(os.environ.get("FENCE_PROGRAMS") or source_dir()) / SUPPRESSIONS
    env.setdefault("TSAN_OPTIONS", f"second_deadlock_stack=1:suppressions={quiet}")
    env.update(extra or {})
    return env
