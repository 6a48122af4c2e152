# SPDX-License-Identifier: MIT
"""Which tests are to run: of which suites, of which names."""

import fnmatch
import os
from pathlib import Path

import pytest

SUITES = ("unit", "cli", "fs", "fault")
SANITIZED = ("unit", "fs")


def _plain(name: str) -> str:
    """test_fence_put, test-fence-put and fence-put are one name."""
    return name.replace("-", "_").removeprefix("test_")


class Name:
    """NAME or NAME:FUNCTION, NAME a file's, with or without its suite: "gc", "fault/gc:random_*"."""

    def __init__(self, text: str):
        self.text = text
        file, _, function = text.partition(":")
        suite, _, file = file.rpartition("/")
        self.suite, self.file, self.function = suite or "*", _plain(file), _plain(function) or "*"

    def matches(self, item: pytest.Item) -> bool:
        words = (
            (item.path.parent.relative_to(item.config.rootpath).parts[0], self.suite),
            (_plain(item.path.stem), self.file),
            (_plain(getattr(item, "originalname", item.name)), self.function),
        )
        exact = self.file == _plain(item.path.stem) and self.function == _plain(item.name)
        return exact or all(fnmatch.fnmatchcase(word, pattern) for word, pattern in words)


def _as_path(argument: str, config: pytest.Config) -> str | None:
    """@argument as a path from here, from tests/ or from the directory above, with its ::FUNCTION; or None."""
    path, colons, rest = argument.partition("::")
    for top in (config.invocation_params.dir, config.rootpath, config.rootpath.parent):
        if os.sep in path or path.endswith((".py", ".c")) or colons or path in SUITES:
            if (top / path).exists():
                return f"{(top / path).resolve()}{colons}{rest}"
    return None


def settle(config: pytest.Config) -> list[Name]:
    """Turns the words of the command line into paths for pytest, and the rest into Names."""
    given = config.args if config.args_source == config.ArgsSource.ARGS else []
    found = [(word, _as_path(word, config)) for word in given]
    names = [Name(word) for word, path in found if not path]
    places = [path for _, path in found if path]
    if names and places:
        raise pytest.UsageError("names and paths cannot be mixed: " + " ".join(given))
    suites = list(dict.fromkeys(config.option.suite))
    for suite in suites:
        if suite not in SUITES:
            raise pytest.UsageError(f"no suite {suite}; there are: {' '.join(SUITES)}")
    if not suites and not given and config.option.sanitized:
        suites = list(SANITIZED)
    top = config.rootpath
    config.args = places or [str(top / one) for one in SUITES if one in (suites or SUITES) and (top / one).is_dir()]
    return names


def deselect(config: pytest.Config, items: list[pytest.Item], names: list[Name]):
    """Leaves of @items those that @names, if there are any, name."""
    if not names:
        return
    chosen = [item for item in items if any(name.matches(item) for name in names)]
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = chosen


def may_skip(tests: Path) -> list[str]:
    """The tests that may be skipped in CI: the first word of each line of tests/may-skip."""
    lines = (tests / "may-skip").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
