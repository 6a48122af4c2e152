/* SPDX-License-Identifier: MIT */
/* One store, one thing wrong with it, and exactly that finding. */
#include "scratch.h"

#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/tree/entry.h"
#include "store/tree/event.h"
#include "store/fence/fence.h"
#include "store/fsck/fsck_repair.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOUND_MAX 16

struct found {
	struct fsck_finding v[FOUND_MAX];
	int n;
};

static int found(void *arg, const struct fsck_finding *x)
{
	struct found *f = arg;

	assert_true(f->n < FOUND_MAX);
	f->v[f->n++] = *x;
	return 0;
}

/* The same store through readers of its own: what was damaged was not done through them. */
static struct found *check(struct scratch *t)
{
	struct found *f = calloc(1, sizeof(*f));
	struct fsck_options opt = { .fn = found, .arg = f };
	struct fsck *check;

	assert_non_null(f);
	assert_int_equal(fsck_open(t->s, &opt, &check), 0);
	assert_int_equal(fsck_structure(check), 0);
	fsck_close(check);
	return f;
}

static void expect_clean(struct scratch *t)
{
	struct found *f = check(t);

	if (f->n)
		fail_msg("%s: %s %s", fsck_rule_name(f->v[0].rule), f->v[0].path, f->v[0].what);
	free(f);
}

/* One finding, of @rule, about @path (NULL: any) at @version (0: any). */
static struct fsck_finding expect_one(struct scratch *t, enum fsck_rule rule, const char *path,
				      int64_t version)
{
	struct found *f = check(t);
	struct fsck_finding x = f->v[0];

	for (int i = 1; i < f->n; i++)
		print_message("# also %s: %s %s\n", fsck_rule_name(f->v[i].rule), f->v[i].path,
			      f->v[i].what);
	if (f->n != 1 || x.rule != rule)
		fail_msg("%d findings, the first is %s: %s", f->n,
			 f->n ? fsck_rule_name(x.rule) : "none", x.what);
	if (path)
		assert_string_equal(x.path, path);
	if (version)
		assert_int_equal(x.version, version);
	assert_non_null(x.consequence);
	assert_non_null(x.remedy);
	free(f);
	return x;
}

static void damage(struct scratch *t, const char *sql)
{
	assert_int_equal(db_exec(t->db, sql), 0);
}

/* 9 is the id of the first blob, 8 of the second. */
static struct blob_id big = { { 9 } }, small = { { 8 } };

static void add_blobs(struct scratch *t)
{
	struct blob_hash hash;
	char content[100];
	int fd;

	memset(content, 'x', sizeof(content));
	hash_buf(content, sizeof(content), &hash);
	assert_int_equal(staging_create(t->s, &big, &fd), 0);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
	close(fd);
	assert_int_equal(blob_move_in(t->s, &big), 0);
	assert_int_equal(blob_insert(t->db, &big, sizeof(content), &hash, NULL), 0);
	hash_buf("small", 5, &hash);
	assert_int_equal(blob_insert(t->db, &small, 5, &hash, "small"), 0);
}

/*
 * d/ (directory 2) with big, a second version of it, small, link; d/e/ (3); top, made and removed.
 */
static int setup(void **state)
{
	struct change first[] = {
		DIR_AT(1, "d", "d", -1),
		DIR_AT(-1, "e", "d/e", -2),
		FILE_AT(-1, "big", "d/big"),
		FILE_AT(-1, "small", "d/small"),
		FILE_AT(1, "top", "top"),
		{ .kind = CHANGE_SYMLINK,
		  .dir = -1,
		  .name = "link",
		  .path = "d/link",
		  .target = "x" },
	};
	struct change second[] = { FILE_AT(2, "big", "d/big"), REMOVE_AT(1, "top", "top") };
	struct refusal refusal;
	struct scratch *t;

	scratch_store(state);
	t = *state;
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(fence_claim(t->db, ".", 7, "tester", 1, &refusal), 0);
	add_blobs(t);
	first[3].has_blob = true;
	first[3].blob = small;
	first[3].size = 5;
	second[0].has_blob = true;
	second[0].blob = big;
	second[0].size = 100;
	scratch_commit_ok(t, 7, first, 6);
	scratch_commit_ok(t, 7, second, 2);
	assert_int_equal(txn_commit(t->db), 0);
	expect_clean(t);
	return 0;
}

/* Damage @sql makes is found as @rule about @path at @version. */
static struct fsck_finding finds(void **state, const char *sql, enum fsck_rule rule,
				 const char *path, int64_t version)
{
	damage(*state, sql);
	return expect_one(*state, rule, path, version);
}

/* After the repair of @x nothing is damaged, also for who opens the store anew. */
static void repairs(struct scratch *t, const struct fsck_finding *x)
{
	struct fsck_plan *plan = fsck_plan_new();
	struct errmsg err = { "" };
	struct found *f;

	assert_int_equal(fsck_plan_add(plan, x), 0);
	assert_int_equal(fsck_plan_size(plan), x->action != FSCK_NOTHING);
	if (fsck_repair(t->s, plan, &err))
		fail_msg("%s", err.s);
	fsck_plan_free(plan);
	scratch_reopen(t);
	f = check(t);
	for (int i = 0; x->action && i < f->n; i++)
		if (f->v[i].is_damage)
			fail_msg("%s: %s", fsck_rule_name(f->v[i].rule), f->v[i].what);
	free(f);
}

#define CASE(name_, sql_, rule_, path_, version_, action_)                          \
	static void name_(void **state)                                             \
	{                                                                           \
		struct fsck_finding x = finds(state, sql_, rule_, path_, version_); \
                                                                                    \
		assert_int_equal(x.action, action_);                                \
		assert_true(x.is_damage);                                           \
		repairs(*state, &x);                                                \
	}

#define ADD_ENTRY                                                                           \
	"INSERT INTO entry(dir, name, born, died, seq, kind, child, blob, size, mode, uid," \
	" gid, mtime, token, target, owner, op) VALUES"

CASE(kind, "UPDATE entry SET kind = 7 WHERE name = x'746f70'", FSCK_ENTRY_FIELDS, "top", 1,
     FSCK_NOTHING)
CASE(slash_in_name, "UPDATE entry SET name = x'612f62' WHERE name = x'746f70'", FSCK_ENTRY_FIELDS,
     "a/b", 1, FSCK_NOTHING)
CASE(two_current,
     "DROP INDEX entry_current;" ADD_ENTRY
     "(2, x'736d616c6c', 2, NULL, 2, 1, NULL, NULL, 0, 420, 0, 0, 1, 7, NULL, '', NULL)",
     FSCK_ONE_CURRENT, "d/small", 1, FSCK_REHOME)
CASE(overlap,
     "UPDATE entry SET died = 3 WHERE name = x'626967' AND died = 2;"
     "INSERT INTO revision SELECT 3, at, path, token, owner, op, session, changed, once"
     " FROM revision WHERE revision = 2",
     FSCK_OVERLAP, "d/big", 1, FSCK_REHOME)
CASE(version_numbers, "UPDATE entry SET seq = 2 WHERE name = x'626967'", FSCK_VERSIONS, "d/big", 2,
     FSCK_NOTHING)
CASE(two_places,
     "DROP INDEX entry_child;" ADD_ENTRY
     "(1, x'7a', 2, NULL, 1, 2, 3, NULL, 0, 493, 0, 0, 1, 7, NULL, '', NULL)",
     FSCK_ONE_PLACE, "z", 1, FSCK_NOTHING)
CASE(no_parent,
     "UPDATE entry SET dir = 4 WHERE name = x'736d616c6c';"
     "UPDATE setting SET value = 5 WHERE name = 'next_dir'",
     FSCK_PARENT, "#4/small", 1, FSCK_MAKE_DIR)
CASE(cycle, "UPDATE entry SET dir = 3 WHERE child = 3", FSCK_REACHED, "#3/e", 1, FSCK_REHOME)
CASE(newer_than_newest,
     "DELETE FROM revision WHERE revision = 2;"
     "DELETE FROM entry WHERE name = x'746f70';"
     "DELETE FROM entry WHERE name = x'626967' AND born = 1",
     FSCK_REVISION, "d/big", 2, FSCK_ADD_REVISION)
CASE(next_dir, "UPDATE setting SET value = 3 WHERE name = 'next_dir'", FSCK_NEXT_DIR, "d/e", 1,
     FSCK_RAISE_NEXT_DIR)
CASE(counter, "UPDATE fence SET lease_owner = 'o', lease_ttl = 1, lease_expires = 1",
     FSCK_TOKEN_COUNTER, ".", 0, FSCK_RAISE_COUNTER)
CASE(fence_path,
     "UPDATE fence SET path = x'2f' WHERE path = x'2e';"
     "INSERT INTO fence VALUES(x'2e', 7, -1, 1, '', NULL, NULL, NULL)",
     FSCK_FENCE_FIELDS, "/", 0, FSCK_NOTHING)
CASE(half_a_lease, "UPDATE fence SET lease_ttl = 5", FSCK_FENCE_FIELDS, ".", 0, FSCK_NOTHING)
CASE(low_fence,
     "UPDATE fence SET token = 6; UPDATE entry SET token = 6 WHERE kind = 3;"
     "UPDATE entry SET token = 6 WHERE name = x'736d616c6c'",
     FSCK_FENCE_LOW, "d/big", 2, FSCK_RAISE_FENCE)
CASE(blob_row, "UPDATE blob SET data = x'61' WHERE data IS NOT NULL", FSCK_BLOB_FIELDS, "d/small",
     1, FSCK_NOTHING)
CASE(no_blob_row, "DELETE FROM blob WHERE data IS NOT NULL", FSCK_REFERENCE, "d/small", 1,
     FSCK_NOTHING)
CASE(other_size, "UPDATE entry SET size = 6 WHERE name = x'736d616c6c'", FSCK_REFERENCE, "d/small",
     1, FSCK_NOTHING)
CASE(used_garbage, "INSERT INTO garbage SELECT id, 1 FROM blob WHERE data IS NOT NULL",
     FSCK_GARBAGE, "d/small", 1, FSCK_UNMARK)
CASE(reject_without_blob,
     "INSERT INTO reject(at, path, held_path, token, highest, held_by, owner, stage, why, uid,"
     " blob, size) VALUES(1, x'70', x'70', 1, 2, '', '', 'put', 'ESTALE', 0,"
     " x'00112233445566778899aabbccddeeff', 4)",
     FSCK_REJECT, "p", 0, FSCK_NOTHING)
CASE(xattr_without_entry, "INSERT INTO xattr VALUES(99, x'757365722e61', x'62')", FSCK_XATTR, "", 0,
     FSCK_DROP_XATTR)
CASE(dirtime_without_dir, "INSERT INTO dirtime VALUES(99, 1, 1)", FSCK_DIRTIME, "", 0,
     FSCK_DROP_DIRTIME)

static void file_of(struct scratch *t, char *out, size_t room)
{
	snprintf(out, room, "%s/blobs/09/%s", t->store, blob_hex(big.b).s);
}

static void missing_file(void **state)
{
	struct scratch *t = *state;
	struct fsck_finding x;

	assert_int_equal(blob_remove(t->s, &big), 0);
	x = expect_one(t, FSCK_BLOB_FILE, "d/big", 2);
	assert_true(x.is_current && x.is_damage && x.has_blob);
	assert_memory_equal(x.blob.b, big.b, sizeof(big.b));
	repairs(t, &x);
	assert_false(expect_one(t, FSCK_SET_ASIDE, "d/big", 2).is_damage);
}

static void short_file(void **state)
{
	struct scratch *t = *state;
	struct fsck_finding x;
	struct stat st;
	char path[160];

	file_of(t, path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 99), 0);
	x = expect_one(t, FSCK_BLOB_FILE, "d/big", 2);
	repairs(t, &x);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/lost+found/%s", t->store, blob_hex(big.b).s);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 99);
}

static void writable_file(void **state)
{
	struct scratch *t = *state;
	char path[160];

	file_of(t, path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	assert_false(expect_one(t, FSCK_MODE, "d/big", 2).is_damage);
}

static void make(const char *store, const char *name)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", store, name);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* What was moved aside can be read, and what was in a lost directory has its name. */
static void lost_and_found(void **state)
{
	struct scratch *t = *state;
	struct fsck_finding x = finds(state,
				      "UPDATE entry SET dir = 4 WHERE name = x'736d616c6c';"
				      "UPDATE setting SET value = 5 WHERE name = 'next_dir'",
				      FSCK_PARENT, "#4/small", 1);
	struct entry e;
	char path[40];

	repairs(t, &x);
	assert_int_equal(entry_resolve(t->db, "lost+found/dir-4/small", ENTRY_NOW, &e), 0);
	assert_int_equal(e.size, 5);
	x = finds(state, "UPDATE entry SET dir = 3 WHERE child = 3", FSCK_REACHED, NULL, 1);
	repairs(t, &x);
	snprintf(path, sizeof(path), "lost+found/row-%d", (int)x.row);
	assert_int_equal(entry_resolve(t->db, path, ENTRY_NOW, &e), 0);
	assert_int_equal(e.child, 3);
	assert_int_equal(entry_resolve(t->db, "d/e", ENTRY_NOW, &e), -ENOENT);
}

static void foreign_files(void **state)
{
	static const char *const names[] = {
		"blobs/.hidden",
		"blobs/09/.hidden",
		"blobs/09/0a000000000000000000000000000000",
		"staging/notes.txt",
	};
	struct scratch *t = *state;
	struct found *f;

	for (int i = 0; i < 4; i++)
		make(t->store, names[i]);
	make(t->store, "blobs/09/09ff0000000000000000000000000000"); /* an orphan */
	make(t->store, "staging/09ff0000000000000000000000000000");  /* of a session */
	f = check(t);
	assert_int_equal(f->n, 5);
	for (int i = 0; i < f->n; i++) {
		assert_false(f->v[i].is_damage);
		assert_true(f->v[i].rule == FSCK_FOREIGN || f->v[i].rule == FSCK_ORPHAN);
	}
	free(f);
}

static void marks(void **state)
{
	struct scratch *t = *state;
	struct fsck_finding x;

	assert_int_equal(damaged_any(t->db), 0);
	assert_int_equal(damaged_mark(t->db, &big, 5), 0);
	assert_int_equal(damaged_any(t->db), 1);
	assert_int_equal(damaged_is_marked(t->db, &big), 1);
	assert_int_equal(damaged_is_marked(t->db, &small), 0);
	x = expect_one(t, FSCK_MARKED, "d/big", 2);
	assert_true(x.is_damage);
	assert_int_equal(damaged_set_aside(t->db, &big, 6), 0);
	assert_int_equal(blob_remove(t->s, &big), 0);
	assert_false(expect_one(t, FSCK_SET_ASIDE, "d/big", 2).is_damage);
	assert_int_equal(damaged_unmark(t->db, &big), 0);
	assert_int_equal(damaged_any(t->db), 0);
	expect_one(t, FSCK_BLOB_FILE, "d/big", 2);
}

/* What fsck_read() says of the blobs, in the order of their numbers. */
static void read_all(struct scratch *t, enum fsck_state big_is, enum fsck_state small_is)
{
	struct fsck_options opt = { .fn = found };
	struct fsck *check;
	struct fsck_blob b[4];
	enum fsck_state state;
	int64_t n, bytes;
	int err;

	assert_int_equal(fsck_open(t->s, &opt, &check), 0);
	assert_int_equal(fsck_blobs_total(check, 0, &n, &bytes), 0);
	assert_int_equal(n, 2);
	assert_int_equal(bytes, 105);
	assert_int_equal(fsck_blobs(check, 0, b, 4), 2);
	assert_int_equal(fsck_blobs(check, b[0].n, b, 4), 1);
	assert_int_equal(fsck_blobs(check, 0, b, 1), 1);
	assert_false(b[0].is_inline);
	assert_int_equal(fsck_read(t->s, &b[0], NULL, NULL, &state, &err), 0);
	assert_int_equal(state, big_is);
	assert_int_equal(fsck_blobs(check, b[0].n, b, 1), 1);
	assert_true(b[0].is_inline);
	assert_int_equal(fsck_read(t->s, &b[0], NULL, NULL, &state, &err), 0);
	assert_int_equal(state, small_is);
	fsck_close(check);
}

static void content(void **state)
{
	struct scratch *t = *state;
	char path[160];
	int fd;

	read_all(t, FSCK_GOOD, FSCK_GOOD);
	damage(t, "UPDATE blob SET data = x'536d616c6c' WHERE data IS NOT NULL");
	file_of(t, path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "X", 1, 50), 1);
	close(fd);
	read_all(t, FSCK_BAD_HASH, FSCK_BAD_HASH);
	assert_int_equal(truncate(path, 7), 0);
	read_all(t, FSCK_BAD_SIZE, FSCK_BAD_HASH);
	assert_int_equal(unlink(path), 0);
	read_all(t, FSCK_MISSING, FSCK_BAD_HASH);
}

/* Directories that move carry versions with numbers of another path; reset lowers fences. */
static void no_false_alarms(void **state)
{
	struct scratch *t = *state;
	struct change away[] = {
		REMOVE_AT(1, "d", "d"),
		DIR_AT(1, "n", "n", 2),
		REMOVE_AT(2, "big", "n/big"),
	};
	struct change again[] = { FILE_AT(2, "big", "n/big") };
	struct event *e = calloc(1, sizeof(*e));
	int64_t old;

	assert_int_equal(txn_begin(t->db), 0);
	scratch_commit_ok(t, 7, away, 3);
	scratch_commit_ok(t, 7, again, 1);
	assert_int_equal(fence_reset(t->db, ".", 1, "root", 1, &old), 0);
	e->kind = EVENT_RESET;
	memcpy(e->path, ".", 2);
	assert_int_equal(event_add(t->db, e), 0);
	assert_int_equal(txn_commit(t->db), 0);
	expect_clean(t);
	free(e);
}

#define T(name_) cmocka_unit_test_setup_teardown(name_, setup, fsck_remove)

/* The statements of a check read whole tables, and are meant to. */
static int fsck_remove(void **state)
{
	return scratch_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(kind),
		T(slash_in_name),
		T(two_current),
		T(overlap),
		T(version_numbers),
		T(two_places),
		T(no_parent),
		T(cycle),
		T(newer_than_newest),
		T(next_dir),
		T(counter),
		T(fence_path),
		T(half_a_lease),
		T(low_fence),
		T(blob_row),
		T(no_blob_row),
		T(other_size),
		T(used_garbage),

		T(reject_without_blob),
		T(xattr_without_entry),
		T(dirtime_without_dir),
		T(missing_file),
		T(short_file),
		T(writable_file),
		T(lost_and_found),
		T(foreign_files),
		T(marks),
		T(content),
		T(no_false_alarms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
