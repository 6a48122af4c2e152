/* SPDX-License-Identifier: MIT */
/*
 * What is left to tidy: staging/ of a store that nobody serves, free pages, the WAL. Layer: store.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"
#include "store/store.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PAGES_STEP	128  /* given back in one transaction: a few milliseconds */
#define PAGES_LEFT_FREE 1024 /* not worth it: the next commits take them */

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int count_staging(struct gc *gc)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	auto_fd int fd = io_open_beneath(store_staging_fd(gc->s), ".", O_RDONLY | O_DIRECTORY, 0);
	const struct dirent *e;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	take_fd(&fd);
	errno = 0;
	while ((e = readdir(d))) {
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		gc->report->staging.n++;
		gc->report->staging.bytes += st.st_size;
		errno = 0;
	}
	return -errno;
}

int gc_staging(struct gc *gc)
{
	int res = count_staging(gc);

	if (!res && !gc->opt->dry_run)
		res = staging_empty(gc->s);
	return gc_fail(gc, res < 0 ? res : 0, "cannot empty staging/");
}

struct pages {
	int64_t before, after;
};

static int free_pages(struct db *db, int64_t *out)
{
	return db_int(db, "PRAGMA freelist_count", out);
}

static int pages_step(struct db *db, void *arg)
{
	struct pages *p = arg;
	char sql[64];
	int err = free_pages(db, &p->before);

	p->after = p->before;
	if (err || p->before <= PAGES_LEFT_FREE)
		return err;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", PAGES_STEP);
	err = db_exec(db, sql);
	return err ? err : free_pages(db, &p->after);
}

int gc_compact(struct gc *gc)
{
	struct pages p = { 0 };
	int64_t total = 0;
	int err = 0;

	do {
		err = gc_step(gc, GC_COMPACT, gc->report->pages, total);
		if (!err)
			err = gc_write(gc, pages_step, &p);
		if (!err)
			gc->report->pages += p.before - p.after;
		if (!total)
			total = p.before;
	} while (!err && p.after < p.before);
	gc->env->checkpoint(gc->env->arg);
	return err;
}
