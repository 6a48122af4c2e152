# SPDX-License-Identifier: MIT
"""The pytest plugin of this project's tests: what is collected, how it is run, and the count.

Every test runs in a child process under supervision (supervisor.py). Without xdist that is a child of
pytest itself, with xdist one of a worker.
"""

import contextlib
import os
import random

import pytest

from . import paths, selection, supervisor
from .count import Count
from .fixtures import *
from .unit_tests import UnitFile

MARKS = (
    "timeout(seconds): what the test may take instead of 60 s",
    "mount_options(*strings): run once with each, `mnt` being mounted with -o that string",
    "serial(name): never beside another test of that name",
)


def pytest_addoption(parser):
    group = parser.getgroup("fencefs")
    group.addoption("--suite", action="append", default=[], help="only this suite: " + ", ".join(selection.SUITES))
    group.addoption("--sanitized", action="store_true", help="by default only the suites that sanitizers are for")
    group.addoption("--keep", action="store_true", help="leave the directories of the tests")


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    os.environ.setdefault("FENCE_PERTURB", str(random.randint(1, 255)))
    config.pluginmanager.register(Selected(config), "fencefs-selected")
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(Count(config), "fencefs-count")
    os.environ["FENCE_BUILD"] = str(paths.build_dir())  # tests are at home elsewhere
    if not paths.build_dir().is_dir():
        raise pytest.UsageError(f"{paths.build_dir()} is not there: tests/run builds it")
    stack = contextlib.ExitStack()
    stack.enter_context(paths.programs_for_all())
    config.add_cleanup(stack.close)


def pytest_report_header():
    return f"FENCE_PERTURB={os.environ['FENCE_PERTURB']}"


# ------------------------------------------------------------------------------------- collecting


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and file_path.name.startswith("test-"):
        return UnitFile.from_parent(parent, path=file_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("mount_options")
    if mark and "mount_option" in metafunc.fixturenames:
        metafunc.parametrize("mount_option", mark.args, indirect=True)


class Selected:
    """What the command line names; and where a run with workers begins."""

    def __init__(self, config):
        self._names = selection.settle(config)

    def pytest_collection_modifyitems(self, config, items):
        selection.deselect(config, items, self._names)
        if hasattr(config, "workerinput"):
            items.sort(key=_urgency)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_finish(self, session):
        """To xdist's scheduler "@NAME" says which tests one worker runs one after the other."""
        items = session.items if hasattr(session.config, "workerinput") else []
        marks = [(item, item.get_closest_marker("serial")) for item in items]
        marked = [(item, item.nodeid, mark.args[0]) for item, mark in marks if mark]
        for item, nodeid, name in marked:
            item._nodeid = f"{nodeid}@{name}"
        yield
        for item, nodeid, _ in marked:
            item._nodeid = nodeid


def _urgency(item) -> tuple:
    """What takes long begins early, so that no worker is left with it alone at the end."""
    return not item.get_closest_marker("serial"), -min(supervisor.seconds_of(item), 1000)


# ---------------------------------------------------------------------------------------- running


@pytest.hookimpl(tryfirst=True)  # before xdist's, which has the last word
def pytest_runtestloop(session):
    if os.geteuid() != 0 and not session.config.option.collectonly:
        raise pytest.UsageError("these tests mount and unmount: run them as root")
    supervisor.prepare()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in supervisor.run(item):
        _forbid_skip(item, report)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _forbid_skip(item, report):
    """In CI a skip of what CI has is a failure."""
    if not report.skipped or os.environ.get("CI") != "true":
        return
    allowed = selection.may_skip(item.config.rootpath)
    if not {item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]} & set(allowed):
        report.when, report.outcome = "call", "failed"
        report.longrepr = f"skipped in CI, and tests/may-skip does not list it: {report.longrepr[2]}"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """The end of what a test has mounted belongs to the test: what goes wrong there is its failure."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with contextlib.chdir(paths.private_dir()):  # other users need not be able to go where pytest is
        pyfuncitem.obj(**arguments)
        supervisor.finish(pyfuncitem.funcargs.get("ctl"))
    return True
