# SPDX-License-Identifier: MIT
"""
The shell examples of README.md and of the manual pages run as they are, in three shells, and print
what is said there. In README.md they are blocks of ```sh and ```output; in a page the comments "; sh"
and "; output" stand before the literal blocks.
"""

import os
import re
import shutil

import pytest
from fenceharness import *

SHELLS = ["bash", "dash", "busybox sh"]
MAN = "mount-helpers/man"
DOCUMENTS = ["README.md", "tools/man/examples.scd", f"{MAN}/fence-ctl.5.scd", f"{MAN}/fence-tokens.7.scd"]


def blocks(document) -> list[tuple[str, str]]:
    """(commands, what they print) of the document, in order."""
    text = (source_dir() / document).read_text(encoding="utf-8")
    found = re.findall(r"^(?:```|; )(sh|output)\n(?:```\n)?(.*?)^```$", text, re.M | re.S)
    assert found and [kind for kind, _ in found] == ["sh", "output"] * (len(found) // 2), document
    if document.endswith(".scd"):
        found = [(kind, body.replace("\\\\", "\\")) for kind, body in found]
    return [(found[i][1], found[i + 1][1]) for i in range(0, len(found), 2)]


def as_pattern(output: str) -> str:
    """… stands for what differs each time."""
    return ".*".join(re.escape(part) for part in output.split("…"))


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("shell", SHELLS)
def test_examples(mnt, tmp, document, shell):
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell}")
    examples = blocks(document)
    mark = "---- next block ----"
    script = tmp / "tour"
    script.write_text("".join(f"{commands}echo '{mark}'\n" for commands, _ in examples), "utf-8")
    # /mnt/shared is the mount, for this process alone; whom it becomes can run fence, too.
    into = (
        "mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/shared /mnt/bin && cp $4 /mnt/bin &&"
        ' mount --bind "$1" /mnt/shared && exec $2 "$3"'
    )
    env = {"PATH": f"/mnt/bin:{os.environ['PATH']}"}
    argv = ("sh", mnt.path, shell, script, fence_program())
    done = run(*own_mounts(), "sh", "-c", into, *argv, env=env)
    printed = done.stdout.split(mark + "\n")
    for (commands, output), got in zip(examples, printed, strict=False):
        assert re.fullmatch(as_pattern(output), got), f"{commands}printed\n{got}and not\n{output}"
    assert len(printed) == len(examples) + 1


def test_no_page_is_left_out():
    for page in sorted(source_dir().glob("*/man/*.scd")):
        if re.search(r"^; (sh|output)$", page.read_text(encoding="utf-8"), re.M):
            assert str(page.relative_to(source_dir())) in DOCUMENTS


def test_readme_is_short():
    """What is longer belongs in a manual page."""
    assert len((source_dir() / "README.md").read_text(encoding="utf-8").splitlines()) <= 250
