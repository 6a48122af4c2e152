# SPDX-License-Identifier: MIT
"""The manual pages: no mistake in them, and all that the programs know is there."""

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


def strings_of(table, text) -> list[str]:
    """The strings in the initialiser of the array @table."""
    body = re.search(rf"\b{table}\[\] = \{{(.*?)\}};", text, re.S).group(1)
    return re.findall(r'"([^"]+)"', body)


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
    text = source("mount-helpers/man/fence-ctl.5.scd").replace("\\", "")
    entries = dict(re.findall(r"^\*(\w+)\*(.*)$", text, re.M))
    table = re.search(r"verb verbs\[\] = \{\n(.*?)\n\};", source("fs/core/ctl/ctl_verbs.c"), re.S)
    rows = re.findall(r"\{ (.*?), \w+ \}", table.group(1), re.S)
    assert len(rows) > 15
    for row in rows:
        verb, *keys = " ".join(re.findall(r'"([^"]*)"', row)).split()
        assert verb in entries, verb
        known = set(re.findall(r"[a-z_]+", entries[verb].replace("=1", "")))
        assert set(keys) == known, (verb, set(keys) ^ known)


def test_options_of_the_daemon():
    text = words(shown("fencefs.8"))
    named = run(fencefs_program(), "--help").stdout
    for option in re.findall(r"^  (-\w)|(--\w+)|\b(\w+)=auto", named, re.M):
        option = next(filter(None, option))
        assert option in text or f"{option}=auto" in text, option


def test_options_of_the_helper():
    text = words(shown("mount.fencefs.8"))
    code = source("mount-helpers/mount_option.c")
    for name in strings_of("passed", code):
        assert name in text, name
    for name in strings_of("passed_with_value", code):
        assert f"{name}=" in text, name
    for name in ("x-fence.timeout=SECONDS", "remount"):
        assert name in text, name


def test_store_has_all_tables():
    text = words(shown("fencefs-store.5"))
    tables = re.findall(r"CREATE TABLE (\w+)\(", source("fs/store/sqlite/schema.c"))
    assert len(tables) > 10
    for table in tables:
        assert table in text, table
