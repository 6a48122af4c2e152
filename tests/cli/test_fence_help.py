# SPDX-License-Identifier: MIT
"""The command line itself: help, mistakes, documents against the table. Needs no mount."""

import json
import os
import re
import subprocess

import pytest
from fenceharness import *


def dump():
    return fence("--dump-verbs").json()


def readme() -> str:
    return (source_dir() / "README.md").read_text(encoding="utf-8")


def test_help_of_each_verb():
    top = fence("--help")
    assert top.err == ""
    for verb in dump()["verbs"]:
        assert f"\n  {verb['name']:9}  {verb['summary']}\n" in top.out
        text = fence(verb["name"], "--help").out
        assert text == fence("help", verb["name"]).out == fence(verb["name"], "-h").out
        assert text.startswith(f"usage: fence {verb['name']} {verb['usage'][0]}\n")
        assert f"\n{verb['summary']}.\n" in text
        for option in verb["options"]:
            assert f"--{option['long']}" in text and option["help"] in " ".join(text.split())
        for code in verb["exits"]:
            assert re.search(rf"^ +{code}  ", text, re.M), code


def test_help_fits_a_terminal():
    texts = [fence("--help").out] + [fence(v["name"], "--help").out for v in dump()["verbs"]]
    too_long = [line for text in texts for line in text.splitlines() if len(line) > 80]
    assert not too_long, too_long


def test_mistakes_name_the_nearest():
    cases = [
        (["ptu"], 'fence: unknown verb "ptu"; did you mean "put"?'),
        (["unmount", "x"], 'fence: unknown verb "unmount"; did you mean "umount"?'),
        (["frobnicate"], 'fence: unknown verb "frobnicate"; fence --help lists them'),
        (["--verison"], "fence: unknown option --verison; did you mean --version?"),
        (["put", "--tokem", "4"], "fence: put: unknown option --tokem; did you mean --token?"),
        (["log", "-z", "a"], "fence: log: unknown option -z"),
        (["log"], "fence: log: too few arguments"),
        (["log", "a", "b"], 'fence: log: too many arguments, starting with "b"'),
        (["log", "--json=1", "a"], "fence: log: option --json takes no argument"),
        (["put", "a", "b", "--token"], "fence: put: option --token needs an argument: N"),
        (["rejects", "--force"], "fence: rejects: --force belongs to --save"),
        (
            ["rejects", "--save", "7"],
            "fence: rejects: --save needs the FILE to write, or - for standard output",
        ),
        (
            ["rejects", "--save", "x", "f"],
            'fence: rejects: "x" is not an id; fence rejects lists them',
        ),
        (
            ["put", "-t", "1", "--mode", "9", "a", "b"],
            'fence: put: "9" is not a mode: octal digits such as 0644',
        ),
        (
            ["put", "-t", "1", "--if-absent", "--if-version", "2", "a", "b"],
            "fence: put: only one of --if-version, --if-absent and --if-hash",
        ),
        (["rm", "-t", "1", "--op", "k", "a", "b"], "fence: rm: --op is for a single PATH"),
    ]
    for argv, message in cases:
        result = fence(*argv, rc=2)
        assert result.out == "", argv
        assert result.err.splitlines()[0] == message, (argv, result.err)


def test_no_verb_is_a_mistake():
    result = fence(rc=2)
    assert result.out == "" and result.err.startswith("usage: fence VERB")


def test_tokens_are_checked_before_anything_is_asked():
    good = "a whole number from 0 to 9223372036854775807"
    numbers = ["-1", "034", "+4", "9223372036854775808", "18446744073709551616", "1e3", " 1", "4\n"]
    for bad in numbers:
        for argv in (["claim", f"--token={bad}", "/"], ["claim", "/"]):
            env = {"FENCE_TOKEN": bad}
            result = fence(*argv, rc=2, env=env)
            shown = bad.replace("\n", "\\n")
            want = f'fence: claim: "{shown}" is not a token: {good}'
            assert result.err.splitlines()[0] == want, result.err
    for env in ({}, {"FENCE_TOKEN": ""}):
        result = fence("open", "/", rc=2, env=env)
        want = "fence: open: no token: give --token N or set FENCE_TOKEN"
        assert result.err.splitlines()[0] == want


def test_what_is_not_a_mount_is_said_so(tmp):
    file = tmp / "file"
    file.write_text("x")
    (tmp / "dangling").symlink_to("nowhere")
    elsewhere = "not in a fencefs mount"
    for argv in (
        ["show", tmp],
        ["show", file],
        ["show", tmp / "missing/deep/er"],
        ["show", tmp / "dangling"],
        ["log", tmp],
        ["cat", file],
        ["claim", "-t", "1", tmp],
        ["open", "-t", "1", tmp],
        ["rm", "-t", "1", file],
        ["sessions", tmp],
        ["rejects", tmp],
        ["put", "-t", "1", file, tmp / "new"],
    ):
        result = fence(*argv, rc=10)
        name = argv[-1] if argv[0] != "put" else tmp / "new"
        assert result.err == f"fence: {argv[0]} {name}: {elsewhere}\n", result.err
    assert fence("show", tmp / "missing/../x", rc=1).err == (
        f"fence: show {tmp}/missing/../x: No such file or directory\n"
    )
    assert fence("show", file / "below", rc=1).err == f"fence: show {file}/below: Not a directory\n"
    assert fence("show", "", rc=1).err == "fence: show : No such file or directory\n"
    assert fence("umount", tmp, rc=10).err == f"fence: umount {tmp}: no fencefs is mounted there\n"


def test_names_in_messages_cannot_forge_lines(tmp):
    hostile = tmp / "a\nfence: all is well\x1b[2J\\"
    result = fence("show", hostile, rc=10)
    assert result.err == (
        f"fence: show {tmp}/a\\nfence: all is well\\x1b[2J\\\\: not in a fencefs mount\n"
    )


def test_output_that_cannot_be_written():
    done = run("sh", "-c", 'exec "$0" --help >/dev/full', fence_program(), rc=1)
    assert done.stderr == "fence: cannot write the output: No space left on device\n"
    # A reader that has gone is no error to talk about.
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [fence_program(), "--dump-verbs"],
        stdout=writer,
        stderr=subprocess.PIPE,
        restore_signals=False,  # SIGPIPE stays ignored
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b""), done


def test_version():
    text = fence("--version").out
    assert re.fullmatch(r"fence \d+\.\d+\.\d+\n", text)
    assert fence("version").out == text
    assert f"fence {fence('version', '--json').json()['version']}\n" == text
    assert dump()["version"] in text


def test_readme_lists_the_verbs():
    table = readme().split("| verbs of `fence` |")[1].split("\n\n")[0]
    assert sorted(re.findall(r"`([a-z-]+)`", table)) == sorted(v["name"] for v in dump()["verbs"])


PAGES = ["tools/man/examples.scd"] + [
    f"mount-helpers/man/{page}.scd"
    for page in (
        "fence-ctl.5",
        "fence-tokens.7",
        "fencefs-monitoring.7",
        "fencefs-store.5",
        "fencefs.8",
        "mount.fencefs.8",
    )
]


@pytest.mark.parametrize("document", ["README.md", *PAGES])
def test_documents_use_options_that_exist(document):
    verbs = {verb["name"]: {o["long"] for o in verb["options"]} for verb in dump()["verbs"]}
    everywhere = set().union(*verbs.values())
    text = (source_dir() / document).read_text(encoding="utf-8").replace("\\", "")
    for line in text.splitlines():
        line = re.sub(r"\*(fence [a-z]+(?: [^*]*)?|--[a-z-]+)\*", r"`\1`", line)  # scdoc's bold
        for verb, rest in re.findall(r"\bfence ([a-z]+)((?: [^`|#;&)]*)?)", line):
            if verb not in verbs:
                continue
            for option in re.findall(r"(?<= )--([a-z-]+)", rest):
                assert option in verbs[verb], f"fence {verb} has no --{option}: {line}"
    for option in re.findall(r"`--([a-z-]+)`", text):
        assert option in everywhere, option


def test_dump_is_what_completions_need():
    data = dump()
    assert json.dumps(data)
    for verb in data["verbs"]:
        names = [option["long"] for option in verb["options"]]
        letters = [option["short"] for option in verb["options"] if option["short"]]
        assert len(set(names)) == len(names) and len(set(letters)) == len(letters), verb["name"]
        assert verb["summary"][0].isupper() and not verb["summary"].endswith(".")
        assert {0, 1, 2} <= set(verb["exits"])
