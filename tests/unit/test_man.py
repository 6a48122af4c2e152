# SPDX-License-Identifier: MIT
"""The manual pages: no mistake in them, and all that the programs know is there."""

import functools
import json
import re
import shutil

import pytest
from fenceharness import *

PAGES = {
    "fence.1": "tools/man",
    "fence-ctl.5": "mount-helpers/man",
    "fence-tokens.7": "mount-helpers/man",
    "fencefs-monitoring.7": "mount-helpers/man",
    "fencefs-store.5": "mount-helpers/man",
    "fencefs.8": "mount-helpers/man",
    "mount.fencefs.8": "mount-helpers/man",
}


def page(name):
    path = build_dir() / PAGES[name] / name
    if not path.exists():
        pytest.skip("built without scdoc")
    return path


def shown(name) -> str:
    """As a reader sees it, on one line."""
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    text = run("mandoc", "-T", "utf8", "-O", "width=500", page(name)).stdout
    return " ".join(re.sub(".\b", "", text).split())


def words(text) -> set[str]:
    return set(re.findall(r"[\w.=-]+", text))


def source(name) -> str:
    return (source_dir() / name).read_text(encoding="utf-8")


@functools.cache
def wire() -> dict:
    """The tables of fs/wire."""
    return json.loads(run(build_dir() / "tests/unit/dump-wire").stdout)


@pytest.mark.parametrize("name", list(PAGES))
def test_lint(name):
    if not shutil.which("mandoc"):
        pytest.skip("no mandoc")
    # Matters of style are those of scdoc: long lines, a title in lower case.
    done = run("mandoc", "-T", "lint", "-W", "warning", page(name), rc=None)
    assert done.returncode == 0 and done.stdout == "", done


def test_fence_has_a_section_for_each_verb():
    text = shown("fence.1")
    for verb in fence("--dump-verbs").json()["verbs"]:
        for usage in verb["usage"]:
            assert f"fence {verb['name']} {usage}" in text, usage
        assert f" {verb['summary']}. " in text, verb["name"]
        assert not verb["about"] or " ".join(verb["about"].split()) in text, verb["about"]
        for option in verb["options"]:
            assert f"--{option['long']}" in text and option["help"] in text, option
    for code in fence("--dump-verbs").json()["exit_codes"]:
        assert f"{code['code']} {code['meaning']}" in text, code


def test_ctl_has_all_verbs_and_keys():
    """A paragraph for each verb; what may be left out is in brackets."""
    text = source("mount-helpers/man/fence-ctl.5.scd").replace("\\", "")
    entries = dict(re.findall(r"^\*(\w+)\*(.*)$", text, re.M))
    for verb in wire()["verbs"]:
        assert verb["name"] in entries, verb["name"]
        synopsis = entries[verb["name"]].replace("=1", "")
        named = set(re.findall(r"[a-z_]+", synopsis))
        optional = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"\[(.*?)\]", synopsis))))
        keys = {key["name"]: key["required"] for key in verb["keys"]}
        assert set(keys) == named, (verb["name"], set(keys) ^ named)
        assert {k for k, required in keys.items() if not required} == optional, verb["name"]


def test_ctl_has_all_events():
    text = words(shown("fence-ctl.5"))
    for event in wire()["events"]:
        assert event in text, event


def test_requests_that_are_shown_have_known_keys():
    verbs = {v["name"]: {k["name"] for k in v["keys"]} for v in wire()["verbs"]}
    request = re.compile(rf"\b({'|'.join(verbs)})((?: \[?[a-z_]+=[^\s|]+)+)")
    documents = [p for pattern in ("*.md", "*/*.md", "*/man/*.scd") for p in source_dir().glob(pattern)]
    n = 0
    for document in documents:
        for verb, fields in request.findall(document.read_text(encoding="utf-8").replace("\\", "")):
            n += 1
            for key in re.findall(r" \[?([a-z_]+)=", fields):
                assert key in verbs[verb], f"{document}: {verb}{fields}"
    assert n > 5


def test_options_of_the_daemon():
    text = words(shown("fencefs.8"))
    named = run(fencefs_program(), "--help").stdout
    for option in re.findall(r"^  (-\w)|(--\w+)|\b(\w+)=auto", named, re.M):
        option = next(filter(None, option))
        assert option in text or f"{option}=auto" in text, option
    for option in wire()["mount_options"]:
        if option["use"] == "own":
            assert f"{option['name']}=auto" in named, option


def test_options_of_the_helper():
    text = words(shown("mount.fencefs.8"))
    for option in wire()["mount_options"]:
        name = option["name"] + ("=" if option["value"] else "")
        if option["use"] in ("own", "passed", "remount"):
            assert name in text, name
    assert "x-fence.timeout=SECONDS" in text


def test_store_has_all_tables():
    text = words(shown("fencefs-store.5"))
    tables = re.findall(r"CREATE TABLE (\w+)\(", source("fs/store/sqlite/schema.c"))
    assert len(tables) > 10
    for table in tables:
        assert table in text, table
