# SPDX-License-Identifier: MIT
"""The completions for bash, zsh and fish: what the table has, and a bash that uses them."""

import os
import pty
import re
import select
import shutil
import subprocess

import pytest
from fenceharness import *

FILES = {"bash": "fence", "zsh": "_fence", "fish": "fence.fish"}


def completion(shell):
    return build_dir() / "tools/completions" / FILES[shell]


def verbs():
    return fence("--dump-verbs").json()["verbs"]


@pytest.mark.parametrize("shell", list(FILES))
def test_has_what_the_table_has(tmp, shell):
    table = tmp / "verbs.json"
    table.write_text(fence("--dump-verbs").out, encoding="utf-8")
    text = completion(shell).read_text(encoding="utf-8")
    generator = source_dir() / "tools/completions/generate"
    assert run("python3", generator, shell, table).stdout == text
    for verb in verbs():
        assert re.search(rf"\b{verb['name']}\b", text)
        for option in verb["options"]:
            assert option["long"] in text, option


@pytest.mark.parametrize("shell", list(FILES))
def test_the_shell_can_read_it(shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    done = run(shell, "-n", completion(shell))
    assert done.stdout == done.stderr == ""


# One word a line that bash would offer; "<default>" and "<dirnames>": what readline finds itself.
ASK = """
compopt() { echo "<$2>"; }
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_fence
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words) -> list[str]:
    script = f". '{completion('bash')}'\n{ASK}"
    return run("bash", "-c", script, "bash", "fence", *words).stdout.split()


def test_bash_offers_verbs():
    names = [verb["name"] for verb in verbs()]
    assert offered("") == [*names, "help", "--help", "--version"]
    assert offered("comm") == ["commit"]
    assert offered("help", "comm") == ["commit"]


def test_bash_offers_options():
    for verb in verbs():
        names = [f"--{option['long']}" for option in verb["options"]]
        assert offered(verb["name"], "--") == names, verb["name"]
    assert offered("put", "--if-") == ["--if-version", "--if-absent", "--if-hash"]


def test_bash_offers_arguments():
    assert offered("run", "--on-loss", "") == ["term", "ignore"]
    assert offered("run", "--on-loss", "=", "i") == ["ignore"]
    assert offered("run", "--on-loss", "=") == ["term", "ignore"]
    assert offered("put", "--token", "") == []
    assert offered("put", "--token", "4", "") == ["<default>"]
    assert offered("commit", "--mount", "") == offered("umount", "") == ["<dirnames>"]
    assert offered("timeline", "--svg", "") == offered("gc", "--path", "") == ["<default>"]
    assert "bash" in offered("run", "reports", "--", "bas")
    assert offered("run", "reports", "--", "sh", "-") == offered("cat", "--", "-") == ["<default>"]
    assert offered("version", "") == []


def read_until(fd, end, seconds=30) -> str:
    seen = b""
    while end not in seen.decode("utf-8", "replace"):
        ready, _, _ = select.select([fd], [], [], seconds)
        assert ready, f"bash did not say {end!r}: {seen!r}"
        seen += os.read(fd, 4096)
    return seen.decode("utf-8", "replace")


def test_bash_completes_what_is_typed(tmp):
    """A bash at a terminal: what Tab makes of a line, and what the command then gets."""
    (tmp / "a file").write_text("x")
    (tmp / "rc").write_text(
        f". '{completion('bash')}'\nPS1='ready> '\nfence() {{ printf '<%s>' \"$@\"; echo end; }}\n"
    )
    master, slave = pty.openpty()
    env = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": str(tmp), "INPUTRC": "/dev/null"}
    shell = subprocess.Popen(
        ["bash", "--rcfile", str(tmp / "rc"), "-i"],
        stdin=slave, stdout=slave, stderr=slave, cwd=tmp, env=env, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    try:
        read_until(master, "ready> ")
        os.write(master, b"fence comm\t--verb\t\n")
        assert "<commit><--verbose>end" in read_until(master, ">end")
        os.write(master, b"fence cat a\t\n")
        assert "<cat><a file>end" in read_until(master, ">end")
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
