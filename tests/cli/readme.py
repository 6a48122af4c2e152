# SPDX-License-Identifier: MIT
"""The five minutes of README.md run as they are, in three shells, and print what it says."""

import os
import re
import shutil

from fenceharness import *

SHELLS = ["bash", "dash", "busybox sh"]


def blocks() -> list[tuple[str, str]]:
    """(commands, what they print) of the tour, in order."""
    text = (source_dir() / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```sh\n(.*?)^```\n```output\n(.*?)^```$", text, re.M | re.S)
    assert len(found) == len(re.findall(r"^```sh$", text, re.M)) > 3
    return found


def as_pattern(output: str) -> str:
    """… stands for what differs each time."""
    return ".*".join(re.escape(part) for part in output.split("…"))


@params(shell=SHELLS)
def test_the_five_minutes(mnt, tmp, shell):
    if not shutil.which(shell.split()[0]):
        skip(f"no {shell}")
    mark = "---- next block ----"
    script = tmp / "tour"
    script.write_text("".join(f"{commands}echo '{mark}'\n" for commands, _ in blocks()), "utf-8")
    # /mnt/shared is the mount, for this process alone.
    into = (
        "mount -t tmpfs none /mnt && mkdir /mnt/shared &&"
        ' mount --bind "$1" /mnt/shared && exec $2 "$3"'
    )
    env = {"PATH": f"{build_dir()}/tools:{os.environ['PATH']}"}  # the tour uses fence, too
    done = run(*own_mounts(), "sh", "-c", into, "sh", mnt.path, shell, script, env=env)
    printed = done.stdout.split(mark + "\n")
    for (commands, output), got in zip(blocks(), printed, strict=False):
        assert re.fullmatch(as_pattern(output), got), f"{commands}printed\n{got}and not\n{output}"
    assert len(printed) == len(blocks()) + 1


if __name__ == "__main__":
    main()
