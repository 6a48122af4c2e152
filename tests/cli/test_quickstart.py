# SPDX-License-Identifier: MIT
"""tools/quickstart, twice at the same directory."""

import os
import re

import pytest
from fenceharness import *
from fenceharness import kernel

pytestmark = pytest.mark.serial("build")


def quickstart(directory, rc=0, **kwargs):
    return run(
        source_dir() / "tools/quickstart", directory, rc=rc, timeout=120,
        env={"FENCE_BUILD": str(build_dir())}, **kwargs,
    )  # fmt: skip


def check_story(text: str, path: str):
    assert f"$ b=$(fence open --owner job-b --token 42 {path}/)\n" in text
    assert re.search(r"^State:\tT \(stopped\)$", text, re.M), text
    assert re.search(r"^revision \d+, \d+ changed$", text, re.M), text
    compared = rf"^\$ diff -r --no-dereference \S+ {path} && find {path} \| wc -l\n\d+$"
    assert re.search(compared, text, re.M), text
    assert "# exit status 13\n" in text
    assert "\n   token 41 of job-a refused at commit: ESTALE, 42 was set" in text, text
    assert "row 40 of job A\n" in text
    assert "fence umount " in text


@pytest.mark.timeout(300)
def test_quickstart_twice(tmp):
    directory = tmp / "a dir"
    first = quickstart(directory)
    check_story(first.stdout, "reports")
    refused = r"^fence: commit [0-9a-f]{32}: stale token 41 < 42 \(set on reports by job-b at "
    assert re.search(refused, first.stderr, re.M), first.stderr
    assert kernel.mount_at(directory) and "reports" in os.listdir(directory)
    second = quickstart(directory)
    assert f"# found {directory} mounted\n" in second.stdout
    assert "# found the fences of earlier runs: this one uses reports-2\n" in second.stdout
    check_story(second.stdout, "reports-2")
    fence("umount", directory)
    third = quickstart(directory)
    assert f"# found the store {directory}.store\n" in third.stdout
    check_story(third.stdout, "reports-3")
    fence("umount", directory)


@pytest.mark.timeout(120)
def test_a_directory_with_other_things_in_it(tmp):
    (tmp / "dir").mkdir()
    (tmp / "dir/file").touch()
    done = quickstart(tmp / "dir", rc=1)
    assert done.stderr.endswith(
        f"quickstart: {tmp}/dir is not empty; name an empty or a new directory\n"
    ), done.stderr
    assert os.listdir(tmp / "dir") == ["file"]
