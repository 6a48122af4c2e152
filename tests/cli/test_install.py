# SPDX-License-Identifier: MIT
"""meson install: every file where it belongs, and none but ours."""

import json

import pytest
from fenceharness import *
from fencelib.install_table import INSTALLED, differences, on_disk, with_parents


def prefix() -> str:
    options = json.loads(run("meson", "introspect", "--buildoptions", build_dir()).stdout)
    return next(option["value"] for option in options if option["name"] == "prefix").lstrip("/")


@pytest.mark.timeout(180)
def test_destdir(tmp):
    """Also nothing of the libfuse that was built in: no header, no library, no fusermount3."""
    if not (build_dir() / "mount-helpers/man/fencefs.8").exists():
        pytest.skip("built without scdoc")
    install = ("meson", "install", "-C", build_dir(), "--no-rebuild", "--quiet")
    run(*install, env={"DESTDIR": str(tmp / "root")}, timeout=120)
    wanted = with_parents({f"{prefix()}/{name}": what for name, what in INSTALLED.items()})
    different = differences(wanted, on_disk(tmp / "root"))
    assert not different, different


@pytest.mark.timeout(180)
def test_programs_run_where_they_are_installed(tmp):
    install = ("meson", "install", "-C", build_dir(), "--no-rebuild", "--quiet")
    run(*install, env={"DESTDIR": str(tmp / "root")}, timeout=120)
    top = tmp / "root" / prefix()
    for name in ("fence", "fencefs"):
        assert run(top / "bin" / name, "--version").stdout.startswith(f"{name} ")
    for unit in (top / "lib/systemd/system").iterdir():
        text = unit.read_text(encoding="utf-8")
        assert "@BINDIR@" not in text, unit
        if "ExecStart=" in text:
            assert f"ExecStart=/{prefix()}/bin/fence" in text, unit
