# SPDX-License-Identifier: MIT
"""Counts tests, one verdict each whatever its phases say, for the last line of tests/run."""

import time
from collections import Counter

import pytest


class Count:
    """A plugin of the process that the user started."""

    def __init__(self, config):
        self._verdicts: dict[str, str] = {}
        self._kept: list[str] = []
        self._start = time.monotonic()
        self._is_run = not config.option.collectonly

    def pytest_runtest_logreport(self, report):
        self._kept += [f"{report.nodeid}: {value}" for name, value in report.user_properties if name == "kept"]
        before = self._verdicts.get(report.nodeid, "passed")
        if before == "passed":
            self._verdicts[report.nodeid] = report.outcome

    def pytest_collectreport(self, report):
        if report.failed:
            self._verdicts[report.nodeid] = "failed"

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter):
        if self._kept:
            terminalreporter.section("directories that were kept")
            for line in self._kept:
                terminalreporter.write_line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        if self._is_run:
            count = Counter(self._verdicts.values())
            print(f"total time: {time.monotonic() - self._start:.0f} s")
            print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
