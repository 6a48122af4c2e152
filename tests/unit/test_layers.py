# SPDX-License-Identifier: MIT
"""Upper layers call lower ones, never the reverse: tests/unit/check-layers, as meson calls it."""

import pytest
from fenceharness import run
from fenceharness.unit_tests import meson_test


@pytest.mark.parametrize("name", ["layers", "layers-selftest"])
@pytest.mark.timeout(300)
def test_layers(name):
    test = meson_test(name)
    done = run(*test["cmd"], rc=None, env=test["env"], timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
