# SPDX-License-Identifier: MIT
"""What a test's arguments name, made in the test's own process and its own directory."""

import pytest

from . import mount
from .ctl import Ctl
from .paths import private_dir


@pytest.fixture
def tmp():
    """An empty directory on a real file system."""
    path = private_dir() / "tmp"
    path.mkdir()
    return path


@pytest.fixture
def store():
    """A new Store, not mounted."""
    return mount.Store(private_dir() / "store")


@pytest.fixture
def mount_option(request):
    """The -o string of the mark "mount_options" that this run of the test is for, or None."""
    return getattr(request, "param", None)


@pytest.fixture
def mnt(store, mount_option):
    """`store`, mounted: a Mount. After a test that passed it must end cleanly; see supervisor.finish()."""
    path = private_dir() / "mnt"
    path.mkdir()
    options = mount_option.split(",") if mount_option else []
    return mount.Mount(store, *options, mountpoint=path).start()


@pytest.fixture
def ctl(mnt):
    """A conversation on `mnt`. Closed by the plugin: after a failure its close could wait for ever."""
    return Ctl(mnt)
