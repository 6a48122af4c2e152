/* SPDX-License-Identifier: MIT */
/* A check of a store, from its beginning to its end. Layer: store. */
#include "store/fsck/fsck_impl.h"
#include "store/tree/revision.h"
#include "store/store.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fsck_open(struct store *s, const struct fsck_options *opt, struct fsck **out)
{
	struct fsck *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->s = s;
	f->opt = *opt;
	err = store_reader_get(s, &f->db);
	if (err) {
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

void fsck_close(struct fsck *f)
{
	if (!f)
		return;
	store_reader_put(f->s, f->db);
	free(f);
}

const struct fsck_totals *fsck_totals(const struct fsck *f)
{
	return &f->totals;
}

int fsck_report(struct fsck *f, struct fsck_finding *x)
{
	if (x->is_damage)
		f->totals.damage++;
	else
		f->totals.notes++;
	return f->opt.fn(f->opt.arg, x);
}

int fsck_tick(struct fsck *f)
{
	if (!f->opt.tick || ++f->ticks % 256)
		return 0;
	return f->opt.tick(f->opt.arg);
}

int fsck_survive(struct fsck *f, const char *what, int err)
{
	struct fsck_finding x;

	if (err != -EUCLEAN)
		return err;
	fsck_finding_init(&x, FSCK_DATABASE, "%s cannot be read: the database is damaged", what);
	return fsck_report(f, &x);
}

static int each_row(struct fsck *f, struct stmt *st, fsck_row_fn fn, void *arg)
{
	int res;

	while ((res = stmt_step(st)) > 0) {
		res = fsck_tick(f);
		if (!res)
			res = fn(f, st, arg);
		if (res)
			return res;
	}
	return res;
}

int fsck_query(struct fsck *f, const char *what, const char *sql, fsck_row_fn fn, void *arg)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, sql, &st);

	if (!res)
		res = each_row(f, st, fn, arg);
	return fsck_survive(f, what, res);
}

int fsck_query_int(struct fsck *f, const char *what, const char *sql, int64_t param, fsck_row_fn fn,
		   void *arg)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, sql, &st);

	if (!res) {
		stmt_int(st, 1, param);
		res = each_row(f, st, fn, arg);
	}
	return fsck_survive(f, what, res);
}

/* One snapshot for all tables. */
static int check_tables(struct fsck *f)
{
	static int (*const checks[])(struct fsck *) = {
		fsck_check_pages, fsck_check_database, fsck_check_entries,
		fsck_check_dirs,  fsck_check_fences,   fsck_check_blobs,
	};
	int err = txn_read_begin(f->db);

	if (err)
		return err;
	err = fsck_survive(f, "the table of revisions", revision_current(f->db, &f->revision));
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(checks[0]); i++)
		err = checks[i](f);
	txn_read_end(f->db);
	return err;
}

int fsck_structure(struct fsck *f)
{
	int err = check_tables(f);

	return err ? err : fsck_check_files(f);
}
