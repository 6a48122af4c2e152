# SPDX-License-Identifier: MIT
"""A Debian system of its own in a directory, for a package to be installed into.

It is made of this machine's packages, without the network: those that every Debian system has, and
those that are named, each with all that it depends on. Nothing else is in it, so a package that
needs more than it says does not work there. Its dpkg knows these packages and no others.
"""

import contextlib
import os
import re
import shutil
import stat
from pathlib import Path

from fenceharness import run
from fenceharness.kernel import mount_at, unmount_lazily

DPKG = Path("/var/lib/dpkg")
EMPTY = ("dev", "etc", "mnt", "proc", "run/mount", "srv", "sys", "tmp", "var/lib", "var/log")
DEVICES = {"null": (1, 3), "zero": (1, 5), "urandom": (1, 9), "fuse": (10, 229)}
LEFT_OUT = ("/usr/share/doc/", "/usr/share/locale/", "/usr/share/man/")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# What dpkg itself writes at each step is no trace of a package, and stores are to stay.
NO_TRACE = ("proc", "srv", "var/lib/dpkg", "var/log/dpkg.log")


# ----------------------------------------------------------------------------------------- packages


def _installed() -> dict[str, dict[str, str]]:
    """The paragraphs of dpkg's status file, by package; "text" is the paragraph itself."""
    found = {}
    for text in (DPKG / "status").read_text(encoding="utf-8").split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", text, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            found[fields["Package"]] = {**fields, "text": text.strip("\n")}
    return found


def _alternatives(depends: str) -> list[list[str]]:
    """The names in a field such as Depends: of each dependency those of which one is enough."""
    names = lambda one: [re.split(r"[\s(:\[]", word.strip())[0] for word in one.split("|")]
    return [names(one) for one in depends.split(",") if one.strip()]


def _with_dependencies(wanted: list[str], installed: dict) -> list[str]:
    providers = {name: name for name in installed}
    for name, fields in installed.items():
        for [provided] in _alternatives(fields.get("Provides", "")):
            providers.setdefault(provided, name)
    found: list[str] = []
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found.append(name)
        for field in ("Pre-Depends", "Depends"):
            for names in _alternatives(installed[name].get(field, "")):
                wanted.append(next(providers[one] for one in names if one in providers))
    return sorted(found)


# -------------------------------------------------------------------------------------------- files


def _copy(source: str, root: Path):
    """One file of a package to the same place in @root; a directory on the way may be a link."""
    directory, name = os.path.split(source)
    target = root / os.path.realpath(directory).lstrip("/") / name
    try:
        info = os.lstat(source)
    except FileNotFoundError:  # this machine goes without documents or translations
        return
    if target.is_symlink() or target.exists():
        return
    if stat.S_ISDIR(info.st_mode):
        target.mkdir(parents=True)
        shutil.copystat(source, target)
    elif stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def _copy_packages(root: Path, names: list[str], installed: dict):
    for file in (DPKG / "info").iterdir():  # NAME.list or NAME:ARCHITECTURE.list, and others
        if file.name.rpartition(".")[0].partition(":")[0] not in names:
            continue
        shutil.copy2(file, root / "var/lib/dpkg/info")
        if file.suffix == ".list":
            for line in file.read_text(encoding="utf-8").splitlines():
                if not line.startswith(LEFT_OUT):
                    _copy(line, root)
    status = "\n\n".join(installed[name]["text"] for name in names)
    (root / "var/lib/dpkg/status").write_text(status + "\n\n", encoding="utf-8")


class DebianRoot:
    """The system in @path. `root / "etc"` is a path in it, seen from outside."""

    def __init__(self, path: Path, packages: list[str]):
        self.path = path
        for name in os.listdir("/"):  # /bin and its like, where they are links into /usr
            if os.path.islink(f"/{name}") and os.path.isdir(f"/{name}"):
                path.mkdir(exist_ok=True)
                (path / name).symlink_to(os.readlink(f"/{name}"))
        for name in (*EMPTY, "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):
            (path / name).mkdir(parents=True, exist_ok=True)
        installed = _installed()
        essential = [name for name, fields in installed.items() if fields.get("Essential") == "yes"]
        _copy_packages(path, _with_dependencies(essential + packages, installed), installed)
        for name in ("passwd", "group"):
            shutil.copy2(path / f"usr/share/base-passwd/{name}.master", path / "etc" / name)
        for name, numbers in DEVICES.items():
            os.mknod(path / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
        self.run("ldconfig")

    def __truediv__(self, name) -> Path:
        return self.path / name

    def run(self, *args, rc=0, timeout=120, **kwargs):
        """Runs a program in it, with the environment that a login of root's would have."""
        env = ["env", "-i", f"PATH={PATH}", "LC_ALL=C.UTF-8", "HOME=/root"]
        return run("chroot", self.path, *env, *args, rc=rc, timeout=timeout, **kwargs)

    @contextlib.contextmanager
    def proc(self):
        """With /proc in it."""
        run("mount", "-t", "proc", "proc", self / "proc")
        try:
            yield self
        finally:
            found = mount_at(self / "proc")
            if found:
                unmount_lazily(found)

    def files(self) -> dict[str, str]:
        """Every file there is: its type, mode, owner and content's size or target."""
        found = {}
        for path in self.path.rglob("*"):
            name = str(path.relative_to(self.path))
            if any(name == one or name.startswith(one + "/") for one in NO_TRACE):
                continue
            info = path.lstat()
            size = "" if path.is_dir() else f" {info.st_size} bytes of {info.st_mtime_ns}"
            target = f" to {path.readlink()}" if path.is_symlink() else ""
            found[name] = f"{info.st_mode:o} of {info.st_uid}:{info.st_gid}{size}{target}"
        return found
