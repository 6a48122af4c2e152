# SPDX-License-Identifier: MIT
"""systemd as process 1 of a DebianRoot, in namespaces and a cgroup of its own, to run one script."""

import os
import subprocess
from pathlib import Path

import pytest
from fenceharness import own_mounts, run, wait_until
from fenceharness.kernel import all_mounts

# What the machine itself would notice is out of reach: other processes, mounts, cgroups and /proc/sys.
ENTER = """
mount --bind "$1" "$1" &&
mount -t proc proc "$1/proc" && mount --bind "$1/proc/sys" "$1/proc/sys" &&
mount -o remount,bind,ro "$1/proc/sys" &&
mount -t tmpfs tmpfs "$1/run" && mount -t tmpfs tmpfs "$1/sys" && mkdir -p "$1/sys/fs/cgroup" &&
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup" &&
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" \
    /lib/systemd/systemd --system --unit=test.target --show-status=no
"""

UNITS = {
    "test.target": "[Unit]\nDefaultDependencies=no\nRequires=test.service\n",
    "test.service": """[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh -ex /srv/script
ExecStopPost=/bin/systemctl exit
Environment=LC_ALL=C.UTF-8 HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
StandardOutput=append:/srv/said
StandardError=append:/srv/errors
""",
}


def _cgroup() -> Path:
    """A new cgroup beneath this process's own."""
    found = [mount.path for mount in all_mounts() if mount.fstype == "cgroup2"]
    if not found:
        pytest.skip("no cgroup2")
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next(line.split(":", 2)[2] for line in lines if line.startswith("0::"))
    path = Path(found[0] + own) / f"fence-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    return path


def _remove_cgroup(path: Path):
    events = path / "cgroup.events"
    wait_until(lambda: "populated 0" in events.read_text(), "the end of all that was started")
    for directory, _, _ in os.walk(path, topdown=False):
        os.rmdir(directory)


def run_booted(root, script: str) -> list[str]:
    """The lines that @script has printed; a command of it that fails raises, with all it has said."""
    for name, text in UNITS.items():
        (root / "etc/systemd/system" / name).write_text(text)
    (root / "etc/machine-id").write_text("1" * 32 + "\n")  # else systemd takes it for the first boot
    (root / "srv/script").write_text(script + "\necho done\n")
    cgroup = _cgroup()
    try:
        run(
            *("sh", "-c", 'echo 0 >"$1" && shift && exec "$@"', "sh", cgroup / "cgroup.procs"),
            *own_mounts("--fork", "--kill-child", "--pid", "--uts", "--ipc", "--cgroup"),
            *("sh", "-c", ENTER, "sh", root.path),
            timeout=120,
        )
    except subprocess.TimeoutExpired:
        pass  # it has not said that it is done
    finally:
        _remove_cgroup(cgroup)
    said = _read(root / "srv/said").splitlines()
    assert said[-1:] == ["done"], f"it printed {said}\n{_read(root / 'srv/errors')}"
    return said[:-1]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
