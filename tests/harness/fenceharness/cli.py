# SPDX-License-Identifier: MIT
"""Runs the `fence` tool."""

import json
from dataclasses import dataclass

from .paths import fence_program
from .process import run


@dataclass
class Result:
    rc: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def fence(*args, rc=0, input=None, cwd=None, env=None, timeout=60, uid=None) -> Result:
    """fence("put", path, rc=13): the exit status must be @rc (None: any). @input: str or bytes."""
    if isinstance(input, str):
        input = input.encode("utf-8", "surrogateescape")
    done = run(
        fence_program(), *args, rc=rc, input=input, cwd=cwd, env=env, timeout=timeout, uid=uid
    )
    return Result(done.returncode, done.stdout, done.stderr)


def has_verb(verb: str) -> bool:
    """Whether this build's tool knows @verb."""
    return fence(verb, "--help", rc=None).rc == 0
