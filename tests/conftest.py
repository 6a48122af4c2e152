# SPDX-License-Identifier: MIT
"""The plugin that runs these tests, and what asserts show of themselves when they fail."""

import pytest

pytest.register_assert_rewrite("fenceharness", "fencelib", "fencemodel")
pytest_plugins = ["fenceharness.plugin"]
