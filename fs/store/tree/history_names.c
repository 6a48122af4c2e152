/* SPDX-License-Identifier: MIT */
/* The names that were ever beneath a path. Layer: store. */
#include "store/sqlite/db.h"
#include "store/tree/entry.h"
#include "store/tree/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct names {
	char (*v)[FENCE_NAME_MAX + 1];
	int n, max;
};

static int cmp(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The first @max names of one directory after @after, added behind those that are there. */
static int add_names(struct db *db, int64_t dir, const char *after, int max, struct names *out)
{
	auto_stmt struct stmt *st = NULL;
	int res =
		db_stmt(db,
			"SELECT DISTINCT name FROM entry WHERE dir = ?1 AND name > ?2 ORDER BY name"
			" LIMIT ?3",
			&st);

	if (res)
		return res;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, after);
	stmt_int(st, 3, max);
	while ((res = stmt_step(st)) > 0) {
		res = stmt_get_str(st, 0, out->v[out->n], sizeof(out->v[0]));
		if (res)
			return res;
		out->n++;
	}
	return res;
}

/* Sorted, each once, no more than @max: what is cut off comes after all that stay. */
static void tidy(struct names *l, int max)
{
	int n = 0;

	qsort(l->v, (size_t)l->n, sizeof(l->v[0]), cmp);
	for (int i = 0; i < l->n; i++)
		if (n == 0 || strcmp(l->v[n - 1], l->v[i]) != 0)
			memmove(l->v[n++], l->v[i], sizeof(l->v[0]));
	l->n = n < max ? n : max;
}

int entry_past_names(struct db *db, const char *path, const char *after,
		     char (*out)[FENCE_NAME_MAX + 1], int max)
{
	auto_history struct history h = { 0 };
	struct names l = { .v = calloc((size_t)max * 2, sizeof(*l.v)) };
	int err = l.v ? history_dirs(db, path, &h) : -ENOMEM;

	for (size_t i = 0; i < h.n && !err; i++) {
		err = add_names(db, h.span[i].dir, after, max, &l);
		tidy(&l, max);
	}
	if (!err)
		memcpy(out, l.v, (size_t)l.n * sizeof(*l.v));
	err = err ? err : l.n;
	free(l.v);
	return err;
}
