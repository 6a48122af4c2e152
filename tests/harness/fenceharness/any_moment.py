# SPDX-License-Identifier: MIT
"""Programs that are killed at a random moment of their work, on machines fast and slow."""

import os
import random
import signal
import subprocess
import time


class AnyMoment:
    """Kills runs of a program at moments spread over its whole life, however long that is here.

    The moment is drawn from 0 to `span` seconds. The span follows what happens: a run that was over before its
    moment makes it shorter, one that was cut off makes it longer, so about two of three are cut off.
    """

    def __init__(self, seed: int):
        self._rng = random.Random(seed)
        self._span = 0.05
        self.runs = self.cut = 0

    def kill(self, *args) -> bool:
        """Runs @args, kills it; whether it had not ended by itself."""
        process = subprocess.Popen(
            list(map(os.fspath, args)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(self._rng.uniform(0, self._span))  # waits for nothing: any moment will do
        process.kill()
        was_cut = process.wait() == -signal.SIGKILL
        self._span *= 1.15 if was_cut else 0.75
        self.runs += 1
        self.cut += was_cut
        return was_cut

    def check(self):
        """That the program was met at work, not only before or after it."""
        assert self.cut * 4 >= self.runs, f"only {self.cut} of {self.runs} were cut off"
        assert self.cut < self.runs, f"none of {self.runs} came to its end"
