# SPDX-License-Identifier: MIT
"""What the kernel says of mounts, processes and FUSE connections. Nothing here touches a mount."""

import contextlib
import fcntl
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = Path("/sys/fs/fuse/connections")
PARAMETERS = Path("/sys/module/fuse/parameters")


# ------------------------------------------------------------------------------------------- mounts


@dataclass(frozen=True)
class MountInfo:
    ident: int
    device: str  # "major:minor"
    root: str
    path: str
    options: str
    fstype: str
    source: str

    @property
    def minor(self) -> int:
        return int(self.device.split(":")[1])


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def all_mounts() -> list[MountInfo]:
    """This process's mounts, in mount order."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            left, _, right = line.rstrip("\n").partition(" - ")
            ident, _, device, root, path, options = left.split(" ")[:6]
            fstype, source = right.split(" ")[:2]
            found.append(
                MountInfo(
                    int(ident),
                    device,
                    _unescape(root),
                    _unescape(path),
                    options,
                    fstype,
                    _unescape(source),
                )
            )
    return found


def is_beneath(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def mounts_beneath(directory) -> list[MountInfo]:
    return [m for m in all_mounts() if is_beneath(m.path, str(directory))]


def mount_at(path) -> MountInfo | None:
    """The topmost mount at exactly @path."""
    found = [m for m in all_mounts() if m.path == str(path)]
    return found[-1] if found else None


def mount_of(path) -> MountInfo:
    """The mount that @path is on."""
    found = [m for m in all_mounts() if is_beneath(str(path), m.path)]
    return max(reversed(found), key=lambda m: len(m.path))


def unmount_lazily(mount: MountInfo):
    subprocess.run(
        ["umount", "--lazy", "--no-canonicalize", mount.path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )


# ----------------------------------------------------------------------------------------- processes


def children(pid: int) -> list[int]:
    """The direct children of @pid, of any of its threads."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += [int(word) for word in text.split()]
    return found


def descendants(pid: int) -> list[int]:
    """All that came of @pid, parents first."""
    found = []
    for child in children(pid):
        found.append(child)
        found += descendants(child)
    return found


def stat_fields(pid: int, thread: int | None = None) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on, None when there is no such process."""
    path = f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat"
    try:
        return Path(path).read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def states(pid: int) -> list[str]:
    """The state letters of all threads of @pid ("T" is stopped)."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            fields = stat_fields(pid, int(thread))
            if fields:
                found.append(fields[0])
    return found


def command(pid: int) -> str:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return text.strip() or "[" + Path(f"/proc/{pid}/comm").read_text().strip() + "]"
    return "?"


def describe(pid: int) -> list[str]:
    """Where the threads of @pid are: state, wait channel and kernel stack."""
    lines = [f"process {pid}: {command(pid)}"]
    with contextlib.suppress(OSError):
        for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
            base = Path(f"/proc/{pid}/task/{thread}")
            entry = {}
            for name in ("comm", "wchan", "syscall", "stack"):
                try:
                    entry[name] = (base / name).read_text(errors="replace").strip()
                except OSError as error:
                    entry[name] = os.strerror(error.errno or 0)
            state = (stat_fields(pid, int(thread)) or ["gone"])[0]
            lines.append(
                f"  thread {thread} {entry['comm']} state={state} wchan={entry['wchan']}"
                f" syscall={entry['syscall'].split(' ')[0]}"
            )
            lines += ["    " + line for line in entry["stack"].splitlines()]
    return lines


# -------------------------------------------------------------------------------------------- fusectl


def _connections() -> Path:
    if not any(m.path == str(CONNECTIONS) for m in all_mounts()):
        subprocess.run(
            ["mount", "-t", "fusectl", "fusectl", str(CONNECTIONS)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return CONNECTIONS


def fuse_connection(mount: MountInfo) -> Path:
    """/sys/fs/fuse/connections/N of a FUSE mount: holds abort, waiting, max_background."""
    return _connections() / str(mount.minor)


def is_fuse(mount: MountInfo) -> bool:
    return mount.fstype == "fuse" or mount.fstype.startswith(("fuse.", "fuseblk"))


def abort_fuse(mount: MountInfo) -> bool:
    """Makes every request on @mount fail at once, also those nobody would ever answer."""
    try:
        (fuse_connection(mount) / "abort").write_text("1")
    except OSError:
        return False
    return True


@contextlib.contextmanager
def fuse_parameter(name: str, value: str):
    """Sets a parameter of the fuse module (enable_uring) for a while; it is the machine's, not a mount's."""
    path = PARAMETERS / name
    before = path.read_text().strip()
    path.write_text(value)
    try:
        yield
    finally:
        path.write_text(before)


@contextlib.contextmanager
def fuse_device_for_all():
    """/dev/fuse as udev's rules make it, where no udev runs: else ordinary users could not mount.

    One test at a time: each puts back what it found.
    """
    device = Path("/dev/fuse")
    lock = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = device.stat().st_mode & 0o7777
    device.chmod(0o666)
    try:
        yield
    finally:
        device.chmod(before)
        os.close(lock)
