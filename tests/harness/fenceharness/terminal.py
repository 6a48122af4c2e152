# SPDX-License-Identifier: MIT
"""Programs that run on a terminal."""

import contextlib
import os
import pty
import select
import time

from .paths import program_env, time_scale


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *argv, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(program_env(env))
            os.execvp(argv[0], argv)
        self.seen = self.passed = ""

    def type(self, text: str):
        os.write(self.fd, text.encode())

    def expect(self, text: str, seconds: float = 20):
        """Reads until @text has come; what came before it is in `passed`."""
        end = time.monotonic() + seconds * time_scale()
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come, only {self.seen!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.passed, _, self.seen = self.seen.partition(text)

    def end(self) -> int:
        with contextlib.suppress(OSError):
            while part := os.read(self.fd, 65536):
                self.seen += part.decode(errors="replace")
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
