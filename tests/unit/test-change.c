/* SPDX-License-Identifier: MIT */
/* Changes of the tree: planned, checked against fences and conditions, applied. Unit test. */
#include "scratch.h"

#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/tree/revision.h"
#include "store/sqlite/txn.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int run(struct scratch *t, const struct commit_request *req, struct commit_result *out)
{
	int err;

	assert_int_equal(txn_savepoint(t->db), 0);
	err = change_commit(t->db, req, out);
	assert_int_equal(err ? txn_rollback_to(t->db) : txn_release(t->db), 0);
	assert_int_equal(out->refusal.err, -err);
	return err;
}

static struct commit_request request(const char *path, int64_t token, const struct change *c,
				     size_t n)
{
	return (struct commit_request){ .changes = c,
					.n_changes = n,
					.path = path,
					.token = token,
					.owner = "job",
					.seq = -1,
					.now_ns = 5000 };
}

static void claim(struct scratch *t, const char *path, int64_t token)
{
	struct refusal r;

	assert_int_equal(fence_claim(t->db, path, token, "holder", 7, &r), 0);
}

static struct entry must_find(struct scratch *t, const char *path)
{
	struct entry e;

	if (entry_resolve(t->db, path, ENTRY_NOW, &e) != 0)
		fail_msg("no %s", path);
	return e;
}

static void assert_refused(struct scratch *t, int64_t token, const struct change *c, size_t n,
			   int err, const char *path)
{
	struct commit_result out;

	assert_int_equal(scratch_commit(t, token, c, n, &out), -err);
	assert_int_equal(out.refusal.err, err);
	assert_string_equal(out.refusal.path, path);
	assert_true(strlen(out.refusal.text) > 0);
}

/* d (directory) with f in it, and e (directory). */
static void plant(struct scratch *t)
{
	const struct change c[] = {
		DIR_AT(1, "d", "d", -1),
		FILE_AT(-1, "f", "d/f"),
		DIR_AT(1, "e", "e", -2),
	};

	scratch_commit_ok(t, 1, c, COUNT(c));
}

static void writes_a_file(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "f", "f");
	const struct change_xattr x[] = { { "user.a", "1", 1 }, { "user.b", "", 0 } };
	struct entry_origin o;
	struct entry e;
	size_t len = 9;
	void *value;

	c.mode = 0100640;
	c.uid = 12;
	c.gid = UINT32_MAX;
	c.mtime = -5;
	c.xattrs = x;
	c.n_xattrs = 2;
	assert_int_equal(scratch_commit_ok(t, 3, &c, 1), 1);
	e = must_find(t, "f");
	assert_int_equal(e.mode, 0640);
	assert_int_equal(e.uid, 12);
	assert_int_equal(e.gid, UINT32_MAX);
	assert_int_equal(e.mtime, -5);
	assert_int_equal(e.seq, 1);
	assert_int_equal(e.born, 1);
	assert_int_equal(e.token, 3);
	assert_false(e.has_blob);
	assert_int_equal(entry_origin(t->db, e.row, &o), 0);
	assert_int_equal(o.at, 1000);
	assert_int_equal(o.revision, 1);
	assert_string_equal(o.owner, "tester");
	assert_string_equal(o.op, "");
	assert_int_equal(entry_xattr_get(t->db, e.row, "user.b", &value, &len), 0);
	assert_int_equal(len, 0);
	free(value);
	assert_int_equal(entry_xattr_get(t->db, e.row, "user.c", &value, &len), -ENODATA);

	assert_int_equal(scratch_commit_ok(t, 3, &c, 1), 2);
	assert_int_equal(must_find(t, "f").seq, 2);
	assert_int_equal(entry_version(t->db, "f", 1, &e), 0);
	assert_int_equal(e.died, 2);
	assert_int_equal(entry_version(t->db, "f", 3, &e), -ENOENT);
}

static void keeps_symlinks(void **state)
{
	struct scratch *t = *state;
	struct change c = {
		.kind = CHANGE_SYMLINK, .dir = 1, .name = "l", .path = "l", .target = "../x y"
	};
	char *target;

	scratch_commit_ok(t, 0, &c, 1);
	assert_int_equal(must_find(t, "l").kind, ENTRY_SYMLINK);
	assert_int_equal(must_find(t, "l").size, 6);
	assert_int_equal(entry_target(t->db, must_find(t, "l").row, &target), 0);
	assert_string_equal(target, "../x y");
	free(target);
	assert_int_equal(entry_target(t->db, 1, &target), -ENOENT);
}

static void adopts_content(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = { { 7 } };
	struct blob_hash hash;
	struct change c = FILE_AT(1, "f", "f");

	c.has_blob = true;
	c.blob = id;
	c.size = 5;
	assert_refused(t, 1, &c, 1, ENOENT, "f"); /* no such blob */
	hash_buf("hello", 5, &hash);
	assert_int_equal(blob_insert(t->db, &id, 5, &hash, "hello"), 0);
	assert_int_equal(garbage_mark(t->db, &id, 1), 0);
	scratch_commit_ok(t, 1, &c, 1);
	assert_true(must_find(t, "f").has_blob);
	{
		auto_stmt struct stmt *st = NULL;

		assert_int_equal(db_stmt(t->db, "SELECT count(*) FROM garbage", &st), 0);
		assert_int_equal(stmt_step(st), 1);
		assert_int_equal(stmt_get_int(st, 0), 0);
	}
	c.size = 6;
	{
		struct commit_result out;

		assert_int_equal(scratch_commit(t, 1, &c, 1, &out), -EINVAL);
		assert_int_equal(out.refusal.err, 0);
	}
}

static void refuses_late_tokens(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { FILE_AT(1, "x", "x"), FILE_AT(1, "y", "y") };
	struct commit_request req = request("x", 41, c, 1);
	struct commit_result out;
	struct entry e;

	claim(t, "x", 42);
	assert_int_equal(run(t, &req, &out), -ESTALE);
	assert_int_equal(out.refusal.highest, 42);
	assert_string_equal(out.refusal.set_by, "holder");
	assert_string_equal(
		out.refusal.text,
		"token 41 is older than 42 on x (set by holder at 1970-01-01 00:00:00 UTC); "
		"take a new token");
	/* Whole or not at all: x is shut, so y does not appear either. */
	assert_refused(t, 41, c, 2, ESTALE, "x");
	assert_int_equal(entry_resolve(t->db, "y", ENTRY_NOW, &e), -ENOENT);
	req.token = 42;
	assert_int_equal(run(t, &req, &out), 0);
	req.token = 43;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.revision, 2);
}

static void fences_what_directories_carry(void **state)
{
	struct scratch *t = *state;
	struct change rm[] = { REMOVE_AT(0, "d", "d"), REMOVE_AT(0, "f", "d/f") };
	struct change mv[] = { REMOVE_AT(1, "d", "d"), DIR_AT(1, "g", "g", 0) };
	struct change chmod = DIR_AT(1, "d", "d", 0);
	struct change file = FILE_AT(1, "e", "e");

	plant(t);
	rm[0].dir = 1;
	rm[1].dir = mv[1].child = chmod.child = scratch_dir_id(t, "d");
	claim(t, "d/later", 9);
	assert_refused(t, 8, rm, 2, ESTALE, "d/later");
	assert_refused(t, 8, mv, 2, ESTALE, "d/later");
	scratch_commit_ok(t, 8, &chmod, 1); /* takes nothing from d/later */
	claim(t, "g/x/y", 9);
	claim(t, "d", 9);
	assert_refused(t, 8, mv, 2, ESTALE, "d");
	claim(t, "g/x/y", 10);
	assert_refused(t, 9, mv, 2, ESTALE, "g/x/y");
	scratch_commit_ok(t, 10, mv, 2);
	/* replaced by a file */
	claim(t, "e/x", 12);
	assert_refused(t, 11, &file, 1, ESTALE, "e/x");
	scratch_commit_ok(t, 12, &file, 1);
}

static void removes_only_empty_directories(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { REMOVE_AT(1, "d", "d"), REMOVE_AT(0, "f", "d/f") };
	struct change more = FILE_AT(0, "g", "d/g");
	struct commit_result out;

	plant(t);
	c[1].dir = more.dir = scratch_dir_id(t, "d");
	scratch_commit_ok(t, 1, &more, 1);
	assert_refused(t, 1, c, 2, ENOTEMPTY, "d");
	must_find(t, "d/f");
	more.kind = CHANGE_REMOVE;
	scratch_commit_ok(t, 1, &more, 1);
	assert_int_equal(scratch_commit(t, 1, c, 2, &out), 0);
	assert_int_equal(out.changed, 2);
	assert_true(out.dirs_moved);
}

static void refuses_moved_ground(void **state)
{
	struct scratch *t = *state;
	struct change mv[] = { REMOVE_AT(1, "d", "d"), DIR_AT(0, "d2", "e/d2", 0) };
	struct change old_path = FILE_AT(0, "x", "d/x"), new_path = FILE_AT(0, "x", "e/d2/x");
	struct change gone = FILE_AT(999, "x", "q/x"), lie = FILE_AT(1, "x", "e/x");
	struct change again[] = { REMOVE_AT(1, "d", "d"), DIR_AT(1, "d3", "d3", 0) };
	struct commit_result out;

	plant(t);
	mv[1].dir = scratch_dir_id(t, "e");
	again[1].child = old_path.dir = new_path.dir = mv[1].child = scratch_dir_id(t, "d");
	assert_int_equal(scratch_commit(t, 1, mv, 2, &out), 0);
	assert_true(out.dirs_moved);
	must_find(t, "e/d2/f");
	assert_refused(t, 1, &old_path, 1, ENOENT, "d/x");
	scratch_commit_ok(t, 1, &new_path, 1);
	assert_refused(t, 1, &gone, 1, ENOENT, "q/x");
	assert_refused(t, 1, &lie, 1, ENOENT, "e/x");
	assert_refused(t, 1, again, 2, ENOENT, "d3");
}

static void refuses_circles(void **state)
{
	struct scratch *t = *state;
	struct change swap[] = { REMOVE_AT(1, "d", "d"), REMOVE_AT(1, "e", "e"),
				 DIR_AT(0, "e", "d/e", 0), DIR_AT(0, "d", "e/d", 0) };
	struct change self[] = { REMOVE_AT(1, "e", "e"), DIR_AT(0, "x", "e/x", 0) };

	plant(t);
	swap[2].dir = swap[3].child = scratch_dir_id(t, "d");
	self[1].dir = self[1].child = swap[3].dir = swap[2].child = scratch_dir_id(t, "e");
	assert_refused(t, 1, swap, 4, EINVAL, "d/e");
	assert_refused(t, 1, self, 2, EINVAL, "e/x");
	must_find(t, "d/f");
}

static void swaps_directories(void **state)
{
	struct scratch *t = *state;
	struct change swap[] = { DIR_AT(1, "d", "d", 0), DIR_AT(1, "e", "e", 0),
				 FILE_AT(0, "new", "e/new"), REMOVE_AT(0, "f", "d/f") };
	struct entry e;

	plant(t);
	swap[1].child = swap[2].dir = swap[3].dir = scratch_dir_id(t, "d");
	swap[0].child = scratch_dir_id(t, "e");
	scratch_commit_ok(t, 1, swap, 4);
	must_find(t, "e/new");
	assert_int_equal(entry_resolve(t->db, "d/f", ENTRY_NOW, &e), -ENOENT);
	assert_int_equal(entry_resolve(t->db, "e/f", ENTRY_NOW, &e), -ENOENT);
	assert_int_equal(entry_resolve(t->db, "d/f", 1, &e), 0);
}

static void makes_parents(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { DIR_AT(1, "a", "a", -1), DIR_AT(-1, "b", "a/b", -2),
			      FILE_AT(-2, "f", "a/b/f") };
	struct commit_request req = request("a/b/f", 5, c, 3);
	struct commit_result out;
	int64_t a;

	c[0].implied = c[1].implied = true;
	claim(t, ".", 5);
	claim(t, "a", 9);
	claim(t, "a/b/f", 9);
	req.token = 9;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.changed, 3);
	a = scratch_dir_id(t, "a");
	/*
	 * They are there by now: nobody's fence is asked for them, and they are used as they are.
	 */
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.changed, 1);
	assert_int_equal(scratch_dir_id(t, "a"), a);
	assert_int_equal(must_find(t, "a/b/f").seq, 2);
	/* A file in the place of a parent. */
	c[1] = (struct change)DIR_AT(-1, "f", "a/b/f", -2);
	c[1].implied = true;
	c[0] = (struct change)DIR_AT(1, "e", "e", -1);
	c[0].implied = true;
	{
		struct change file = FILE_AT(1, "e", "e");
		struct change below[] = { DIR_AT(1, "e", "e", -1), FILE_AT(-1, "x", "e/x") };

		scratch_commit_ok(t, 9, &file, 1);
		below[0].implied = true;
		assert_refused(t, 9, below, 2, ENOTDIR, "e");
	}
}

static void implied_directories_are_not_fenced(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { DIR_AT(1, "a", "a", -1), FILE_AT(-1, "f", "a/f") };

	claim(t, "a/g", 50); /* beneath a, not above a/f */
	c[0].implied = true;
	scratch_commit_ok(t, 1, c, 2);
}

static void replays_an_op(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "x", "x");
	struct commit_request req = request("x", 5, &c, 1);
	struct commit_result out;
	struct revision r;

	req.op = "k1";
	req.session = "0123";
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.revision, 1);
	assert_false(out.replayed);
	claim(t, "x", 6); /* it is stale by now, and still learns that it had been in time */
	assert_int_equal(run(t, &req, &out), 0);
	assert_true(out.replayed);
	assert_int_equal(out.revision, 1);
	assert_int_equal(out.changed, 1);
	assert_int_equal(revision_by_op(t->db, "x", "k1", &r), 0);
	assert_string_equal(r.session, "0123");
	assert_int_equal(r.at, 5000);
	assert_int_equal(revision_by_op(t->db, "y", "k1", &r), -ENOENT);
	req.op = "k2";
	assert_int_equal(run(t, &req, &out), -ESTALE);
}

static void records_an_empty_commit_with_an_op(void **state)
{
	struct scratch *t = *state;
	struct change rm = REMOVE_AT(1, "nothing", "nothing");
	struct commit_request req = request(".", 5, &rm, 1);
	struct commit_result out;
	int64_t rev;

	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.revision, 0);
	assert_int_equal(out.changed, 0);
	req.op = "k";
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.revision, 1);
	assert_int_equal(revision_current(t->db, &rev), 0);
	assert_int_equal(rev, 1);
	assert_int_equal(run(t, &req, &out), 0);
	assert_true(out.replayed);
	req.n_changes = 0;
	req.op = NULL;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(out.revision, 1);
}

static void writes_once(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { FILE_AT(1, "x", "x"), DIR_AT(1, "d", "d", -1),
			      FILE_AT(-1, "f", "d/f") };
	struct commit_request req = request("x", 5, c, 1);
	struct commit_result out;

	assert_int_equal(run(t, &req, &out),
			 0); /* without once: its version carries token 5 all the same */
	req.once = true;
	assert_int_equal(run(t, &req, &out), 0);
	assert_true(out.replayed);
	assert_int_equal(out.revision, 1);
	req.token = 6;
	assert_int_equal(run(t, &req, &out), 0);
	assert_false(out.replayed);
	req.token = 5;
	claim(t, "x", 6);
	assert_int_equal(run(t, &req, &out), -ESTALE);
	/* on a directory: what counts is the commit, not which version the directory itself has */
	req = request("d", 7, c + 1, 2);
	assert_int_equal(run(t, &req, &out), 0);
	c[1] = (struct change)FILE_AT(0, "g", "d/g");
	c[1].dir = scratch_dir_id(t, "d");
	req = request("d", 8, c + 1, 1);
	req.once = true;
	assert_int_equal(run(t, &req, &out), 0);
	assert_false(out.replayed);
	assert_int_equal(run(t, &req, &out), 0);
	assert_true(out.replayed);
	assert_int_equal(out.revision, 4);
}

static void orders_by_seq(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "x", "x");
	struct commit_request req = request("x", 5, &c, 1);
	struct commit_result out;
	struct refusal r;

	claim(t, "x", 5);
	req.seq = 2;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(run(t, &req, &out), -ESTALE);
	req.seq = 3;
	c.path = "no";
	assert_int_equal(scratch_commit(t, 5, &c, 1, &out), -EINVAL);
	c.path = "x";
	assert_int_equal(run(t, &req, &out), 0);
	/*
	 * The row was dropped under an equal one above: there is nothing to compare with, and none
	 * the less an order from here on.
	 */
	req.path = c.path = c.name = "y";
	claim(t, "y", 5);
	assert_int_equal(fence_claim(t->db, ".", 5, "o", 1, &r), 0);
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(run(t, &req, &out), -ESTALE);
}

static void checks_preconditions(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "x", "x");
	struct expect e = { .path = "x", .kind = EXPECT_ABSENT };
	struct commit_request req = request(".", 5, &c, 1);
	struct commit_result out;

	req.expects = &e;
	req.n_expects = 1;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(run(t, &req, &out), -EEXIST);
	assert_string_equal(out.refusal.text, "x exists, at version 1");
	assert_string_equal(out.refusal.set_by, "job");
	e.kind = EXPECT_VERSION;
	e.version = 2;
	assert_int_equal(run(t, &req, &out), -ECANCELED);
	assert_string_equal(out.refusal.text, "x is at version 1, not 2");
	e.version = 1;
	assert_int_equal(run(t, &req, &out), 0);
	assert_int_equal(run(t, &req, &out), -ECANCELED);
	e.kind = EXPECT_HASH;
	hash_buf("", 0, &e.hash);
	assert_int_equal(run(t, &req, &out), 0);
	e.hash.b[3] ^= 1;
	assert_int_equal(run(t, &req, &out), -ECANCELED);
	e.path = "x/y";
	e.kind = EXPECT_ABSENT;
	assert_int_equal(run(t, &req, &out), 0);
	e.kind = EXPECT_VERSION;
	assert_int_equal(run(t, &req, &out), -ECANCELED);
	assert_string_equal(out.refusal.text, "x/y does not exist");
	e.path = ".";
	e.kind = EXPECT_HASH;
	hash_buf("", 0, &e.hash);
	assert_int_equal(run(t, &req, &out), -ECANCELED); /* a directory has no content */
}

static void refuses_nonsense(void **state)
{
	struct scratch *t = *state;
	const struct change cases[][2] = {
		{ FILE_AT(1, "a", "a"), FILE_AT(1, "a", "a") },
		{ FILE_AT(1, "a", "b"), FILE_AT(1, "c", "c") },
		{ FILE_AT(-1, "a", "a/a"), DIR_AT(1, "a", "a", -1) },
		{ DIR_AT(1, "a", "a", -1), DIR_AT(1, "b", "b", -1) },
		{ DIR_AT(1, "a", "a", -1), FILE_AT(-1, "x", "b/x") },
		{ DIR_AT(1, "a", "a", 1), FILE_AT(1, "x", "x") },
		{ DIR_AT(1, "a", "a", 0), FILE_AT(1, "x", "x") },
		{ REMOVE_AT(0, "", "."), FILE_AT(1, "x", "x") },
		{ FILE_AT(1, "", "."), FILE_AT(1, "x", "x") },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct commit_result out;

		assert_int_equal(scratch_commit(t, 1, cases[i], 2, &out), -EINVAL);
		assert_int_equal(out.refusal.err, 0);
	}
}

static void refuses_what_could_not_be_read_back(void **state)
{
	struct scratch *t = *state;
	char name[FENCE_NAME_MAX + 2], path[FENCE_PATH_MAX + 300], owner[OWNER_MAX + 2];
	struct change_xattr x = { owner, "", 0 };
	struct change c = FILE_AT(1, name, name);
	struct commit_request req = request(".", 1, &c, 1);
	struct commit_result out;
	struct refusal r;
	struct entry e;

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memset(owner, 'o', sizeof(owner));
	owner[sizeof(owner) - 1] = '\0';
	memset(path, '/', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 2)
		path[i] = 'p';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(scratch_commit(t, 1, &c, 1, &out), -ENAMETOOLONG);
	assert_int_equal(entry_resolve(t->db, name, ENTRY_NOW, &e), -ENAMETOOLONG);
	c.path = path;
	c.name = "p";
	assert_int_equal(scratch_commit(t, 1, &c, 1, &out), -ENAMETOOLONG);
	c.path = "p";
	req.path = path;
	assert_int_equal(change_commit(t->db, &req, &out), -ENAMETOOLONG);
	req.path = "p";
	req.owner = owner;
	assert_int_equal(change_commit(t->db, &req, &out), -EINVAL);
	assert_int_equal(fence_claim(t->db, "p", 1, owner, 0, &r), -EINVAL);
	req.owner = "o";
	req.op = owner;
	assert_int_equal(change_commit(t->db, &req, &out), -EINVAL);
	req.op = NULL;
	req.token = -1;
	assert_int_equal(change_commit(t->db, &req, &out), -ERANGE);
	c.xattrs = &x;
	c.n_xattrs = 1;
	assert_int_equal(scratch_commit(t, 1, &c, 1, &out), -ERANGE);
	owner[OWNER_MAX] = '\0';
	scratch_commit_ok(t, 1, &c, 1);
}

static void changes_the_root(void **state)
{
	struct scratch *t = *state;
	struct change c = {
		.kind = CHANGE_DIR, .dir = 0, .name = "", .path = ".", .child = 1, .mode = 0700
	};

	scratch_commit_ok(t, 1, &c, 1);
	assert_int_equal(must_find(t, ".").mode, 0700);
	assert_int_equal(must_find(t, ".").seq, 2);
	claim(t, ".", 2);
	assert_refused(t, 1, &c, 1, ESTALE, ".");
}

static void keeps_directory_times(void **state)
{
	struct scratch *t = *state;
	struct change d = DIR_AT(1, "d", "d", -1), f = FILE_AT(0, "f", "d/f");
	struct entry e;

	d.mtime = 77;
	scratch_commit_ok(t, 1, &d, 1);
	assert_int_equal(must_find(t, "d").mtime, 77);
	assert_int_equal(must_find(t, ".").mtime, 1000);
	f.dir = d.child = scratch_dir_id(t, "d");
	scratch_commit_ok(t, 1, &f, 1);
	assert_int_equal(must_find(t, "d").mtime, 1000);
	assert_int_equal(entry_resolve(t->db, "d", 1, &e), 0);
	assert_int_equal(e.mtime, 77);
	/*
	 * A time that comes with the directory is kept, in the same commit or later (tar, rsync).
	 */
	{
		struct change both[] = { f, d };

		both[0].name = "g";
		both[0].path = "d/g";
		both[1].mtime = 88;
		scratch_commit_ok(t, 1, both, 2);
		assert_int_equal(must_find(t, "d").mtime, 88);
		d.mtime = 66;
		scratch_commit_ok(t, 1, &d, 1);
		assert_int_equal(must_find(t, "d").mtime, 66);
	}
	/* New content under an old name is no change of names. */
	scratch_commit_ok(t, 1, &f, 1);
	assert_int_equal(must_find(t, "d").mtime, 66);
	f.kind = CHANGE_REMOVE;
	scratch_commit_ok(t, 1, &f, 1);
	assert_int_equal(must_find(t, "d").mtime, 1000);
}

static void numbers_versions_across_directories(void **state)
{
	struct scratch *t = *state;
	struct change rm[] = { REMOVE_AT(1, "d", "d"), REMOVE_AT(0, "f", "d/f") };
	struct change mk[] = { DIR_AT(1, "d", "d", -1), FILE_AT(-1, "f", "d/f") };
	struct entry e;

	scratch_commit_ok(t, 1, mk, 2);
	for (int64_t i = 2; i < 6; i++) {
		rm[1].dir = scratch_dir_id(t, "d");
		scratch_commit_ok(t, 1, rm, 2);
		scratch_commit_ok(t, 1, mk, 2);
		assert_int_equal(must_find(t, "d/f").seq, i);
		assert_int_equal(must_find(t, "d").seq, i);
	}
	assert_int_equal(entry_version(t->db, "d/f", 2, &e), 0);
	assert_int_equal(e.born, 3);
}

static void two_commits_in_one_transaction(void **state)
{
	struct scratch *t = *state;
	struct change a = FILE_AT(1, "a", "a"),
		      bad[] = { FILE_AT(1, "b", "b"), FILE_AT(999, "c", "z/c") };
	struct entry e;

	scratch_commit_ok(t, 1, &a, 1);
	assert_refused(t, 1, bad, 2, ENOENT, "z/c");
	scratch_commit_ok(t, 1, &a, 1);
	assert_int_equal(txn_commit(t->db), 0);
	scratch_reopen(t);
	assert_int_equal(entry_resolve(t->db, "b", ENTRY_NOW, &e), -ENOENT);
	assert_int_equal(must_find(t, "a").seq, 2);
}

static void takes_ten_thousand_changes(void **state)
{
	enum { N = 10000 };
	struct scratch *t = *state;
	struct change *c = calloc(N, sizeof(*c));
	char(*name)[16] = calloc(N, sizeof(*name)), (*path)[32] = calloc(N, sizeof(*path));
	struct commit_result out;

	for (int i = 0; i < N; i++) {
		int dir = i - i % 100;

		if (i == dir) {
			snprintf(name[i], sizeof(name[i]), "d%d", i);
			snprintf(path[i], sizeof(path[i]), "d%d", i);
			c[i] = (struct change)DIR_AT(1, name[i], path[i], -1 - i);
		} else {
			snprintf(name[i], sizeof(name[i]), "f%d", i);
			snprintf(path[i], sizeof(path[i]), "d%d/f%d", dir, i);
			c[i] = (struct change)FILE_AT(-1 - dir, name[i], path[i]);
		}
	}
	assert_int_equal(scratch_commit(t, 1, c, N, &out), 0);
	assert_int_equal(out.changed, N);
	must_find(t, "d9900/f9999");
	free(c);
	free(name);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_txn, writes_a_file),
		test_in(scratch_txn, keeps_symlinks),
		test_in(scratch_txn, adopts_content),
		test_in(scratch_txn, refuses_late_tokens),
		test_in(scratch_txn, fences_what_directories_carry),
		test_in(scratch_txn, removes_only_empty_directories),
		test_in(scratch_txn, refuses_moved_ground),
		test_in(scratch_txn, refuses_circles),
		test_in(scratch_txn, swaps_directories),
		test_in(scratch_txn, makes_parents),
		test_in(scratch_txn, implied_directories_are_not_fenced),
		test_in(scratch_txn, replays_an_op),
		test_in(scratch_txn, records_an_empty_commit_with_an_op),
		test_in(scratch_txn, writes_once),
		test_in(scratch_txn, orders_by_seq),
		test_in(scratch_txn, checks_preconditions),
		test_in(scratch_txn, refuses_nonsense),
		test_in(scratch_txn, refuses_what_could_not_be_read_back),
		test_in(scratch_txn, changes_the_root),
		test_in(scratch_txn, keeps_directory_times),
		test_in(scratch_txn, numbers_versions_across_directories),
		test_in(scratch_txn, two_commits_in_one_transaction),
		test_in(scratch_txn, takes_ten_thousand_changes),
	};

	return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
