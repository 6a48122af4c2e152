# SPDX-License-Identifier: MIT
"""What a completion has to know of the verbs, from `fence --dump-verbs`."""

import json
import re
from dataclasses import dataclass

FILES = {"FILE", "PATH"}
DIRECTORIES = {"STORE", "MOUNT", "MOUNTPOINT", "DIR", "DIRECTORY", "DEST", "BACKUP"}


@dataclass
class Option:
    long: str
    short: str  # "" if it has none
    arg: str  # "" if it takes none
    help: str

    @property
    def names(self) -> list[str]:
        return ([f"-{self.short}"] if self.short else []) + [f"--{self.long}"]

    @property
    def words(self) -> list[str]:
        """The arguments that it takes, where they are a few words."""
        return self.arg.split("|") if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", self.arg) else []

    @property
    def kind(self) -> str:
        return kind_of({self.arg})


@dataclass
class Verb:
    name: str
    summary: str
    options: list[Option]
    kind: str  # of its arguments
    runs: bool  # a command follows "--"


def kind_of(names) -> str:
    """files, directories, or nothing."""
    if names & FILES:
        return "files"
    return "directories" if names & DIRECTORIES else ""


def argument_names(usage: list[str], options: list[Option]) -> set[str]:
    """The words in capitals that do not belong to an option."""
    names = set()
    for line in usage:
        for option in options:
            for name in option.names if option.arg else []:
                line = re.sub(rf"(?<![\w-]){name} [A-Za-z|]+", "", line)
        names |= set(re.findall(r"\b[A-Z]+\b", line))
    return names


def read(path) -> list[Verb]:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    verbs = []
    for verb in data["verbs"]:
        options = [
            Option(o["long"], o["short"] or "", o["arg"] or "", o["help"]) for o in verb["options"]
        ]
        names = argument_names(verb["usage"], options)
        verbs.append(Verb(verb["name"], verb["summary"], options, kind_of(names), "CMD" in names))
    return verbs
