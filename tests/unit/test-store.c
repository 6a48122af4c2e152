/* SPDX-License-Identifier: MIT */
/* Stores: made, opened, locked, refused. Unit test. */
#include "scratch.h"

#include "base/io.h"
#include "base/uuid.h"
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/generation.h"
#include "store/tree/revision.h"
#include "store/tree/session_row.h"
#include "store/sqlite/setting.h"
#include "store/sqlite/txn.h"
#include "store/tree/entry.h"
#include "store/store_create.h"
#include "store/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const struct scratch *t, const char *name, const char *text)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->store, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void remove_file(const struct scratch *t, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", t->store, name);
	assert_int_equal(remove(path), 0);
}

static void assert_open(struct scratch *t, enum store_mode mode, int want, const char *text)
{
	struct errmsg err = { "" };
	struct store *s = NULL;
	int res = store_open(t->store, mode, NULL, &s, &err);

	if (res == 0)
		store_close(s);
	else
		assert_null(s);
	assert_int_equal(res, want);
	if (!strstr(err.s, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.s);
}

static void creates(void **state)
{
	struct scratch *t = *state;
	struct errmsg err = { "" };
	struct stat st;
	struct entry root;

	assert_int_equal(mkdir(t->store, 0755), 0);
	assert_int_equal(store_create(t->store, &err), 0);
	assert_int_equal(stat(t->store, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(store_create(t->store, &err), -EEXIST);
	assert_non_null(strstr(err.s, "is a store already"));
	assert_int_equal(store_open(t->store, STORE_SERVE, "/mnt/x", &t->s, &err), 0);
	assert_int_equal(strlen(store_uuid(t->s)), UUID_LEN);
	assert_string_equal(store_path(t->s), t->store);
	t->db = store_writer(t->s);
	assert_int_equal(entry_resolve(t->db, ".", ENTRY_NOW, &root), 0);
	assert_int_equal(root.mode, 0755);
	assert_int_equal(root.uid, geteuid());
	assert_int_equal(root.child, STORE_ROOT_DIR);
	assert_int_equal(entry_resolve(t->db, ".", 0, &root), 0);
}

static void refuses_other_directories(void **state)
{
	struct scratch *t = *state;
	struct errmsg err = { "" };

	assert_open(t, STORE_READ, -ENOENT, "cannot open the store");
	assert_int_equal(mkdir(t->store, 0755), 0);
	assert_open(t, STORE_READ, -EMEDIUMTYPE, "is not a fencefs store");
	write_file(t, "other", "");
	assert_int_equal(store_create(t->store, &err), -ENOTEMPTY);
	assert_non_null(strstr(err.s, "is not empty and not a store"));
	remove_file(t, "other");
	write_file(t, "lock", "");
	write_file(t, "meta.db", "");
	assert_int_equal(store_create(t->store, &err), -ENOTEMPTY);
	assert_non_null(strstr(err.s, "its creation was interrupted"));
	assert_open(t, STORE_READ, -EMEDIUMTYPE, "its creation was interrupted");
	remove_file(t, "lock");
	remove_file(t, "meta.db");
	assert_int_equal(rmdir(t->store), 0);
	close(open(t->store, O_CREAT | O_WRONLY, 0600));
	assert_open(t, STORE_READ, -ENOTDIR, "cannot open the store");
	assert_int_equal(store_create(t->store, &err), -ENOTDIR);
	assert_int_equal(store_create("/nowhere/at/all", &err), -ENOENT);
}

static void reads_the_format(void **state)
{
	struct scratch *t = *state;
	char format[64];

	snprintf(format, sizeof(format), "fencefs 1 %s\n", store_uuid(t->s));
	store_close(t->s);
	t->s = NULL;
	t->db = NULL;
	write_file(t, "format", "fencefs 2 whatever follows\n");
	assert_open(t, STORE_OWN, -EPROTONOSUPPORT, "use a newer fencefs");
	write_file(t, "format", "fencefs one\n");
	assert_open(t, STORE_OWN, -EMEDIUMTYPE, "is not a fencefs store");
	write_file(t, "format", "");
	assert_open(t, STORE_OWN, -EMEDIUMTYPE, "is not a fencefs store");
	write_file(t, "format", "fencefs 1 00000000-0000-4000-8000-00000000000g\n");
	assert_open(t, STORE_OWN, -EMEDIUMTYPE, "is not a fencefs store");
	write_file(t, "format", "fencefs 1 00000000-0000-4000-8000-000000000000\n");
	assert_open(t, STORE_OWN, -EXDEV, "does not belong to this store");
	write_file(t, "blobs/00000000-0000-4000-8000-000000000000", "");
	assert_open(t, STORE_OWN, -EXDEV, "meta.db belongs to store");
	write_file(t, "format", format);
	assert_open(t, STORE_OWN, 0, "");
}

static void reports_a_damaged_database(void **state)
{
	struct scratch *t = *state;

	store_close(t->s);
	t->s = NULL;
	t->db = NULL;
	write_file(t, "meta.db",
		   "this is no database, whatever its name may be; it is longer than a hundred "
		   "bytes, so that nobody takes it for an empty one");
	assert_open(t, STORE_OWN, -EUCLEAN, "is damaged: restore it from a backup");
	write_file(t, "meta.db", "");
	assert_open(t, STORE_OWN, -EUCLEAN, "is not the database of a fencefs store");
	remove_file(t, "meta.db");
	assert_open(t, STORE_OWN, -EUCLEAN, "cannot find");
	assert_open(t, STORE_READ, -EUCLEAN, "cannot find");
}

static void has_one_owner(void **state)
{
	struct scratch *t = *state;
	char mountpoint[4097], want[200];
	int pid = -1, status;
	pid_t child;

	store_close(t->s);
	t->s = NULL;
	t->db = NULL;
	assert_int_equal(store_holder(t->store, &pid, mountpoint), 0);
	assert_int_equal(pid, 0);
	assert_string_equal(mountpoint, "");
	assert_int_equal(store_open(t->store, STORE_SERVE, "/mnt/a b\nc", &t->s, NULL), 0);
	assert_int_equal(store_holder(t->store, &pid, mountpoint), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(mountpoint, "/mnt/a b\nc");
	snprintf(want, sizeof(want), "store %s is served by fencefs (pid %d) at /mnt/a b", t->store,
		 getpid());
	assert_open(t, STORE_OWN, -EBUSY, want);
	assert_open(t, STORE_SERVE, -EBUSY, want);
	assert_open(t, STORE_READ, 0, "");
	child = fork();
	if (child == 0) {
		struct store *s;

		_exit(store_open(t->store, STORE_OWN, NULL, &s, NULL) == -EBUSY ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	store_close(t->s);
	t->s = NULL;
	assert_open(t, STORE_OWN, 0, "");
}

static void survives_its_owner(void **state)
{
	struct scratch *t = *state;
	struct session_row row = { .id = "00112233445566778899aabbccddeeff",
				   .path = "p",
				   .token = 1 };
	struct blob_id id = { { 5 } };
	struct stat st;
	pid_t child;
	int fd, status;

	store_close(t->s);
	t->s = NULL;
	child = fork();
	if (child == 0) {
		struct change c = FILE_AT(1, "f", "f");

		assert_int_equal(store_open(t->store, STORE_SERVE, NULL, &t->s, NULL), 0);
		t->db = store_writer(t->s);
		assert_int_equal(txn_begin(t->db), 0);
		scratch_commit_ok(t, 1, &c, 1);
		assert_int_equal(session_row_add(t->db, &row), 0);
		assert_int_equal(txn_commit(t->db), 0);
		assert_int_equal(staging_create(t->s, &id, &fd), 0);
		assert_int_equal(txn_begin(t->db), 0);
		scratch_commit_ok(t, 1, &c, 1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	/* Readers see what was committed even before an owner has cleaned up. */
	assert_int_equal(store_open(t->store, STORE_READ, NULL, &t->s, NULL), 0);
	assert_null(store_writer(t->s));
	assert_int_equal(store_reader_get(t->s, &t->db), 0);
	assert_int_equal(session_row_get(t->db, row.id, &row), 0);
	assert_int_equal(row.outcome, SESSION_OPEN);
	store_reader_put(t->s, t->db);
	assert_int_equal(staging_stat(t->s, &id, &st), 0);
	scratch_reopen(t);
	{
		struct entry e;

		assert_int_equal(entry_resolve(t->db, "f", ENTRY_NOW, &e), 0);
		assert_int_equal(e.seq, 1);
	}
	assert_int_equal(session_row_get(t->db, row.id, &row), 0);
	assert_int_equal(row.outcome, SESSION_ABORTED);
	assert_int_equal(staging_stat(t->s, &id, &st), -ENOENT);
}

static void readers_read_only(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "f", "f");
	struct db *a, *b;
	struct entry e;
	int64_t rev;

	assert_int_equal(store_reader_get(t->s, &a), 0);
	assert_int_equal(store_reader_get(t->s, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(setting_set(a, "x", 1), -EROFS);
	/* A snapshot stays as it is while the writer goes on, and others see the new state. */
	assert_int_equal(txn_read_begin(a), 0);
	assert_int_equal(revision_current(a, &rev), 0);
	assert_int_equal(txn_begin(t->db), 0);
	scratch_commit_ok(t, 1, &c, 1);
	assert_int_equal(entry_resolve(b, "f", ENTRY_NOW, &e), -ENOENT);
	assert_int_equal(txn_commit(t->db), 0);
	assert_int_equal(entry_resolve(b, "f", ENTRY_NOW, &e), 0);
	assert_int_equal(entry_resolve(a, "f", ENTRY_NOW, &e), -ENOENT);
	txn_read_end(a);
	assert_int_equal(entry_resolve(a, "f", ENTRY_NOW, &e), 0);
	store_reader_put(t->s, a);
	assert_int_equal(store_reader_get(t->s, &a), 0); /* the same one again, from the pool */
	store_reader_put(t->s, b);
	store_reader_put(t->s, a);
}

static void works_after_chdir(void **state)
{
	struct scratch *t = *state;
	char old[4096], link[100];
	struct db *a;
	int64_t rev;

	store_close(t->s);
	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(t->dir), 0);
	snprintf(link, sizeof(link), "%s/link", t->dir);
	assert_int_equal(symlink("store", link), 0);
	assert_int_equal(store_open("link", STORE_SERVE, NULL, &t->s, NULL), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(remove(link), 0);
	assert_int_equal(store_reader_get(t->s, &a), 0);
	assert_int_equal(revision_current(a, &rev), 0);
	store_reader_put(t->s, a);
	t->db = store_writer(t->s);
	assert_int_equal(chdir(old), 0);
}

static void checkpoints(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "f", "f");
	struct stat st;
	char wal[160];

	snprintf(wal, sizeof(wal), "%s/meta.db-wal", t->store);
	assert_int_equal(txn_begin(t->db), 0);
	scratch_commit_ok(t, 1, &c, 1);
	assert_int_equal(txn_commit(t->db), 0);
	assert_true(db_wal_frames(t->db) > 0);
	assert_int_equal(store_checkpoint(t->s, false), 0); /* too small to bother */
	assert_true(db_wal_frames(t->db) > 0);
	assert_int_equal(store_checkpoint(t->s, true), 0);
	assert_int_equal(db_wal_frames(t->db), 0);
	assert_int_equal(stat(wal, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_false(store_is_broken(t->s));
	store_set_broken(t->s);
	assert_true(store_is_broken(t->s));
	assert_int_equal(store_checkpoint(t->s, true), -EIO);
	scratch_reopen(t);
	assert_false(store_is_broken(t->s));
}

static void a_reader_does_not_pin_the_wal(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "f", "f");
	struct entry list[4];
	struct db *a;

	assert_int_equal(store_reader_get(t->s, &a), 0);
	assert_true(entry_list(a, 1, ENTRY_NOW, "", list, 4) >= 0);
	assert_int_equal(txn_begin(t->db), 0);
	scratch_commit_ok(t, 1, &c, 1);
	assert_int_equal(txn_commit(t->db), 0);
	assert_int_equal(entry_list(a, 1, 0, "", list, 4), 0);
	assert_int_equal(entry_list(a, 1, 1, "", list, 4), 1);
	assert_int_equal(entry_lookup(a, 1, "f", 1, list), 0);
	assert_int_equal(store_checkpoint(t->s, true), 0);
	store_reader_put(t->s, a);
}

struct racers {
	struct scratch *t;
	atomic_bool stop;
	atomic_llong looks;
};

/* In each snapshot, and at each revision, a and b carry one number: they change together (P3). */
static void *look(void *arg)
{
	struct racers *r = arg;
	struct entry a, b;
	int64_t rev;

	while (!atomic_load(&r->stop)) {
		struct db *db;

		assert_int_equal(store_reader_get(r->t->s, &db), 0);
		assert_int_equal(txn_read_begin(db), 0);
		assert_int_equal(revision_current(db, &rev), 0);
		assert_int_equal(entry_resolve(db, "a", ENTRY_NOW, &a), 0);
		assert_int_equal(entry_resolve(db, "b", ENTRY_NOW, &b), 0);
		txn_read_end(db);
		assert_int_equal(a.mtime, b.mtime);
		assert_int_equal(a.born, rev);
		/* The same without a snapshot, as of a revision that is in the past by now. */
		assert_int_equal(entry_lookup(db, 1, "a", rev, &b), 0);
		assert_int_equal(a.row, b.row);
		assert_int_equal(entry_list(db, 1, rev, "a", &b, 1), 1);
		assert_int_equal(b.mtime, a.mtime);
		store_reader_put(r->t->s, db);
		atomic_fetch_add(&r->looks, 1);
	}
	return NULL;
}

static void readers_see_whole_commits(void **state)
{
	struct scratch *t = *state;
	struct change c[] = { FILE_AT(1, "a", "a"), FILE_AT(1, "b", "b") };
	struct racers r = { .t = t };
	pthread_t thread[4];

	for (int i = 0; i < 300 || atomic_load(&r.looks) < 300; i++) {
		c[0].mtime = c[1].mtime = i;
		assert_int_equal(txn_begin(t->db), 0);
		scratch_commit_ok(t, 1, c, 2);
		assert_int_equal(txn_commit(t->db), 0);
		assert_int_equal(i % 50 ? 0 : db_checkpoint(t->db, false), 0);
		for (size_t k = 0; i == 0 && k < 4; k++)
			assert_int_equal(pthread_create(&thread[k], NULL, look, &r), 0);
	}
	atomic_store(&r.stop, true);
	for (size_t k = 0; k < 4; k++)
		assert_int_equal(pthread_join(thread[k], NULL), 0);
}

static void savepoints(void **state)
{
	struct scratch *t = *state;
	int64_t v;

	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(setting_set(t->db, "a", 1), 0);
	assert_int_equal(txn_savepoint(t->db), 0);
	assert_int_equal(setting_set(t->db, "a", 2), 0);
	assert_int_equal(setting_set(t->db, "b", 2), 0);
	assert_int_equal(txn_rollback_to(t->db), 0);
	assert_int_equal(txn_savepoint(t->db), 0);
	assert_int_equal(setting_set(t->db, "c", 3), 0);
	assert_int_equal(txn_release(t->db), 0);
	assert_int_equal(txn_commit(t->db), 0);
	assert_int_equal(setting_get(t->db, "a", &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(setting_get(t->db, "b", &v), -ENOENT);
	assert_int_equal(setting_get(t->db, "c", &v), 0);
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(setting_set(t->db, "a", 9), 0);
	txn_rollback(t->db);
	assert_int_equal(setting_get(t->db, "a", &v), 0);
	assert_int_equal(v, 1);
}

/* A database that may not grow says so, keeps what it had, and works again once it may. */
static void survives_a_full_disk(void **state)
{
	struct scratch *t = *state;
	struct change c = FILE_AT(1, "f", "f");
	struct blob_hash hash = { { 0 } };
	struct blob_id id;
	static char data[BLOB_INLINE_MAX];
	int64_t v;
	int err = 0;

	assert_int_equal(db_exec(t->db, "PRAGMA max_page_count = 100"), 0);
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(setting_set(t->db, "before", 1), 0);
	assert_int_equal(txn_savepoint(t->db), 0);
	while (!err) {
		assert_int_equal(blob_id_new(&id), 0);
		err = blob_insert(t->db, &id, sizeof(data), &hash, data);
	}
	assert_int_equal(err, -ENOSPC);
	/* The savepoint, or all of it, is lost; what counts is that nothing pretends otherwise. */
	if (txn_rollback_to(t->db) == 0) {
		assert_int_equal(txn_commit(t->db), 0);
		assert_int_equal(setting_get(t->db, "before", &v), 0);
	} else {
		assert_int_equal(txn_savepoint(t->db), -ENOSPC);
		assert_int_equal(txn_commit(t->db), -ENOSPC);
		assert_int_equal(setting_get(t->db, "before", &v), -ENOENT);
	}
	assert_int_equal(db_exec(t->db, "PRAGMA max_page_count = 100000"), 0);
	assert_int_equal(txn_begin(t->db), 0);
	scratch_commit_ok(t, 1, &c, 1);
	assert_int_equal(txn_commit(t->db), 0);
}

/*
 * The number went up in both after somebody's look at the database had begun: that is no restore.
 */
static void an_earlier_look_is_no_restored_database(void **state)
{
	struct scratch *t = *state;
	bool restored = true;
	struct db *earlier;
	int64_t generation = 0, revision;

	assert_int_equal(store_reader_get(t->s, &earlier), 0);
	assert_int_equal(txn_read_begin(earlier), 0);
	assert_int_equal(revision_current(earlier, &revision), 0); /* from here on it sees this */
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(generation_advance(t->s, t->db, &generation, &restored), 0);
	assert_int_equal(txn_commit(t->db), 0);
	assert_int_equal(generation_write_file(t->s, generation), 0);
	assert_int_equal(generation_is_restored(t->s, earlier, &restored), 0);
	assert_false(restored);
	assert_int_equal(generation_write_file(t->s, generation + 1), 0);
	assert_int_equal(generation_is_restored(t->s, earlier, &restored), 0);
	assert_true(restored);
	txn_read_end(earlier);
	store_reader_put(t->s, earlier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_dir, creates),
		test_in(scratch_dir, refuses_other_directories),
		test_in(scratch_store, reads_the_format),
		test_in(scratch_store, reports_a_damaged_database),
		test_in(scratch_store, has_one_owner),
		test_in(scratch_store, survives_its_owner),
		test_in(scratch_store, readers_read_only),
		test_in(scratch_store, works_after_chdir),
		test_in(scratch_store, checkpoints),
		test_in(scratch_store, a_reader_does_not_pin_the_wal),
		test_in(scratch_store, readers_see_whole_commits),
		test_in(scratch_store, savepoints),
		test_in(scratch_store, survives_a_full_disk),
		test_in(scratch_store, an_earlier_look_is_no_restored_database),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
