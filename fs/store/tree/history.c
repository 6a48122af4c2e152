/* SPDX-License-Identifier: MIT */
/*
 * The past of a path, across directories that were moved, or removed and made again. Layer: store.
 */
#include "store/tree/history.h"

#include "base/cleanup.h"
#include "store/sqlite/db.h"
#include "store/tree/entry.h"
#include "store/tree/entry_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void history_fini(struct history *h)
{
	free(h->span);
	*h = (struct history){ 0 };
}

static int add_span(struct history *h, int64_t dir, int64_t from, int64_t until)
{
	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 4;
		struct history_span *span = realloc(h->span, room * sizeof(*span));

		if (!span)
			return -ENOMEM;
		h->span = span;
		h->room = room;
	}
	h->span[h->n++] = (struct history_span){ dir, from, until };
	return 0;
}

static int by_from(const void *a, const void *b)
{
	const struct history_span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

typedef int (*version_fn)(void *arg, struct stmt *st, int64_t from, int64_t until);

/*
 * Every version of @name that was visible in @span: its id, kind, child and seq are columns 2 to 5
 * of the statement.
 */
static int each_version(struct db *db, const struct history_span *span, const char *name,
			version_fn fn, void *arg)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db,
			  "SELECT born, died, id, kind, child, seq FROM entry"
			  " WHERE dir = ?1 AND name = ?2 AND born < ?3"
			  " AND (died IS NULL OR died > ?4) ORDER BY born",
			  &st);

	if (res)
		return res;
	stmt_int(st, 1, span->dir);
	stmt_path(st, 2, name);
	stmt_int(st, 3, span->until);
	stmt_int(st, 4, span->from);
	while ((res = stmt_step(st)) > 0) {
		int64_t born = stmt_get_int(st, 0);
		int64_t died = stmt_is_null(st, 1) ? INT64_MAX : stmt_get_int(st, 1);

		res = fn(arg, st, born > span->from ? born : span->from,
			 died < span->until ? died : span->until);
		if (res)
			return res;
	}
	return res;
}

static int add_dir(void *arg, struct stmt *st, int64_t from, int64_t until)
{
	if (stmt_get_int(st, 3) != ENTRY_DIR)
		return 0;
	return add_span(arg, stmt_get_int(st, 4), from, until);
}

/* One component further down. */
static int descend(struct db *db, const struct history *h, const char *name, struct history *below)
{
	for (size_t i = 0; i < h->n; i++) {
		int err = each_version(db, &h->span[i], name, add_dir, below);

		if (err)
			return err;
	}
	/* Spans of one path do not overlap: at any revision it is one thing. */
	if (below->n)
		qsort(below->span, below->n, sizeof(*below->span), by_from);
	return 0;
}

int history_dirs(struct db *db, const char *path, struct history *out)
{
	auto_history struct history h = { 0 };
	int err = add_span(&h, STORE_ROOT_DIR, 0, INT64_MAX);

	if (strcmp(path, ".") == 0)
		path = "";
	while (!err && *path && h.n > 0) {
		auto_history struct history below = { 0 };
		char name[FENCE_NAME_MAX + 1];
		size_t len = strcspn(path, "/");

		if (len > FENCE_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len + (path[len] == '/');
		err = descend(db, &h, name, &below);
		history_fini(&h);
		h = below;
		below = (struct history){ 0 };
	}
	if (err)
		return err;
	*out = h;
	h = (struct history){ 0 };
	return 0;
}

int history_of_root(struct history *out)
{
	*out = (struct history){ 0 };
	return add_span(out, 0, 0, INT64_MAX);
}

/*
 * The last version of @name that was born in @span or alive when it began: 1 with its seq and
 * birth, or 0.
 */
static int last_version(struct db *db, const struct history_span *span, const char *name,
			int64_t *seq, int64_t *born)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(
		db,
		"SELECT seq, born, died FROM entry WHERE dir = ?1 AND name = ?2 AND born < ?3"
		" ORDER BY born DESC LIMIT 1",
		&st);

	if (res)
		return res;
	stmt_int(st, 1, span->dir);
	stmt_path(st, 2, name);
	stmt_int(st, 3, span->until);
	res = stmt_step(st);
	if (res <= 0)
		return res;
	if (!stmt_is_null(st, 2) && stmt_get_int(st, 2) <= span->from)
		return 0;
	*seq = stmt_get_int(st, 0);
	*born = stmt_get_int(st, 1);
	return 1;
}

/*
 * A version born while its directory was at this path got a number above all that the path had
 * before. So within a span only its last version counts; and going back in time, the first span
 * whose last version was born in it settles the matter. Older spans count only behind a version
 * that came in with its directory, numbered at another path.
 */
int history_seq(struct db *db, const struct history *h, const char *name, int64_t *out)
{
	int64_t highest = 0;

	for (size_t i = h->n; i-- > 0;) {
		int64_t seq = 0, born = 0;
		int res = last_version(db, &h->span[i], name, &seq, &born);

		if (res < 0)
			return res;
		if (res == 0)
			continue;
		if (seq > highest)
			highest = seq;
		if (born >= h->span[i].from)
			break;
	}
	*out = highest;
	return 0;
}

struct version {
	int64_t row, seq;
	int64_t since, until; /* the revisions between which it was visible at the path */
};

struct versions {
	struct version *v; /* owned */
	size_t n, room;
};

static void cleanup_versions(struct versions *vs)
{
	free(vs->v);
}

static int add_version(void *arg, struct stmt *st, int64_t from, int64_t until)
{
	struct versions *vs = arg;

	if (vs->n == vs->room) {
		size_t room = vs->room ? 2 * vs->room : 16;
		struct version *v = realloc(vs->v, room * sizeof(*v));

		if (!v)
			return -ENOMEM;
		vs->v = v;
		vs->room = room;
	}
	vs->v[vs->n++] = (struct version){ .row = stmt_get_int(st, 2),
					   .seq = stmt_get_int(st, 5),
					   .since = from,
					   .until = until };
	return 0;
}

static int by_row(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->row != y->row)
		return (x->row > y->row) - (x->row < y->row);
	return (x->since < y->since) - (x->since > y->since);
}

static int newest_first(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->since != y->since)
		return (x->since < y->since) - (x->since > y->since);
	return (x->row < y->row) - (x->row > y->row);
}

/* A directory that left and came back shows a version twice: keep where it was seen last. */
static void sort_unique(struct versions *vs)
{
	size_t n = 0;

	if (vs->n == 0)
		return;
	qsort(vs->v, vs->n, sizeof(*vs->v), by_row);
	for (size_t i = 0; i < vs->n; i++) {
		if (n == 0 || vs->v[n - 1].row != vs->v[i].row)
			vs->v[n++] = vs->v[i];
	}
	vs->n = n;
	qsort(vs->v, vs->n, sizeof(*vs->v), newest_first);
}

static int collect(struct db *db, const char *path, struct versions *vs)
{
	auto_history struct history h = { 0 };
	char parent[FENCE_PATH_MAX + 1];
	const char *name = path_split(path, parent);
	int err;

	/* The root: the one name of directory 0. */
	err = name ? history_dirs(db, parent, &h) : history_of_root(&h);
	for (size_t i = 0; !err && i < h.n; i++)
		err = each_version(db, &h.span[i], name ? name : "", add_version, vs);
	sort_unique(vs);
	return err;
}

int entry_history(struct db *db, const char *path, entry_version_fn fn, void *arg)
{
	__attribute__((cleanup(cleanup_versions))) struct versions vs = { 0 };
	int res = collect(db, path, &vs);

	for (size_t i = 0; !res && i < vs.n; i++) {
		struct entry e;

		res = entry_by_row(db, vs.v[i].row, &e);
		if (!res)
			res = fn(arg, &e);
	}
	return res;
}

int entry_history_next(struct db *db, const char *path, int64_t after, struct entry *out,
		       struct entry_visible *out_visible)
{
	__attribute__((cleanup(cleanup_versions))) struct versions vs = { 0 };
	int err = collect(db, path, &vs);
	size_t i = 0;

	if (err)
		return err;
	if (after) {
		while (i < vs.n && vs.v[i].row != after)
			i++;
		i++;
	}
	if (i >= vs.n)
		return -ENOENT;
	err = entry_by_row(db, vs.v[i].row, out);
	if (!err)
		*out_visible = (struct entry_visible){ vs.v[i].since, vs.v[i].until };
	return err;
}

int entry_version(struct db *db, const char *path, int64_t seq, struct entry *out)
{
	__attribute__((cleanup(cleanup_versions))) struct versions vs = { 0 };
	int err = collect(db, path, &vs);

	if (err)
		return err;
	for (size_t i = 0; i < vs.n; i++) {
		if (vs.v[i].seq == seq)
			return entry_by_row(db, vs.v[i].row, out);
	}
	return -ENOENT;
}
