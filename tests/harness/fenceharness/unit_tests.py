# SPDX-License-Identifier: MIT
"""Collects the tests of a C file, tests/unit/**/test-*.c: one item for each function of its program.

meson knows which program is built of which file, and with what environment it runs; each program
lists its tests, and runs one of them, when tests/unit/select.c is asked to.
"""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from .paths import build_dir, program_env


@functools.cache
def _introspection(name: str) -> list[dict]:
    file = build_dir() / "meson-info" / f"intro-{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def program_of(source: Path) -> str | None:
    """The program that is built of @source."""
    for target in _introspection("targets"):
        sources = [one for part in target["target_sources"] for one in part.get("sources", [])]
        if target["type"] == "executable" and str(source) in sources:
            return target["filename"][0]
    return None


def meson_test(name: str) -> dict:
    """What meson knows of a test of the suite unit: its "cmd" and "env"."""
    (found,) = [one for one in _introspection("tests") if one["name"] == name and "fencefs:unit" in one["suite"]]
    return found


def _environment(program: str) -> dict[str, str]:
    (found,) = [one for one in _introspection("tests") if one["cmd"] == [program]]
    return found["env"]


class UnitFile(pytest.File):
    """A C file of tests."""

    def collect(self):
        program = program_of(self.path)
        if not program:
            raise self.CollectError(f"no program is built of {self.path}: add it to tests/unit/meson.build")
        if not os.path.exists(program):
            raise self.CollectError(f"{program} is not built")
        env = program_env({"FENCE_UNIT_TEST": "?"})
        listed = subprocess.run([program], env=env, capture_output=True, text=True, check=True, timeout=60)
        for name in listed.stdout.split():
            yield UnitTest.from_parent(self, name=name, program=program)


class UnitTest(pytest.Item):
    """One function of it."""

    def __init__(self, *, program: str, **rest):
        super().__init__(**rest)
        self.program = program

    def runtest(self):
        env = program_env({**_environment(self.program), "FENCE_UNIT_TEST": self.name})
        done = subprocess.run([self.program], env=env, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="")
        if done.returncode:
            raise UnitFailure(f"{self.program} with FENCE_UNIT_TEST={self.name} ended with {done.returncode}")
        if "# SKIP" in done.stdout:
            pytest.skip(f"{self.name} skips itself")
        if f" {self.name}\n" not in done.stdout:
            raise UnitFailure(f"{self.program} has not run {self.name}")

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, UnitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, self.name


class UnitFailure(Exception):
    """A test of a C file has failed; its output says how."""
