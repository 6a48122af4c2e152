# SPDX-License-Identifier: MIT
"""The random walk of tests/model, on a real mount.

A failure prints how to have it again:
    FENCE_MODEL_SEED=… FENCE_MODEL_OPS=… [FENCE_MODEL_SKIP=…] tests/run model:again
and tests/model/shrink finds out which of the operations are needed for it.
"""

import os
import time

import pytest
from fencemodel import Walk, numbers

OPERATIONS = 50000
# The same walks each time, so that a failure is one of the change under test;
# FENCE_MODEL_SEED_BASE=random looks for new ones.
SEED_BASE = os.environ.get("FENCE_MODEL_SEED_BASE", "1")


def walk(mnt, seed: int, count: int):
    done = Walk(mnt, seed)
    print(f"seed {seed}")
    done.run(count)
    print(f"{count} operations, {done.refused} of them refused; {done.count}")
    assert done.count["commits"] > count // 2000 and done.count["kills"] >= count // 50000, done.count


@pytest.mark.timeout(300)
@pytest.mark.mount_options("passthrough=on", "passthrough=off")
@pytest.mark.parametrize("part", [1, 2])
def test_random_operations(mnt, part):
    base = time.time_ns() % 1000000 if SEED_BASE == "random" else int(SEED_BASE)
    walk(mnt, base * 10 + part, OPERATIONS)


@pytest.mark.timeout(600)
@pytest.mark.mount_options(os.environ.get("FENCE_MODEL_OPTIONS", "passthrough=on"))
def test_again(mnt):
    """Only when it is asked for, with a seed."""
    if "FENCE_MODEL_SEED" not in os.environ:
        return
    left_out = numbers.parse(os.environ.get("FENCE_MODEL_SKIP", ""))
    count = int(os.environ.get("FENCE_MODEL_OPS", OPERATIONS))
    Walk(mnt, int(os.environ["FENCE_MODEL_SEED"]), left_out).run(count)
