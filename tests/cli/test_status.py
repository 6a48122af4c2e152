# SPDX-License-Identifier: MIT
"""fence status and fence metrics: for people, for monitors, and when the mount is dead or hangs."""

import os
import re
import shutil

import pytest
from fenceharness import *
from fenceharness.exposition import parse, values
from fencelib.tracing import injecting

UP = "# HELP fencefs_up Whether the mount answers; if it does not, fence metrics writes 0.\n# TYPE fencefs_up gauge\n"


def put(mnt, path, data, token):
    with mnt.ctl() as ctl:
        ctl.expect_ok("put", data, path=path, token=token, size=len(data))


def check(mnt, rc=0, *options, **more) -> str:
    done = fence("status", "--check", *options, mnt, rc=rc, **more)
    assert done.err == "" and done.out.count("\n") == 1, done
    return done.out[:-1]


def down(mount) -> str:
    return f'{UP}fencefs_up{{mount="{mount}"}} 0\n'


# ----------------------------------------------------------------------------------------- for people


def test_status_is_the_file(mnt):
    put(mnt, "a", b"x", 5)
    assert fence("status", mnt.path).out.splitlines()[:6] == (
        (mnt / ".fence/status").read_text().splitlines()[:6]
    )
    lines = dict(
        line.split(maxsplit=1) for line in fence("status", mnt.path).lines if line[0] != " "
    )
    assert lines["store"] == str(mnt.store.path) and lines["mount"] == str(mnt.path)
    assert re.fullmatch(r"1, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, 1 change", lines["revision"])
    assert f"pid {mnt.pid}" in lines["serving"]
    assert (lines["commits"], lines["sessions"]) == ("1 done, 0 refused, 0 failed", "0 open")
    assert (lines["leases"], lines["refused"]) == ("0 held, 0 waiting", "nothing")
    assert lines["health"] == "ok"


@pytest.mark.mount_options("passthrough=on", "passthrough=off")
def test_status_tells_who_reads_content(mnt):
    said = fence("status", mnt.path).out
    assert ("by the kernel" in said) == ("passthrough=on" in mnt.options), said


def test_a_path_in_the_mount_will_do(mnt):
    put(mnt, "d", b"x", 5)
    first = fence("status", mnt.path).lines[:4]
    assert fence("status", mnt / "d").lines[:4] == first
    assert fence("status", cwd=mnt.path).lines[:4] == first
    assert fence("metrics", cwd=mnt.path).out.startswith(f'{UP}fencefs_up{{mount="{mnt.path}"}} 1\n')


# --------------------------------------------------------------------------------------- for monitors


def test_check_when_all_is_well(mnt):
    put(mnt, "a", b"x", 5)
    with mnt.ctl() as ctl:
        ctl.expect_ok("acquire", path="b", ttl="1h")
        line = check(mnt.path)
    assert check(mnt.path, uid=4001).startswith(f"FENCEFS OK: {mnt.path} | ")
    head, _, numbers = line.partition(" | ")
    assert head == f"FENCEFS OK: {mnt.path}"
    found = dict(part.split("=") for part in numbers.split())
    assert (found["revision"], found["sessions"], found["leases"]) == ("1c", "0", "1")
    assert found["wal"].endswith("B") and found["free"].endswith("B")


def test_check_of_damage(mnt):
    put(mnt, "a", b"x" * 50_000, 5)
    (blob,) = (path.name for path in mnt.store.blobs() if len(path.name) == 32)
    with mnt.ctl() as ctl:
        ctl.expect_ok("damaged", blob=blob)
        assert check(mnt.path, 20).startswith(f"FENCEFS CRITICAL: {mnt.path}: damaged content | ")
        found = fence("status", "--check", "--json", mnt.path, rc=20).json()
        assert found["problems"] == [{"problem": "damaged_content", "severity": "critical"}]
        assert found["health"] == "critical" and found["error"] is None
        fence("status", "--json", mnt.path)  # it could be asked
        fence("status", mnt.path)
        ctl.expect_ok("damaged", blob=blob, good=1)
    check(mnt.path)


def test_check_of_a_store_that_is_read_only(tmp, mnt):
    """The fsync of a commit fails once: from then on nothing is written, and that is said."""
    mnt.allow_log("database:|read-only|unknown")
    with injecting(mnt, tmp / "strace", "fdatasync,fsync", "error=EIO"), mnt.ctl() as ctl:
        assert not ctl.request("put path=a token=5 size=1", b"x").ok
    what = "read only after write error"
    assert check(mnt.path, 20).startswith(f"FENCEFS CRITICAL: {mnt.path}: {what} | ")
    assert "CRITICAL read_only_after_write_error" in fence("status", mnt.path).out
    failed = values((mnt / ".fence/metrics").read_text())
    ended = {k: v for k, v in failed.items() if k.startswith("fencefs_commits_total") and v}
    assert sum(ended.values()) == 1 and "committed" not in str(ended), ended


def test_check_of_a_disk_that_fills_up(tmp):
    with loop_fs("ext4", "64M") as disk:
        store = Store(disk / "store")
        mnt = store.mount()
        check(mnt.path)
        state = os.statvfs(disk.path)
        total, free = state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize

        def leave(percent):
            with open(disk / "ballast", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, free - int(total * percent / 100))

        leave(3)
        assert ": disk nearly full | " in check(mnt.path, 1)
        assert "WARNING  disk_nearly_full" in fence("status", mnt.path).out
        (disk / "ballast").unlink()
        leave(0.5)
        assert ": disk full | " in check(mnt.path, 20)
        (disk / "ballast").unlink()
        check(mnt.path)
        mnt.unmount()


def test_check_of_a_quota(mnt):
    with mnt.ctl() as ctl:
        ctl.expect_ok("policy", max_size=100_000)
        put(mnt, "a", b"x" * 90_000, 5)
        check(mnt.path)
        put(mnt, "b", b"x" * 6_000, 5)
        assert ": quota nearly reached | " in check(mnt.path, 1)
        now = values((mnt / ".fence/metrics").read_text())
        assert (now["fencefs_quota_bytes"], now["fencefs_quota_used_bytes"]) == (100_000, 96_000)
        assert re.search(r"^ +quota +94 KiB of 98 KiB used$", fence("status", mnt).out, re.M)
        ctl.expect_ok("policy", max_size=0)
    check(mnt.path)


def test_check_of_a_gc_that_failed(tmp, mnt):
    mnt.allow_log("gc:")
    put(mnt, "a", b"x" * 50_000, 5)
    with injecting(mnt, tmp / "strace", "getdents64", "error=EIO"):
        assert fence("gc", mnt, rc=None).rc != 0
    assert ": gc failed | " in check(mnt.path, 1)
    assert values((mnt / ".fence/metrics").read_text())['fencefs_gc_runs_total{result="failed"}'] == 1
    fence("gc", mnt)
    check(mnt.path)


def test_check_of_a_restored_database(store, tmp):
    mnt = store.mount()
    put(mnt, "a", b"x", 5)
    mnt.unmount()
    shutil.copy(store.path / "meta.db", tmp / "older")
    mnt.start()
    put(mnt, "b", b"x" * 50_000, 5)
    mnt.unmount()
    shutil.copy(tmp / "older", store.path / "meta.db")
    mnt.start()
    assert ": store restored from older copy | " in check(mnt.path, 1)
    fence("gc", "--after-restore", "--grace", "0", mnt)
    check(mnt.path)


def test_json(mnt):
    put(mnt, "a", b"x", 5)
    found = fence("status", "--json", mnt.path).json()
    assert (found["mount"], found["health"], found["error"]) == (str(mnt.path), "ok", None)
    assert found["problems"] == []
    assert found["metrics"]['fencefs_commits_total{by="put",result="committed"}'] == 1
    now = set(values((mnt / ".fence/metrics").read_text()))
    assert {key for key in now ^ set(found["metrics"]) if "fencefs_contents" not in key} == set()


# ---------------------------------------------------------------------------------- metrics in a file


def test_textfile(mnt, tmp):
    file = tmp / "out" / "shared.prom"
    file.parent.mkdir()
    fence("metrics", "--textfile", file, mnt.path)
    assert file.stat().st_mode & 0o7777 == 0o644
    families = parse(file.read_text())
    assert all(
        labels["mount"] == str(mnt.path) for f in families.values() for labels in f.labels.values()
    )
    assert families["fencefs_up"].samples == {f'fencefs_up{{mount="{mnt.path}"}}': 1}
    one = fence("metrics", mnt.path).out
    assert set(parse(one)) == set(families)
    assert os.listdir(file.parent) == ["shared.prom"]


def test_textfile_is_replaced_whole(mnt, tmp):
    """The old file is another inode, which stays readable for whoever has it open."""
    file = tmp / "shared.prom"
    file.write_text("old\n")
    with open(file) as old:
        fence("metrics", "--textfile", file, mnt.path)
        assert old.read() == "old\n"
    assert parse(file.read_text())


def test_textfile_that_cannot_be_written(mnt, tmp):
    where = tmp / "dir"
    where.mkdir()
    (where / "sub").mkdir()
    done = fence("metrics", "--textfile", where / "sub", mnt.path, rc=1)
    assert done.err == f"fence: metrics {where}/sub: Is a directory; the old file is unchanged\n"
    assert os.listdir(where) == ["sub"]
    done = fence("metrics", "--textfile", tmp / "none/x", mnt.path, rc=1)
    assert done.err == f"fence: metrics {tmp}/none/x: No such file or directory; the old file is unchanged\n"
    with loop_fs("ext4", "16M") as disk:
        file = disk / "shared.prom"
        file.write_text("old\n")
        with open(disk / "ballast", "wb") as ballast:
            state = os.statvfs(disk.path)
            os.posix_fallocate(ballast.fileno(), 0, state.f_bavail * state.f_frsize)
        done = fence("metrics", "--textfile", file, mnt.path, rc=1)
        assert done.err == f"fence: metrics {file}: No space left on device; the old file is unchanged\n"
        assert file.read_text() == "old\n"
        assert {"shared.prom", "ballast"} <= set(os.listdir(disk.path))
        assert not [name for name in os.listdir(disk.path) if name.endswith(".tmp")]


def test_a_mount_point_with_odd_characters(store, tmp):
    point = tmp / 'a "b" \\ c'
    point.mkdir()
    mnt = Mount(store, mountpoint=point).start()
    families = parse(fence("metrics", point).out)
    assert families["fencefs_up"].labels.popitem()[1] == {"mount": str(point)}
    mnt.unmount()


# -------------------------------------------------------------------------- when there is no answer


def test_nothing_is_mounted(tmp):
    here = tmp / "here"
    here.mkdir()
    assert check(here, 10) == f"FENCEFS CRITICAL: {here}: not in a fencefs mount"
    done = fence("metrics", here, rc=10)
    assert (done.out, done.err) == (
        down(here),
        f"fence: metrics {here}: not in a fencefs mount\n",
    )
    file = tmp / "x.prom"
    file.write_text("old\n")
    fence("metrics", "--textfile", file, here, rc=10)
    assert file.read_text() == down(here)
    assert fence("status", here, rc=10).err == f"fence: status {here}: not in a fencefs mount\n"
    found = fence("status", "--json", here, rc=10).json()
    assert found["error"] == "not in a fencefs mount" and found["metrics"] == {}


def test_the_daemon_is_gone(mnt, tmp):
    mnt.kill()
    gone = "the daemon of this mount is gone; mount it again"
    assert check(mnt.path, 10) == f"FENCEFS CRITICAL: {mnt.path}: {gone}"
    assert fence("status", mnt.path, rc=10).err == f"fence: status {mnt.path}: {gone}\n"
    file = tmp / "x.prom"
    assert fence("metrics", "--textfile", file, mnt.path, rc=1).out == ""
    assert file.read_text() == down(mnt.path)


@pytest.mark.parametrize("before", ["nothing", "status"])
def test_the_daemon_hangs(mnt, tmp, before):
    """Stopped, so that it answers nothing: the monitor is told in its time, and nobody stays behind."""
    if before == "status":
        fence("status", mnt.path)  # names and attributes are in the kernel's cache
    file = tmp / "x.prom"
    mnt.daemon.stop()
    try:
        late = "no answer within 0.3 s"
        assert check(mnt.path, 12, "--timeout", "300ms") == f"FENCEFS CRITICAL: {mnt.path}: {late}"
        options = ["--timeout", "300ms", "--textfile", file]
        assert fence("metrics", *options, mnt.path, rc=12).err == (
            f"fence: metrics {mnt.path}: {late}\n"
        )
        assert file.read_text() == down(mnt.path)
        assert fence("status", "--timeout=300ms", mnt.path, rc=12).err.endswith(f"{late}\n")
    finally:
        mnt.daemon.cont()
    wait_until(lambda: not mnt.users(), "all who asked to be gone")
    check(mnt.path)


def test_the_daemon_hangs_in_the_request(mnt, tmp):
    """It has taken the request and does not answer, so nothing can kill who waits: he is left behind."""
    with injecting(mnt, tmp / "strace", "fstatfs", "delay_enter=1000s"):
        for _ in range(2):
            late = f"FENCEFS CRITICAL: {mnt.path}: no answer within 0.3 s"
            assert check(mnt.path, 12, "--timeout=300ms") == late
        assert fence("metrics", "--timeout=300ms", mnt.path, rc=12).out == down(mnt.path)
    wait_until(lambda: not mnt.users(), "all who asked to be gone")
    check(mnt.path)


def test_who_has_it_open_reads_on_after_a_hang(mnt):
    with open(mnt / ".fence/metrics") as opened:
        mnt.daemon.stop()
        try:
            assert "no answer" in check(mnt.path, 12, "--timeout=200ms")
        finally:
            mnt.daemon.cont()
        assert parse(opened.read())


def test_bad_times():
    for verb in ("status", "metrics"):
        for bad in ("0", "-1s", "soon", ""):
            done = fence(verb, f"--timeout={bad}", "/", rc=2)
            assert done.err.splitlines()[0] == f'fence: {verb}: "{bad}" is not a time such as 5s'


# ------------------------------------------------------------------------------- what is written of it


def manual() -> str:
    text = (source_dir() / "mount-helpers/man/fencefs-monitoring.7.scd").read_text(encoding="utf-8")
    return text.replace("\\", "")


def test_manual_has_the_metrics(mnt):
    """Each as it is exported; what else is to be said of it comes behind."""
    known = [(f.name, f.type, f.help) for f in parse((mnt / ".fence/metrics").read_text()).values()]
    assert re.findall(r"^\*(fencefs_[a-z_]+)\* \(([a-z]+)\)\n\t(.*)$", manual(), re.M) == known


def test_manual_alerts_on_what_exists(mnt):
    known = parse((mnt / ".fence/metrics").read_text())
    names = {f.name + part for f in known.values() for part in ("", "_bucket", "_sum", "_count")}
    rules = re.findall(r"^      expr: (.*)$", manual(), re.M)
    assert len(rules) >= 3
    for rule in rules:
        used = re.findall(r"fencefs_[a-z_]+", rule)
        assert used and set(used) <= names, rule


def test_manual_has_the_problems(mnt):
    problems = {
        labels["problem"]
        for labels in parse((mnt / ".fence/metrics").read_text())["fencefs_problem"].labels.values()
    }
    assert problems == set(re.findall(r"^\*([a-z_]+)\* \((?:critical|warning)\)$", manual(), re.M))
