# SPDX-License-Identifier: MIT
"""Writers that commit without end, each in a directory of its own, and what must be there after a crash.

A writer's steps follow from (seed, writer, number, state), so the number of acknowledged steps is all
that a child has to report: the parent computes the tree that must be found. The step that was under
way is allowed to be there whole or not at all.
"""

import os
import random
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from fenceharness import Ctl, quote

INLINE = (0, 1, 100, 4096, 16384)  # content of at most 16384 bytes lives in the database
BLOB = (16385, 70_000, 300_000)


class Refused(Exception):
    """A request that was answered with an errno: (verb, errno, reply line or None)."""

    @property
    def verb(self) -> str:
        return self.args[0]

    @property
    def errno(self) -> int:
        return self.args[1]


def content(token: int, name: str, size: int) -> bytes:
    line = f"{token} {name} {size}\n".encode()
    return (line * (size // len(line) + 1))[:size]


# A tree: name of each file -> what content() made its content from.
State = dict[str, tuple[int, str, int]]


@dataclass(frozen=True)
class Step:
    """Commit number @number of a writer; its token is number + 1."""

    number: int
    kind: str  # put, file, tree, remove, claim
    files: dict[str, int] = field(default_factory=dict)  # name in the writer's directory -> size
    rotate: bool = False  # tree: "old" goes, "set" becomes "old", a new "set" is made

    @property
    def token(self) -> int:
        return self.number + 1

    def claimed(self, top: str) -> str:
        if self.kind == "tree":
            return top
        return f"{top}-fence" if self.kind == "claim" else f"{top}/{next(iter(self.files))}"

    def apply(self, state: "State") -> "State":
        state = dict(state)
        if self.rotate:
            state = {n: v for n, v in state.items() if not n.startswith("old/")}
            state = {n.replace("set/", "old/", 1): v for n, v in state.items()}
        for name, size in self.files.items():
            if self.kind == "remove":
                state.pop(name, None)
            elif self.kind != "claim":
                state[name] = (self.token, name, size)
        return state


def plan(seed, writer: str, number: int, state: State, sizes) -> Step:
    rng = random.Random(f"{seed}/{writer}/{number}")
    kind = rng.choice(["put", "put", "file", "file", "tree", "tree", "remove", "claim"])
    if not state:
        kind = "tree"
    if kind == "tree":
        files = {f"set/{i}": rng.choice(sizes) for i in range(rng.randint(2, 6))}
        return Step(number, kind, files | {"note": rng.choice(sizes)}, bool(state) and rng.random() < 0.3)
    if kind == "remove":
        return Step(number, kind, {rng.choice(sorted(state)): 0})
    return Step(number, kind, {rng.choice("abcd"): rng.choice(sizes)})


# ------------------------------------------------------------------------------------------ performing


def _send(ctl: Ctl, verb: str, data: bytes = b"", **fields):
    """That the write succeeded is the acknowledgement; the reply may never be read."""
    failed = ctl.send(verb, data, **fields)
    if failed:
        raise Refused(verb, failed, _reply_if_any(ctl))


def _reply_if_any(ctl: Ctl) -> str | None:
    try:
        return ctl.reply().raw
    except OSError:
        return None


def _write(path: Path, data: bytes):
    with open(path, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


def _fill_session(view: Path, step: Step):
    if step.rotate:
        shutil.rmtree(view / "old", ignore_errors=True)
        os.rename(view / "set", view / "old")
    for name, size in step.files.items():
        (view / name).parent.mkdir(exist_ok=True)
        _write(view / name, content(step.token, name, size))


def open_session(mount: Path, ctl: Ctl, top: str, step: Step) -> str:
    """Opens a session for @step and fills it; its id."""
    path = step.claimed(top)
    _send(ctl, "open", path=path + "/" * (step.kind == "tree"), token=step.token, owner=top)
    session = ctl.reply()["session"]
    _fill_session(Path(mount) / ".fence/sessions" / session / top, step)
    return session


def commit(ctl: Ctl, session: str):
    _send(ctl, "commit", session=session)


def perform(mount: Path, ctl: Ctl, top: str, step: Step) -> int | None:
    """Does @step; back when it is acknowledged. The revision, when the reply could be read."""
    name = next(iter(step.files))
    if step.kind in ("tree", "file"):
        commit(ctl, open_session(mount, ctl, top, step))
    elif step.kind == "put":
        data = content(step.token, name, step.files[name])
        _send(ctl, "put", data, path=f"{top}/{name}", token=step.token, size=len(data))
    elif step.kind == "remove":
        _send(ctl, "remove", path=f"{top}/{name}", token=step.token)
    else:
        _send(ctl, "claim", path=step.claimed(top), token=step.token, owner=top)
    try:
        return int(ctl.reply().get("revision", 0))
    except OSError:
        return None


@dataclass
class Report:
    """What a writer's child saw."""

    acked: int
    revision: int
    error: BaseException | None
    acks: list[tuple[float, int]] = field(default_factory=list)  # of each: time.monotonic(), highest revision
    late: int = 0  # steps after `acked` that were acknowledged too late to count

    def before(self, moment: float) -> "Report":
        """As if no acknowledgement had come after @moment."""
        counted = [ack for ack in self.acks if ack[0] < moment]
        base = self.revision if not self.acks else self.acks[0][1]
        return replace(
            self,
            acked=len(counted),
            revision=counted[-1][1] if counted else base,
            late=self.acked - len(counted),
        )


def work(me, mount: Path, writer: "Writer", limit: int | None = None) -> Report:
    """In a child: commits until something fails. Marks "running" after its first one."""
    state, number, revision = writer.state, writer.number, writer.revision
    acks = []
    try:
        with Ctl(mount) as ctl:
            while limit is None or number < writer.number + limit:
                step = writer.plan(number, state)
                new = perform(mount, ctl, writer.top, step)
                if new:
                    assert new > revision, f"revision {new} after {revision}"
                    revision = new
                acks.append((time.monotonic(), revision))
                state = step.apply(state)
                number += 1
                if number == writer.number + 1:
                    me.mark("running")
    except (OSError, Refused) as error:
        return Report(number - writer.number, revision, error, acks)
    return Report(number - writer.number, revision, None, acks)


# -------------------------------------------------------------------------------------------- checking


def read_tree(top: Path) -> dict[str, bytes]:
    """Every file beneath @top with its content; {} when @top does not exist."""
    found = {}
    for directory, _, names in os.walk(top, onerror=_raise_unless_absent):
        for name in names:
            path = Path(directory) / name
            found[str(path.relative_to(top))] = path.read_bytes()
    return found


def _raise_unless_absent(error: OSError):
    if not isinstance(error, FileNotFoundError):
        raise error


def is_tree(found: dict[str, bytes], state: State) -> bool:
    return found == {name: content(*made) for name, made in state.items()}


def describe(found: dict[str, bytes], state: State) -> str:
    """How @found differs from @state, and what is in the files that differ."""
    lines = []
    for name in sorted(found.keys() | state.keys()):
        is_, should = found.get(name), state.get(name)
        if is_ is not None and should and is_ == content(*should):
            continue
        what = "nothing" if is_ is None else f"{len(is_)} bytes {is_[:40]!r}"
        lines.append(f"  {name}: {what}, expected {should or 'nothing'}")
    return "\n".join(lines)


class Writer:
    """One writer's directory, across the crashes of a test."""

    def __init__(self, number: int, seed=None, sizes=INLINE + BLOB, script: tuple[Step, ...] = ()):
        """@script: these steps over and over instead of random ones."""
        self.top = f"w{number}"
        self.seed = seed
        self.sizes = sizes
        self.script = script
        self.number = 0  # of the next step
        self.state: State = {}
        self.fences: dict[str, int] = {}  # path -> highest token that was acknowledged
        self.revision = 0
        self.acked = 0

    def plan(self, number: int, state: State) -> Step:
        if self.script:
            return replace(self.script[number % len(self.script)], number=number)
        return plan(self.seed, self.top, number, state, self.sizes)

    def rewind(self):
        """The next step is the script's first; the tokens go on."""
        self.number += -self.number % len(self.script)

    def replay(self, acked: int) -> tuple[State, Step]:
        """The state after @acked more steps, and the step after them."""
        state = self.state
        for number in range(self.number, self.number + acked):
            step = self.plan(number, state)
            state = step.apply(state)
            self.fences[step.claimed(self.top)] = step.token
        return state, self.plan(self.number + acked, state)

    def check(self, mount: Path, ctl: Ctl, report: Report):
        """
        After a remount: all that was acknowledged is there, whole; nothing else is, but that the step under way, and those acknowledged
        too late, may be there, in their order. Moves on.
        """
        state, step = self.replay(report.acked)
        found = read_tree(Path(mount) / self.top)
        possible = [state]
        for number in range(self.number + report.acked, self.number + report.acked + report.late + 1):
            step = self.plan(number, possible[-1])
            possible.append(step.apply(possible[-1]))
        matching = [one for one in possible if is_tree(found, one)]
        if not matching:
            raise AssertionError(
                f"{self.top} after {report.acked} steps from {self.number} ({report.late} late, then {step}):\n"
                f"as of the last acknowledged step:\n{describe(found, state)}\n"
                f"with all that may be there:\n{describe(found, possible[-1])}"
            )
        self._check_fences(ctl, step)
        now = ctl.expect_ok("hello").int("revision")
        assert now >= report.revision, f"revision {now} after {report.revision} was acknowledged"
        self.state = matching[-1]
        self.revision = report.revision
        self.number += report.acked + report.late + 1
        self.acked += report.acked

    def _check_fences(self, ctl: Ctl, under_way: Step):
        above = self.fences.get(self.top, 0)
        for path, token in self.fences.items():
            if path != f"{self.top}-fence":
                token = max(token, above)
            highest = ctl.expect_ok("stat", path=path).int("highest")
            if not token <= highest <= max(token, under_way.token):
                raise AssertionError(f"the fence of {quote(path)} is {highest}, {token} was acknowledged")
            refused = ctl.expect_err("ESTALE", "claim", path=path, token=token - 1)
            assert refused.int("highest") == highest, refused.raw
