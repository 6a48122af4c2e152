/* SPDX-License-Identifier: MIT */
/* See template.h. */
#include "template.h"

#include "base/io.h"
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/sqlite/txn.h"
#include "store/store.h"
#include "store/tree/change.h"
#include "store/store_create.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define PAGE   4096
#define SUM_AT (PAGE - 8)

static char dir[64], path[80];
static unsigned char *made, *now; /* the database; both for the life of the process */
static size_t len;

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static void remove_all(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void must(int is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "cannot make the store: %s\n", what);
	abort();
}

static void commit(struct db *db, const struct change *changes, size_t n)
{
	struct commit_request req = { .changes = changes,
				      .n_changes = n,
				      .path = ".",
				      .token = 1,
				      .owner = "fuzz",
				      .seq = -1,
				      .now_ns = 1 };
	struct commit_result result;

	must(txn_begin(db) == 0, "begin");
	must(change_commit(db, &req, &result) == 0, "changes");
	must(txn_commit(db) == 0, "commit");
}

static void fill(struct store *s)
{
	struct change_xattr x = { .name = "user.x", .value = "value", .len = 5 };
	struct change made_of[] = {
		{ .kind = CHANGE_DIR, .dir = 1, .name = "d", .path = "d", .child = -1, .mode = 0755 },
		{ .kind = CHANGE_FILE,
		  .dir = -1,
		  .name = "file",
		  .path = "d/file",
		  .mode = 0644,
		  .xattrs = &x,
		  .n_xattrs = 1 },
		{ .kind = CHANGE_SYMLINK, .dir = 1, .name = "link", .path = "link", .target = "d" },
	};
	struct change gone = { .kind = CHANGE_REMOVE, .dir = 1, .name = "link", .path = "link" };

	commit(store_writer(s), made_of, 3);
	commit(store_writer(s), &gone, 1);
}

static void load(void)
{
	char name[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s/meta.db", path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &st) == 0, "its database");
	len = (size_t)st.st_size;
	made = malloc(len);
	now = malloc(len);
	must(made && now && read(fd, made, len) == (ssize_t)len, "its pages");
	close(fd);
}

static void make(void)
{
	const char *tmp = getenv("TMPDIR");
	struct errmsg msg;
	struct store *s;

	snprintf(dir, sizeof(dir), "%.40s/fuzz-XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(dir) != NULL, "its directory");
	atexit(remove_all);
	snprintf(path, sizeof(path), "%s/store", dir);
	must(store_create(path, &msg) == 0, msg.s);
	must(store_open(path, STORE_SERVE, NULL, &s, &msg) == 0, msg.s);
	fill(s);
	store_close(s);
	load();
}

const char *template_path(void)
{
	if (!made)
		make();
	return path;
}

void template_restore(void)
{
	template_path();
	memcpy(now, made, len);
}

void template_patch(size_t page, size_t at, const void *bytes, size_t n)
{
	size_t from = page % (len / PAGE) * PAGE + at % SUM_AT;

	if (n > SUM_AT - at % SUM_AT)
		n = SUM_AT - at % SUM_AT;
	memcpy(now + from, bytes, n);
}

void template_write(void)
{
	char name[PATH_MAX];
	int fd;

	for (size_t i = 0; i < len / PAGE; i++) {
		XXH64_canonical_t sum;

		XXH64_canonicalFromHash(&sum, XXH3_64bits_withSeed(now + i * PAGE, SUM_AT, i + 1));
		memcpy(now + i * PAGE + SUM_AT, &sum, sizeof(sum));
	}
	snprintf(name, sizeof(name), "%s/meta.db-wal", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s/meta.db-shm", path);
	unlink(name);
	snprintf(name, sizeof(name), "%s/meta.db", path);
	fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	must(fd >= 0 && write(fd, now, len) == (ssize_t)len, "its database again");
	close(fd);
}
