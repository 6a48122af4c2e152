# SPDX-License-Identifier: MIT
"""The service, fstab and the examples under systemd itself: on a system that is booted for it."""

import os
import re
import shutil

import pytest
from fenceharness import *
from fencelib.debian_boot import run_booted
from fencelib.debian_root import DebianRoot

HEAD = """
PATH=/usr/local/sbin:/usr/local/bin:$PATH
fence init /srv/store
holder() { cut -d ' ' -f 1 /srv/store/lock; }
until_true() { until "$@"; do sleep 0.05; done; } # the test has its own end of patience
is() { [ "$(systemctl show --value --property "$2" "$1")" = "$3" ]; }
# The process first: between its end and the next one's start there is none, 0, in whatever state.
is_another() {
    now=$(systemctl show --value --property MainPID "$1")
    [ "$now" != 0 ] && [ "$now" != "$2" ] && is "$1" ActiveState active
}
source_of() { findmnt -n -t fuse.fencefs -o SOURCE "$1"; }
dead() { ! stat -f "$1"; }
put() { echo "put path=f token=1 size=0" >"$1/.fence/ctl"; }
"""


def libraries(program) -> list[str]:
    return re.findall(r"(?:=> )?(/\S+) \(0x", run("ldd", program).stdout)


def system(tmp) -> DebianRoot:
    """With this build in /usr/local, and the helper where mount(8) looks for it."""
    root = DebianRoot(tmp / "root", ["systemd", "mount"])
    run("meson", "install", "-C", build_dir(), "--destdir", root.path, "--no-rebuild", "--skip-subprojects")
    for program in (fencefs_program(), fence_program()):
        for library in libraries(program):
            target = root / library.lstrip("/")
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, target)
    (root / "usr/sbin/mount.fencefs").symlink_to("/usr/local/sbin/mount.fencefs")
    root.run("ldconfig")
    return root


SERVICE = r"""
unit=fencefs@mnt.service
mkdir -p /etc/fencefs
echo STORE=/srv/store >/etc/fencefs/mnt.conf
systemctl start $unit
source_of /mnt
systemctl show --value --property StatusText $unit
put /mnt

kill -9 $(systemctl show --value --property MainPID $unit)
until_true is $unit NRestarts 1
until_true is $unit ActiveState active
ls /mnt

mkdir -p /run/systemd/system/$unit.d
printf '[Service]\nWatchdogSec=10s\n' >/run/systemd/system/$unit.d/soon.conf
systemctl daemon-reload
systemctl restart $unit
stopped=$(systemctl show --value --property MainPID $unit)
kill -STOP $stopped
until_true is_another $unit $stopped
ls /mnt

systemctl stop $unit
systemctl show --value --property Result $unit
! source_of /mnt
systemctl start $unit
umount /mnt
until_true is $unit ActiveState inactive
systemctl show --value --property Result $unit
systemctl start $unit
systemctl start fencefs-gc@mnt.service fencefs-scrub@mnt.service
systemctl start fencefs-gc@mnt.timer fencefs-scrub@mnt.timer
ls /mnt
systemctl stop $unit
"""


@pytest.mark.timeout(300)
def test_the_service(tmp):
    """It is told READY, heals after kill -9, is watched, and ends with its mount."""
    said = run_booted(system(tmp), HEAD + SERVICE)
    assert said == ["/srv/store", "mounted at /mnt", "f", "f", "success", "success", "f"], said


FSTAB = r"""
marked() { [ "$HEALER" != "mount -a" ] || [ "$(source_of /mnt)" = dead:/srv/store ]; }
echo '/srv/store /mnt fencefs nofail,x-systemd.automount 0 0' >/etc/fstab
systemctl daemon-reload
systemctl start mnt.automount
is mnt.mount ActiveState inactive
ls /mnt
source_of /mnt
put /mnt

kill -9 $(holder)
until_true dead /mnt
systemctl restart mnt.mount
ls /mnt
kill -9 $(holder)
until_true dead /mnt
until_true marked
$HEALER
ls /mnt
mount -a
[ "$(source_of /mnt | wc -l)" = 1 ]

systemctl stop mnt.automount mnt.mount
! source_of /mnt
"""


@pytest.mark.timeout(300)
def test_the_line_in_fstab(tmp):
    """As it is documented: mounted by the first who looks at it."""
    release = re.findall(r"\d+", os.uname().release)
    healer = "mount -a" if (int(release[0]), int(release[1])) >= (6, 5) else "mount /mnt"
    said = run_booted(system(tmp), HEAD + f'HEALER="{healer}"\n' + FSTAB)
    assert said == ["/srv/store", "f", "f"], said


EXAMPLES = r"""
mkdir -p /mnt/shared
for name in mnt-shared.mount mnt-shared.automount; do
    cp /usr/local/share/doc/fencefs/examples/$name.example /etc/systemd/system/$name
done
mkdir -p /run/systemd/system/mnt-shared.automount.d
printf '[Automount]\nTimeoutIdleSec=1s\n' >/run/systemd/system/mnt-shared.automount.d/soon.conf
systemctl daemon-reload
systemctl start mnt-shared.mount
source_of /mnt/shared
systemctl stop mnt-shared.mount
! source_of /mnt/shared
systemctl start mnt-shared.automount
for round in 1 2; do
    ls /mnt/shared
    source_of /mnt/shared
    until_true is mnt-shared.mount ActiveState inactive # nobody uses it any more
done
systemctl stop mnt-shared.automount
"""


@pytest.mark.timeout(300)
def test_the_examples(tmp):
    said = run_booted(system(tmp), HEAD + EXAMPLES)
    assert said == ["/srv/store"] * 3, said
