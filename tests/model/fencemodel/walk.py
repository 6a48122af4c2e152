# SPDX-License-Identifier: MIT
"""The walk itself: sessions come and go, operations follow each other, everything is compared."""

import bisect
import contextlib
import itertools
import os
import random
import threading
import traceback

from . import compare, numbers
from .operations import NAMES, operations
from .tree import Dir, Live, Session, is_within, join

COMPARE_EVERY = 400
NODES_MAX = 60
TRACE = 400


class Failure(AssertionError):
    pass


class Walk:
    """Walk(mnt, seed).run(50000). @mnt: a harness Mount of an empty store. @skip: operations to leave out."""

    def __init__(self, mnt, seed: int, skip=()):
        self.mount = mnt
        self.mnt = str(mnt.path)
        self.seed = seed
        self.skip = skip
        self.noise = random.Random(seed).randbytes(200000)
        self.rng = random.Random(seed)
        self.live = Live()
        self.sessions: list[Session] = []
        self.held = []
        self.trace: list[str] = []
        self.number = -1
        self.refused = 0
        self.opened = 0
        self.count = dict.fromkeys(("commits", "refused commits", "aborts", "remounts", "kills"), 0)
        self.last: Session | None = None
        self.is_crowded = False
        self._weights = list(itertools.accumulate(weight for _, weight in operations))

    def say(self, text: str):
        """@text is about the session that was picked last, if it is about one."""
        who = f" [{self.last.serial}]" if self.last else ""
        self.trace.append(f"{self.number}{who}: " + text.replace("g" * 200, "g(200)"))

    # ------------------------------------------------------------------------------------------ running

    def run(self, count: int):
        os.umask(0)
        try:
            for number in range(count):
                if number in self.skip:
                    continue
                self._step(number)
            self.number = count
            self._compare_all()
            self._close_all()
        except Exception as error:
            raise Failure(self._explain(error)) from error

    def _step(self, number: int):
        self.number = number
        self.last = None
        self.rng.seed(self.seed * 1000003 + number)
        if number % COMPARE_EVERY == 0:
            self._compare_some()
        at = bisect.bisect(self._weights, self.rng.random() * self._weights[-1])
        operations[at][0](self)

    def _explain(self, error: Exception) -> str:
        skip = numbers.show(n for n in self.skip if n < self.number)
        lines = [
            f"{type(error).__name__}: {error}",
            f"seed {self.seed}, operation {self.number}, options {','.join(self.mount.options)}",
            f"again: FENCE_MODEL_SEED={self.seed} FENCE_MODEL_OPS={self.number + 1} "
            f"{'FENCE_MODEL_SKIP=' + skip + ' ' if skip else ''}tests/run model:again",
            f"shorter: tests/model/shrink --seed {self.seed} --ops {self.number + 1}",
            *(f"session [{s.serial}] {s.path!r} token {s.token} {s.ident}" for s in self.sessions),
            *self.trace[-TRACE:],
            "".join(traceback.format_exception(error)),
        ]
        return "\n".join(lines)

    # --------------------------------------------------------------------------------------- comparing

    def _compare_live(self):
        compare.compare_tree(self.live, self.live.root, self.mnt)

    def _compare_some(self):
        self._compare_live()
        if self.sessions:
            session = self.rng.choice(self.sessions)
            compare.compare_tree(session, session.root, session.top)
        self._measure()

    def _compare_all(self):
        self._compare_live()
        for session in self.sessions:
            compare.compare_tree(session, session.root, session.top)

    def _measure(self):
        sizes = [len(self.live_nodes())]
        sizes += [sum(len(own) for own in session.over.values()) for session in self.sessions]
        self.is_crowded = max(sizes) > NODES_MAX

    def live_nodes(self) -> list:
        """[(path, node)] of the live tree."""
        found = []
        todo = [(".", self.live.root)]
        while todo:
            path, directory = todo.pop()
            for name, node in directory.names.items():
                found.append((join(path, name), node))
                if isinstance(node, Dir):
                    todo.append((join(path, name), node))
        return found

    def levels_beneath(self, session: Session, node) -> int:
        if not isinstance(node, Dir):
            return 0
        below = (session.lookup(node, name) for name in session.names(node))
        return 1 + max((self.levels_beneath(session, n) for n in below if isinstance(n, Dir)), default=0)

    # --------------------------------------------------------------------------------------- sessions

    def session(self) -> Session:
        """One of them, most often one that may still write; a new one if there is none."""
        able = [s for s in self.sessions if not s.is_fenced(s.path)]
        if not able or (len(self.sessions) < 2 and self.rng.random() < 0.05):
            opened = self.open_session()
            while not opened and not self.sessions:
                opened = self.open_session()
            able = [opened] if opened else self.sessions
        session = self.rng.choice(self.sessions if self.rng.random() < 0.1 else able)
        self.last = session
        return session

    def _path_to_claim(self) -> tuple[str, bool]:
        """(path, whether a directory is to be made there)"""
        if self.rng.random() < 0.25:
            return ".", False
        nodes = self.live_nodes()
        if nodes and self.rng.random() < 0.6:
            return self.rng.choice(nodes)[0], False
        directories = [(".", self.live.root)] + [(p, n) for p, n in nodes if isinstance(n, Dir)]
        path, directory = self.rng.choice(directories)
        name = self.rng.choice(NAMES)
        return join(path, name), name not in directory.names and self.rng.random() < 0.7

    def _token_for(self, path: str) -> int:
        token = max(0, self.live.highest(path) + self.rng.choice((-1, 0, 0, 1, 1, 2, 5)))

        def clashes(s):
            return s.token == token and (is_within(s.path, path) or is_within(path, s.path))

        while any(clashes(s) for s in self.sessions):
            token += 1
        return token

    def open_session(self) -> Session | None:
        if len(self.sessions) >= 5:
            self.abort(self.sessions[0])
        path, makes = self._path_to_claim()
        token = self._token_for(path)
        self.say(f"open session [{self.opened}] on {path!r} token {token}{' making it' if makes else ''}")
        allowed = self.live.claim(path, token)
        ctl = self.mount.ctl()
        reply = ctl.request("open", path=path + "/" if makes else path, token=token)
        if not allowed:
            compare.expect("ESTALE", reply.errno_name, f"reply {reply.raw!r}")
            ctl.close()
            return None
        if not reply.ok:
            raise compare.Difference(reply.raw)
        session = Session(self.live, path, token)
        session.ctl = ctl
        session.serial = self.opened
        self.opened += 1
        session.ident = reply["session"]
        session.top = f"{self.mnt}/{reply['dir']}"
        if makes:
            above = self.live.find(path.rpartition("/")[0] or ".")
            session.put(above, path.rpartition("/")[2], Dir(0o755, session))
            session.touch(above)
        self.sessions.append(session)
        return session

    def _ended(self, session: Session):
        session.has_ended = True
        session.ctl.close()
        self.sessions.remove(session)

    def commit(self, session: Session):
        must, may = session.refusal()
        self.say(f"commit {session.path!r} token {session.token}")
        reply = session.ctl.request("commit", session=session.ident)
        if not reply.ok:
            if reply.errno_name != "ESTALE" or not may:
                raise compare.Difference(f"commit: {reply.raw!r}, expected {'ESTALE' if must else 'ok'}")
            self.count["refused commits"] += 1
        elif must:
            raise compare.Difference(f"commit: {reply.raw!r}, expected ESTALE")
        else:
            self._publish(session, reply.int("revision"), reply["changed"] != "0")
        self._ended(session)
        self._compare_live()

    def _publish(self, session: Session, revision: int, changed: bool):
        certain = any(change[3] for change in session.changes())
        if certain and not changed:
            raise compare.Difference("nothing changed, says the commit")
        compare.expect(self.live.revision + changed, revision, "revision")
        session.commit(revision)
        self.count["commits"] += 1

    def abort(self, session: Session):
        self.say(f"abort {session.path!r} token {session.token}")
        session.ctl.expect_ok("abort", session=session.ident)
        self._ended(session)
        self.count["aborts"] += 1

    # ------------------------------------------------------------------------------- ends of the daemon

    def _close_all(self):
        for held in self.held:
            held.close()
        self.held.clear()
        for session in list(self.sessions):
            self._ended(session)

    def remount(self):
        self.say("remount")
        self._close_all()
        self.mount.remount()
        self.count["remounts"] += 1
        self._compare_live()

    def kill(self):
        self.say("kill -9 of the daemon")
        self.mount.kill()
        self._start_again()
        self._compare_live()

    def _start_again(self):
        for session in self.sessions:
            with contextlib.suppress(OSError):  # ENOTCONN
                session.ctl.close()
        self._close_all()
        self.mount.start()
        self.count["kills"] += 1

    def kill_in_commit(self, session: Session):
        """Its outcome is asked for afterwards, and must be true."""
        self.say(f"kill -9 of the daemon in the commit of {session.path!r} token {session.token}")
        must, may = session.refusal()
        writer = threading.Thread(target=session.ctl.send, args=("commit",), kwargs=dict(session=session.ident))
        writer.start()
        writer.join(self.rng.random() * 0.01)
        self.mount.kill()
        writer.join()
        self._start_again()
        with self.mount.ctl() as ctl:
            reply = ctl.request("outcome", session=session.ident)
        self.say(f"  outcome: {reply.raw}")
        outcome = reply.get("outcome")
        if outcome == "committed":
            if must:
                raise compare.Difference(f"{reply.raw!r}, expected a refusal")
            revision = reply.int("revision")
            self._publish(session, revision, revision != self.live.revision)
        elif outcome == "refused":
            if not may:
                raise compare.Difference(f"{reply.raw!r}, expected no refusal")
        elif outcome not in ("aborted", "unknown") and reply.errno_name != "ENOENT":
            raise compare.Difference(reply.raw)
        self._compare_live()
