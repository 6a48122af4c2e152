# SPDX-License-Identifier: MIT
"""What an installation consists of: one line for each file; a new one is added here."""

import stat
from pathlib import Path

PROGRAM = 0o755
DATA = 0o644

# Beneath the prefix. A string is the target of a symbolic link.
INSTALLED = {
    "bin/fence": PROGRAM,
    "bin/fencefs": PROGRAM,
    "lib/systemd/system/fencefs-gc@.service": DATA,
    "lib/systemd/system/fencefs-gc@.timer": DATA,
    "lib/systemd/system/fencefs-scrub@.service": DATA,
    "lib/systemd/system/fencefs-scrub@.timer": DATA,
    "lib/systemd/system/fencefs@.service": DATA,
    "sbin/mount.fencefs": PROGRAM,
    "sbin/mount.fuse.fencefs": "mount.fencefs",
    "share/doc/fencefs/examples/mnt-shared.automount.example": DATA,
    "share/doc/fencefs/examples/mnt-shared.mount.example": DATA,
    "share/bash-completion/completions/fence": DATA,
    "share/fish/vendor_completions.d/fence.fish": DATA,
    "share/man/man1/fence.1": DATA,
    "share/man/man5/fence-ctl.5": DATA,
    "share/man/man5/fencefs-store.5": DATA,
    "share/man/man7/fence-tokens.7": DATA,
    "share/man/man7/fencefs-monitoring.7": DATA,
    "share/man/man8/fencefs.8": DATA,
    "share/man/man8/mount.fencefs.8": DATA,
    "share/man/man8/mount.fuse.fencefs.8": "mount.fencefs.8",
    "share/zsh/site-functions/_fence": DATA,
}

# What only the Debian package has, beneath the root. It looks for zsh completions elsewhere.
ONLY_PACKAGED = {
    "usr/share/doc/fencefs/README.md": DATA,
    "usr/share/doc/fencefs/changelog.Debian.gz": DATA,
    "usr/share/doc/fencefs/copyright": DATA,
}
EMPTY_DIRECTORIES = ("etc/fencefs",)
ZSH_IN_PACKAGE = "share/zsh/vendor-completions/_fence"


def packaged() -> dict:
    """The table of the Debian package, beneath the root: its manual pages are compressed."""
    found = dict(ONLY_PACKAGED)
    for name, what in INSTALLED.items():
        name = ZSH_IN_PACKAGE if name.startswith("share/zsh/") else name
        if name.startswith("share/man/"):
            name += ".gz"
            what = what + ".gz" if isinstance(what, str) else what
        found["usr/" + name] = what
    return found


def with_parents(table: dict, empty=()) -> dict:
    """@table and the directories that it needs, which everybody may read and search."""
    names = [parent for name in table for parent in Path(name).parents]
    names += [one for name in empty for one in (Path(name), *Path(name).parents)]
    return {**table, **{str(name): "directory 0755" for name in names if name != Path(".")}}


def on_disk(top: Path) -> dict:
    """What is beneath @top, as with_parents() has it."""
    found = {}
    for path in top.rglob("*"):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            what = str(path.readlink())
        elif stat.S_ISREG(info.st_mode):
            what = stat.S_IMODE(info.st_mode)
        else:
            kind = "directory" if stat.S_ISDIR(info.st_mode) else "special"
            what = f"{kind} {stat.S_IMODE(info.st_mode):04o}"
        found[str(path.relative_to(top))] = what
    return found


def differences(wanted: dict, found: dict) -> str:
    """One line for each; none when they are the same."""

    def say(what):
        return f"mode {what:04o}" if isinstance(what, int) else what

    lines = []
    for name in sorted({*wanted, *found}):
        if name not in wanted:
            lines.append(f"{name} ({say(found[name])}) is not in tests/cli/install_table.py")
        elif name not in found:
            lines.append(f"{name} is missing")
        elif wanted[name] != found[name]:
            lines.append(f"{name} is {say(found[name])}, not {say(wanted[name])}")
    return "\n".join(lines)
