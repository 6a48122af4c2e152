# SPDX-License-Identifier: MIT
"""Real programs in a session: their result, here and once committed, is what it is on ext4."""

import contextlib
import filecmp
import os
import sqlite3
import stat

import pytest
from fenceharness import run
from fencelib.workspace import opened, pattern, workspace

pytestmark = pytest.mark.mount_options("passthrough=on", "passthrough=off")

ODD_NAMES = (
    b"two words",
    b"new\nline",
    b" lead and trail ",
    b"tab\tbed",
    "Übergröße-日本語".encode(),
    b"\xff\xfe not utf-8",
    b"-dash",
    b"quote'\"`$(x)",
    b"back\\slash",
    b"*?[glob]",
    b"n" * 255,
    b".hidden",
)


def describe(top, times: bool = True) -> dict:
    """{path: kind, mode, owner, content or target, mtime} of all beneath @top, symlinks not followed."""
    found = {}
    top = os.fsencode(top)
    for directory, names, files in os.walk(top):
        for name in [*names, *files, *([b"."] if directory == top else [])]:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            what: object = None
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    what = file.read()
            row = (oct(st.st_mode), st.st_uid, st.st_gid, what)
            found[os.path.relpath(path, top)] = row + ((st.st_mtime_ns,) if times else ())
    return found


def same(left: dict, right: dict, where: str = ""):
    for path in sorted({*left, *right}):
        if left.get(path) != right.get(path):
            show = [repr(side.get(path))[:300] for side in (left, right)]
            raise AssertionError(f"{where} {path!r} differs:\n  {show[0]}\n  {show[1]}")


def odd_tree(top):
    """A tree as it may come: odd names, links that dangle and loop, empty, large and sparse files."""
    top.mkdir()
    for i, name in enumerate(ODD_NAMES):
        directory = os.path.join(os.fsencode(top), name)
        os.mkdir(directory)
        for j, inner in enumerate(ODD_NAMES[: 4 + i % 3]):
            with open(os.path.join(directory, inner), "wb") as file:
                file.write(pattern(j * 5000 + i, i))
        os.symlink(name, os.path.join(os.fsencode(top), b"link-%d" % i))
    (top / "dangling").symlink_to("no/where")
    (top / "loop").symlink_to("loop")
    (top / "absolute").symlink_to("/etc/passwd")
    (top / "empty").write_bytes(b"")
    (top / "empty dir").mkdir()
    (top / "large").write_bytes(pattern(3000001))
    with open(top / "sparse", "wb") as file:
        file.write(b"start")
        file.truncate(8 << 20)
        file.seek(5 << 20)
        file.write(b"middle")
    for mode in (0o400, 0o755, 0o4755, 0o600, 0o2711):
        (top / f"mode{mode:o}").write_bytes(b"mode")
        os.chmod(top / f"mode{mode:o}", mode)
    os.chown(top / "empty", 12, 34)
    deep = top / "deep"
    for i in range(20):
        deep = deep / f"level{i}"
    deep.mkdir(parents=True)
    (deep / "bottom").write_bytes(b"bottom")
    for i, path in enumerate(sorted(top.rglob("*"), reverse=True)):  # what is in a directory comes before it
        os.utime(path, ns=(0, 10**18 + i * 1234567891), follow_symlinks=False)
    os.utime(top, ns=(0, 10**18))


def on_both(mnt, tmp, work, times: bool = True, check=None):
    """work(directory) on ext4 and in a session: the same there, and the same after the commit."""
    native = tmp / "native"
    native.mkdir()
    work(native)
    want = describe(native, times)
    with workspace(mnt) as ws:
        os.chmod(ws.path, stat.S_IMODE(os.stat(native).st_mode))
        work(ws.path)
        if times:
            os.utime(ws.path, ns=(os.stat(native).st_mtime_ns,) * 2)
        same(want, describe(ws.path, times), "in the session")
        if check:
            check(ws.path)
        ws.commit()
    same(want, describe(mnt / "w", times), "committed")
    if check:
        check(mnt / "w")


# -------------------------------------------------------------------------------------- copies of trees


def test_cp(mnt, tmp):
    odd_tree(tmp / "source")
    on_both(mnt, tmp, lambda top: run("cp", "-a", f"{tmp}/source/.", top))
    back = tmp / "back"
    run("cp", "-a", mnt / "w", back)
    same(describe(tmp / "source"), describe(back), "copied back")


def test_cp_within_a_session(mnt, tmp):
    """Also --reflink=always' refusal and the fall-back of mv over a file system's border."""
    odd_tree(tmp / "source")
    with workspace(mnt) as ws:
        run("cp", "-a", tmp / "source", ws / "one")
        run("cp", "-a", ws / "one", ws / "two")
        run("mv", ws / "one", ws / "three")
        run("cp", "-a", tmp / "source", tmp / "gone")
        run("mv", tmp / "gone", ws / "four")
        run("cp", "--reflink=auto", "--sparse=always", ws / "three/sparse", ws / "sparse")
        assert filecmp.cmp(ws / "sparse", tmp / "source/sparse", shallow=False)
        ws.commit()
    want = describe(tmp / "source")
    for name in ("two", "three", "four"):
        same(want, describe(mnt / "w" / name), name)
    assert not (mnt / "w/one").exists() and not (tmp / "gone").exists()


def test_system_headers(mnt, tmp):
    """Hundreds of real files, and diff to compare them."""
    run("cp", "-rL", "/usr/include/linux", tmp / "source")
    with workspace(mnt) as ws:
        run("cp", "-a", tmp / "source", ws / "linux")
        ws.commit()
    run("diff", "-r", tmp / "source", mnt / "w/linux")
    same(describe(tmp / "source"), describe(mnt / "w/linux"))


def test_tar(mnt, tmp):
    odd_tree(tmp / "source")
    run("tar", "-C", tmp / "source", "--format=posix", "-cf", tmp / "a.tar", ".")
    run("tar", "-C", tmp / "source", "-czSf", tmp / "sparse.tar.gz", ".")
    on_both(
        mnt,
        tmp,
        lambda top: run("tar", "-C", top, "-xpf", tmp / "a.tar"),
        check=lambda top: run("tar", "-C", top, "-df", tmp / "a.tar"),
    )
    with workspace(mnt, "x/") as ws:
        run("tar", "-C", ws.path, "-xpf", tmp / "sparse.tar.gz")
        assert os.stat(ws / "sparse").st_blocks * 512 < 4 << 20
        run("tar", "-C", ws.path, "--exclude=./out.tar", "-cf", ws / "out.tar", ".")
        assert b"level19/bottom" in (ws / "out.tar").read_bytes()
        ws.commit()


def test_tar_over_what_is_there(mnt, tmp):
    """Extracted again and again: each file replaced, then written anew, then made after its directory was removed."""
    odd_tree(tmp / "source")
    run("tar", "-C", tmp / "source", "--format=posix", "-cf", tmp / "a.tar", ".")
    for options in ([], ["--overwrite"], ["--recursive-unlink"]):
        with workspace(mnt) as ws:
            run("tar", "-C", ws.path, *options, "-xpf", tmp / "a.tar")
            ws.commit()
        # Not the source: with --overwrite tar's fchown(2) takes a setgid bit away, on ext4 too.
        (tmp / "native").mkdir(exist_ok=True)
        run("tar", "-C", tmp / "native", *options, "-xpf", tmp / "a.tar")
        want, got = describe(tmp / "native"), describe(mnt / "w")
        if "--recursive-unlink" in options:  # tar makes the top no more than before, and leaves its time
            del want[b"."], got[b"."]
        same(want, got, str(options))


def test_rsync(mnt, tmp):
    source = tmp / "source"
    odd_tree(source)
    changes = ["rsync", "-aX", "--delete", "--itemize-changes"]
    with workspace(mnt) as ws:
        assert run(*changes, f"{source}/", f"{ws.path}/").stdout
        assert run(*changes, f"{source}/", f"{ws.path}/").stdout == ""
        assert run(*changes, "--checksum", f"{source}/", f"{ws.path}/").stdout == ""
        same(describe(source), describe(ws.path), "in the session")
        ws.commit()
    same(describe(source), describe(mnt / "w"))
    assert run(*changes, "--dry-run", "--checksum", f"{source}/", f"{mnt.path}/w/").stdout == ""
    with workspace(mnt) as ws:  # a session in which rsync changes nothing commits nothing
        assert run(*changes, f"{source}/", f"{ws.path}/").stdout == ""
        reply = ws.commit()
        assert reply["changed"] == "0", reply.raw
        revision = reply.int("revision")
    (source / "large").write_bytes(pattern(3000001)[:-1] + b"!")
    (source / "loop").unlink()
    (source / "empty").rename(source / "renamed")
    before = os.stat(mnt / "w/sparse").st_ino
    for i, options in enumerate(([], ["--inplace"], ["--no-whole-file"], ["--inplace", "--no-whole-file"])):
        (source / "mode755").write_bytes(pattern(50000, i))
        for path in (source / "mode755", source):
            os.utime(path, ns=(0, 2 * 10**18 + i * 10**9))
        with workspace(mnt) as ws:
            assert "mode755" in run(*changes, *options, f"{source}/", f"{ws.path}/").stdout
            assert run(*changes, f"{source}/", f"{ws.path}/").stdout == ""
            assert ws.commit().int("revision") > revision
        same(describe(source), describe(mnt / "w"))
    assert os.stat(mnt / "w/sparse").st_ino == before  # what rsync left alone is the version it was


# -------------------------------------------------------------------------------------------------- git

GIT = dict(
    GIT_AUTHOR_DATE="2001-02-03T04:05:06Z",
    GIT_COMMITTER_DATE="2001-02-03T04:05:06Z",
    GIT_AUTHOR_NAME="A",
    GIT_AUTHOR_EMAIL="a@example.org",
    GIT_COMMITTER_NAME="A",
    GIT_COMMITTER_EMAIL="a@example.org",
    GIT_CONFIG_GLOBAL="/dev/null",
    GIT_CONFIG_SYSTEM="/dev/null",
)


def git(top, *args) -> str:
    return run("git", "-C", top, "-c", f"safe.directory={top}", *args, env=GIT).stdout


def git_history(top):
    git(top, "init", "-q", "-b", "main")
    for number in range(5):
        for i in range(20):
            (top / f"file{i}").write_bytes(pattern(2000 * i + number, number * i))
        (top / f"dir{number}").mkdir()
        (top / f"dir{number}/inner").write_text(f"{number}\n")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", f"commit {number}")
    git(top, "branch", "side", "HEAD~2")
    git(top, "gc", "-q", "--prune=now")
    git(top, "checkout", "-q", "side")
    git(top, "mv", "file3", "dir0/moved")
    git(top, "commit", "-q", "-am", "moved")
    git(top, "merge", "-q", "-m", "merged", "main")
    git(top, "stash", "list")
    git(top, "reset", "-q", "--hard")


def git_state(top) -> str:
    out = git(top, "fsck", "--full", "--strict") + git(top, "log", "--graph", "--all", "--format=%H %T %s")
    return out + git(top, "--no-optional-locks", "status", "--porcelain") + git(top, "count-objects").split(",")[0]


def test_git(mnt, tmp):
    (tmp / "native").mkdir()
    git_history(tmp / "native")
    with workspace(mnt) as ws:
        git_history(ws.path)
        assert git_state(ws.path) == git_state(tmp / "native")
        ws.commit()
    assert git_state(mnt / "w") == git_state(tmp / "native")
    for name in ("file0", "file19", "dir0", "dir4"):
        run("diff", "-r", tmp / "native" / name, mnt / "w" / name)
    with workspace(mnt) as ws:  # the committed repository goes on in the next session
        (ws / "file0").write_text("more\n")
        git(ws.path, "commit", "-q", "-am", "in another session")
        git(ws.path, "gc", "-q", "--aggressive", "--prune=now")
        assert git(ws.path, "status", "--porcelain") == ""
        ws.commit()
    git(mnt / "w", "fsck", "--full", "--strict")
    run("git", "-c", f"safe.directory={mnt.path}/w/.git", "clone", "-q", f"{mnt.path}/w", tmp / "clone", env=GIT)
    assert (tmp / "clone/file0").read_text() == "more\n"


# ----------------------------------------------------------------------------------------------- sqlite


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_sqlite(mnt, tmp, mode):
    def fill(path):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            assert db.execute(f"PRAGMA journal_mode={mode}").fetchone() == (mode,)
            db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
            for number in range(20):
                db.execute("BEGIN IMMEDIATE")
                db.executemany(
                    "INSERT INTO t(v) VALUES (?)", [(pattern(number * 37 + i, i),) for i in range(50)]
                )
                db.execute("ROLLBACK" if number % 5 == 4 else "COMMIT")
            db.execute("UPDATE t SET v = CAST(v || v AS BLOB) WHERE id % 3 = 0")
            db.execute("DELETE FROM t WHERE id % 7 = 0")
            db.execute("VACUUM")
            if mode == "wal":  # a second connection, with the first one's shared memory
                with contextlib.closing(sqlite3.connect(path)) as reader:
                    assert reader.execute("SELECT count(*) FROM t").fetchone()[0]
                    db.execute("DELETE FROM t WHERE id % 11 = 0")

    def dump(path, extra="") -> list:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro{extra}", uri=True)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return list(db.iterdump())

    fill(tmp / "db")
    with workspace(mnt) as ws:
        fill(ws / "db")
        assert dump(ws / "db") == dump(tmp / "db")
        ws.commit()
    assert dump(mnt / "w/db", "&immutable=1") == dump(tmp / "db")
    with workspace(mnt) as ws:  # the program sqlite3 on the committed database
        run("sqlite3", ws / "db", "INSERT INTO t(v) VALUES ('x'); PRAGMA wal_checkpoint(TRUNCATE);")
        ws.commit()
    assert len(dump(mnt / "w/db", "&immutable=1")) == len(dump(tmp / "db")) + 1


def test_sqlite_commit_with_an_open_wal(mnt):
    """A commit in the middle takes database and log together, as a crash would leave them."""
    with workspace(mnt) as ws:
        db = sqlite3.connect(ws / "db", isolation_level=None)
        db.execute("PRAGMA journal_mode=wal")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute("CREATE TABLE t(v)")
        for i in range(100):
            db.execute("INSERT INTO t VALUES (?)", (pattern(500, i),))
        ws.commit()
        with contextlib.suppress(sqlite3.Error):
            db.close()
    with workspace(mnt) as ws:
        with contextlib.closing(sqlite3.connect(ws / "db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("SELECT count(*) FROM t").fetchone() == (100,)


# --------------------------------------------------------------------------------- builds and editors


def sources(top):
    (top / "src").mkdir()
    calls = []
    for i in range(12):
        (top / f"src/part{i}.c").write_text(f'#include "parts.h"\nint part{i}(int x) {{ return x * {i} + 1; }}\n')
        calls.append(f"part{i}({i})")
    (top / "src/parts.h").write_text("".join(f"int part{i}(int);\n" for i in range(12)))
    (top / "src/main.c").write_text(
        '#include <stdio.h>\n#include "parts.h"\n'
        f'int main(void) {{ printf("%d\\n", {" + ".join(calls)}); return 0; }}\n'
    )
    (top / "build.sh").write_text(
        "set -e\n"
        "for c in src/*.c; do gcc -O1 -g0 -MMD -c $c -o ${c%.c}.o; done\n"
        "ar rcsD libparts.a src/part*.o\n"
        "gcc -o program src/main.o -L. -lparts\n"
        "gcc -shared -fPIC -g0 -o libone.so src/part1.c\n"
        "strip -o stripped program\n"
        "./program > output\n"
    )


def build(top):
    sources(top)
    run("sh", "build.sh", cwd=top)


def test_gcc(mnt, tmp):
    want = str(sum(i * i + 1 for i in range(12)))
    on_both(
        mnt, tmp, build, times=False, check=lambda top: run(top / "stripped").stdout.strip() == want or 1 / 0
    )
    with workspace(mnt) as ws:  # built again over the committed objects
        run("sh", "build.sh", cwd=ws.path)
        assert (ws / "output").read_text().strip() == want
        ws.commit()
    assert run(mnt / "w/program").stdout.strip() == want


def test_sed(mnt, tmp):
    def edit(top):
        for i in range(10):
            (top / f"f{i}").write_text("one two three\n" * (i * 500 + 1))
            os.chmod(top / f"f{i}", 0o600 + i)
        (top / "link").symlink_to("f3")
        files = [top / f"f{i}" for i in range(9)]
        run("sed", "-i", "s/two/2/", *files)
        run("sed", "-i.bak", "s/three/3/", top / "f9")
        run("sed", "-i", "--follow-symlinks", "s/one/1/", top / "link")

    on_both(mnt, tmp, edit, times=False)
    with workspace(mnt) as ws:
        run("sed", "-i", "s/one/again/", ws / "f0", ws / "f8")
        ws.commit()
    assert (mnt / "w/f0").read_text() == "again 2 three\n"
    assert (mnt / "w/f8").read_text() == "again 2 three\n" * 4001


def save_by_rename(path, text: bytes):
    """As editors do that keep the old file until the new one is on the disk."""
    temporary = path.with_name(f".{path.name}.tmp")
    with opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) as fd:
        os.write(fd, text)
        old = os.stat(path)
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
        os.fchown(fd, old.st_uid, old.st_gid)
        os.fsync(fd)
    os.rename(temporary, path)
    with opened(path.parent, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)


def save_with_backup(path, text: bytes):
    """As vi does it: the old file moves to NAME~, the new one is written in its place, NAME~ goes."""
    backup = path.with_name(path.name + "~")
    old = os.stat(path)
    os.rename(path, backup)
    with opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(old.st_mode)) as fd:
        os.write(fd, text)
        os.fsync(fd)
        os.fchmod(fd, stat.S_IMODE(old.st_mode))
    os.unlink(backup)


def save_in_place(path, text: bytes):
    with opened(path, os.O_WRONLY | os.O_TRUNC) as fd:
        os.write(fd, text)
        os.fsync(fd)


@pytest.mark.parametrize("save", [save_by_rename, save_with_backup, save_in_place])
def test_editors(mnt, tmp, save):
    def edit(top):
        for size in (10, 20000):
            path = top / f"f{size}"
            path.write_bytes(pattern(size))
            os.chmod(path, 0o640)
            for i in range(5):
                save(path, pattern(size, i) + b"%d\n" % i)

    on_both(mnt, tmp, edit, times=False)
    with workspace(mnt) as ws:
        for size in (10, 20000):
            save(ws / f"f{size}", b"of the next session")
        ws.commit()
    for size in (10, 20000):
        assert (mnt / "w" / f"f{size}").read_bytes() == b"of the next session"
        assert stat.S_IMODE(os.stat(mnt / "w" / f"f{size}").st_mode) == 0o640


SCRIPT = """
mkdir -p a/b/c && cd a
for i in 1 2 3 4 5; do echo $i >> log; done
cat > doc <<END
text
END
seq 10000 | sort -R --random-source=/dev/zero | sort -n > sorted
dd if=/dev/zero of=zeros bs=4096 count=10 status=none
dd if=sorted of=zeros bs=1 seek=100 count=50 conv=notrunc status=none
touch b/{x,y,z} b/c/x; find . -name x -delete
ls b | xargs -I@ cp -r log b/@.log
ln -s log link; cat link > copy; : > empty; truncate -s 12345 grown
tail -n 1 log | tee -a log copy > /dev/null
split -n 3 sorted part.; cat part.* | cmp - sorted
"""


def test_shell(mnt, tmp):
    """Redirections, appends, here documents, globs, find -delete, xargs, a pipe into a file, dd."""
    on_both(mnt, tmp, lambda top: run("bash", "-ec", SCRIPT, cwd=top), times=False)
