/* SPDX-License-Identifier: MIT */
/*
 * Formats of the store: one that an earlier version made, and how it becomes the next. The steps are
 * the test's own; what is cut off where is told in store/store_migrate.h.
 */
#include "scratch.h"

#include "base/cleanup.h"
#include "store/blob/blob.h"
#include "store/fsck/fsck.h"
#include "store/sqlite/db.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/setting.h"
#include "store/tree/entry.h"
#include "store/tree/event.h"
#include "store/tree/reject.h"
#include "store/tree/revision.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* tests/data/store-1.tar.gz: format 1, its daemon killed while a session was open. */
static int scratch_store_1(void **state)
{
	char command[512];
	struct scratch *t;
	int err = scratch_dir(state);

	if (err)
		return err;
	t = *state;
	snprintf(command, sizeof(command), "tar -xzf '%s/tests/data/store-1.tar.gz' -C '%s'",
		 getenv("FENCE_SOURCE"), t->dir);
	return system(command);
}

static int add_column(struct db *db)
{
	return db_exec(db, "ALTER TABLE reject ADD COLUMN host TEXT");
}

static int add_index(struct db *db)
{
	return db_exec(db, "CREATE INDEX reject_host ON reject(host)");
}

/* Half of its work done. */
static int disk_full(struct db *db)
{
	int err = add_index(db);

	return err ? err : -ENOSPC;
}

static int killed(struct db *db)
{
	(void)add_index(db);
	_exit(0);
}

static const migrate_step good[] = { add_column, add_index };
static const migrate_step full[] = { add_column, disk_full };
static const migrate_step dying[] = { add_column, killed };
static const struct migrations to_2 = { good, 1 }, to_3 = { good, 2 }, to_full = { full, 2 },
			       to_death = { dying, 2 };

static int open_with(struct scratch *t, enum store_mode mode, const struct migrations *m,
		     struct errmsg *err)
{
	struct store_opening how = { .path = t->store, .mode = mode, .steps = m };
	int res = store_open_with(&how, &t->s, err);

	t->db = res ? NULL : store_writer(t->s);
	return res;
}

static void shut(struct scratch *t)
{
	store_close(t->s);
	t->s = NULL;
	t->db = NULL;
}

static void assert_refused(struct scratch *t, enum store_mode mode, const struct migrations *m,
			   const char *words)
{
	struct errmsg err;

	assert_int_equal(open_with(t, mode, m, &err), -EPROTONOSUPPORT);
	if (!strstr(err.s, words))
		fail_msg("%s: not in: %s", words, err.s);
}

/* What STORE/format says. */
static int64_t format_of(struct scratch *t)
{
	char path[128], uuid[40];
	int64_t version = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/format", t->store);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "fencefs %" SCNd64 " %39s", &version, uuid), 2);
	fclose(f);
	return version;
}

static void set_format(struct scratch *t, int64_t version)
{
	char path[128], uuid[40] = "", text[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/format", t->store);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "fencefs %*d %39s", uuid), 1);
	rewind(f);
	snprintf(text, sizeof(text), "fencefs %" PRId64 " %s\n", version, uuid);
	fputs(text, f);
	fclose(f);
}

/* The store is of format @m, whole, and opens. */
static void assert_at(struct scratch *t, const struct migrations *m)
{
	int64_t version = 0, columns = 0, indexes = 0;

	assert_int_equal(open_with(t, STORE_OWN, m, NULL), 0);
	assert_int_equal(schema_version(t->db, &version), 0);
	assert_int_equal(version, migrations_newest(m));
	assert_int_equal(db_int(t->db,
				"SELECT count(*) FROM pragma_table_info('reject')"
				" WHERE name = 'host'",
				&columns),
			 0);
	assert_int_equal(db_int(t->db,
				"SELECT count(*) FROM sqlite_schema WHERE name = 'reject_host'",
				&indexes),
			 0);
	assert_int_equal(columns, version >= 2);
	assert_int_equal(indexes, version >= 3);
	shut(t);
	assert_int_equal(format_of(t), version);
}

static int no_damage(void *arg, const struct fsck_finding *f)
{
	(void)arg;
	if (f->is_damage)
		fail_msg("%s: %s", f->path, f->what);
	return 0;
}

static void assert_sound(struct scratch *t)
{
	struct fsck_options opt = { .is_thorough = true, .fn = no_damage };
	struct fsck_blob b[16];
	enum fsck_state state;
	struct fsck *f;
	int n, disk;

	assert_int_equal(fsck_open(t->s, &opt, &f), 0);
	assert_int_equal(fsck_structure(f), 0);
	n = fsck_blobs(f, 0, b, 16);
	assert_int_equal(n, 6);
	for (int i = 0; i < n; i++) {
		assert_int_equal(fsck_read(t->s, &b[i], NULL, NULL, &state, &disk), 0);
		assert_int_equal(state, FSCK_GOOD);
	}
	fsck_close(f);
}

static void assert_inline(struct scratch *t, const struct entry *e, const char *want)
{
	struct blob_info info;

	assert_true(e->has_blob);
	assert_int_equal(blob_get(t->db, &e->blob, true, &info), 0);
	assert_int_equal(info.size, strlen(want));
	assert_memory_equal(info.data, want, strlen(want));
	free(info.data);
}

static void read_tree(struct scratch *t)
{
	auto_free void *value = NULL;
	auto_free char *target = NULL;
	struct entry e;
	size_t len;
	int fd;

	assert_int_equal(entry_resolve(t->db, "greeting", ENTRY_NOW, &e), 0);
	assert_inline(t, &e, "hello\n");
	assert_int_equal(entry_resolve(t->db, "reports/small", ENTRY_NOW, &e), 0);
	assert_inline(t, &e, "two\n");
	assert_int_equal(e.mode, 0640);
	assert_int_equal(entry_xattr_get(t->db, e.row, "user.note", &value, &len), 0);
	assert_memory_equal(value, "kept", 4);
	assert_int_equal(entry_version(t->db, "reports/small", 1, &e), 0);
	assert_inline(t, &e, "one\n");
	assert_int_equal(entry_resolve(t->db, "reports/link", ENTRY_NOW, &e), 0);
	assert_int_equal(entry_target(t->db, e.row, &target), 0);
	assert_string_equal(target, "small");
	assert_int_equal(entry_resolve(t->db, "reports/large", ENTRY_NOW, &e), 0);
	assert_int_equal(blob_open(t->s, &e.blob, e.size, &fd), 0);
	close(fd);
	assert_int_equal(entry_resolve(t->db, "removed", ENTRY_NOW, &e), -ENOENT);
	assert_int_equal(entry_version(t->db, "removed", 1, &e), 0);
	assert_inline(t, &e, "gone\n");
}

static void read_records(struct scratch *t)
{
	int64_t n = 0, first, last;
	struct revision rev;
	struct reject r;

	assert_int_equal(revision_by_op(t->db, ".", "first", &rev), 0);
	assert_int_equal(reject_next(t->db, 0, &r), 0);
	assert_string_equal(r.path, "reports/lost");
	assert_int_equal(r.highest, 8);
	assert_int_equal(event_bounds(t->db, &first, &last), 0);
	assert_true(first > 0 && last > first);
	assert_int_equal(
		db_int(t->db, "SELECT count(*) FROM fence WHERE lease_owner = 'holder'", &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(db_int(t->db, "SELECT count(*) FROM garbage", &n), 0);
	assert_int_equal(n, 1);
}

static void is_read(void **state)
{
	struct scratch *t = *state;
	int64_t open = -1;

	assert_int_equal(open_with(t, STORE_OWN, &schema_migrations, NULL), 0);
	assert_sound(t);
	read_tree(t);
	read_records(t);
	shut(t);
	assert_int_equal(open_with(t, STORE_SERVE, &schema_migrations, NULL), 0);
	assert_int_equal(db_int(t->db, "SELECT count(*) FROM session WHERE outcome = 0", &open), 0);
	assert_int_equal(open, 0); /* what its daemon left open is over */
	shut(t);
}

static void is_migrated(void **state)
{
	struct scratch *t = *state;

	assert_refused(t, STORE_READ, &to_2, "Mount it with this version");
	assert_at(t, &to_2);
	assert_at(t, &to_2); /* nothing is left to do */
	assert_at(t, &to_3);
	assert_refused(t, STORE_OWN, &to_2, "use a newer fencefs");
	assert_refused(t, STORE_READ, &schema_migrations, "use a newer fencefs");
	assert_int_equal(open_with(t, STORE_SERVE, &to_3, NULL), 0);
	assert_sound(t);
	read_tree(t);
	read_records(t);
	shut(t);
	assert_int_equal(open_with(t, STORE_READ, &to_3, NULL), 0);
	shut(t);
}

static void goes_two_steps_at_once(void **state)
{
	assert_at(*state, &to_3);
}

/* The second step: nothing of it is kept, and what knows the first serves the store. */
static void survives_a_full_disk(void **state)
{
	struct scratch *t = *state;
	struct errmsg err;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(open_with(t, STORE_OWN, &to_full, &err), -ENOSPC);
		assert_non_null(strstr(err.s, "from format 2 to 3: No space left on device"));
		assert_at(t, &to_2);
	}
	assert_at(t, &to_3);
}

static void survives_a_kill_within(void **state)
{
	struct scratch *t = *state;
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)open_with(t, STORE_OWN, &to_death, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(format_of(t), 2);
	assert_at(t, &to_2);
	assert_at(t, &to_3);
}

/* Killed between the transaction and the rename, with and without a part of format.new. */
static void survives_a_kill_between(void **state)
{
	struct scratch *t = *state;
	char path[128];
	int fd;

	for (int i = 0; i < 2; i++) {
		assert_at(t, &to_2);
		set_format(t, 1);
		snprintf(path, sizeof(path), "%s/format.new", t->store);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "fencefs 2 something long that was cut", 20), 20);
		close(fd);
		if (i)
			unlink(path);
		assert_refused(t, STORE_OWN, &schema_migrations, "use a newer fencefs");
		assert_refused(t, STORE_READ, &to_2, "Mount it with this version");
	}
	assert_at(t, &to_3);
}

/* The database of an older backup, put back by hand under the newer format. */
static void migrates_an_older_database(void **state)
{
	struct scratch *t = *state;

	set_format(t, 2);
	assert_refused(t, STORE_OWN, &schema_migrations, "use a newer fencefs");
	assert_refused(t, STORE_READ, &to_2, "has format 1");
	assert_at(t, &to_2);
}

static void refuses_what_no_step_leads_to(void **state)
{
	struct scratch *t = *state;

	assert_int_equal(open_with(t, STORE_OWN, &to_2, NULL), 0);
	assert_int_equal(schema_migrate(t->db, &to_2, 2), -EINVAL);
	assert_int_equal(schema_migrate(t->db, &to_2, 0), -EINVAL);
	shut(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_store_1, is_read),
		test_in(scratch_store_1, is_migrated),
		test_in(scratch_store_1, goes_two_steps_at_once),
		test_in(scratch_store_1, survives_a_full_disk),
		test_in(scratch_store_1, survives_a_kill_within),
		test_in(scratch_store_1, survives_a_kill_between),
		test_in(scratch_store_1, migrates_an_older_database),
		test_in(scratch_store_1, refuses_what_no_step_leads_to),
	};

	return cmocka_run_group_tests_name("migrate", tests, NULL, NULL);
}
