/* SPDX-License-Identifier: MIT */
/*
 * Which versions are expired, and their removal. Layer: store.
 *
 * A version goes with its name: versions are grouped by directory and name, as the table keeps
 * them, not by path, which may lead through several directories in turn. That keeps more where a
 * directory was removed and made again, never less.
 *
 * Current versions never go, nor does the entry of a directory that any version still lies in: with
 * it the past of those would lose its path. Names are visited from the highest directory id down,
 * so what lies in a directory is decided before the directory itself, which was there first (but
 * for some that were moved: those wait for another pass).
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"
#include "store/tree/entry.h"
#include "store/tree/revision.h"
#include "store/store.h"

#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct version {
	int64_t row, child, born, died; /* died 0: current; child 0: not a directory */
};

struct plan {
	struct gc *gc;
	int64_t now; /* newest revision's time that is not in the future, ns */
	/* The group that is being read: all versions of one name, newest first. */
	int64_t dir;
	char name[FENCE_NAME_MAX + 1];
	struct version *v;		/* owned */
	struct retention_version *time; /* owned; of the same length */
	size_t n, room;
	bool any; /* there is a group */
	/* Its directory: */
	int64_t dir_rows, dir_pruned; /* versions in it, and how many of them go */
	bool has_path;		      /* path is that of dir, where it is or was last */
	char path[FENCE_PATH_MAX + 1];
	struct gc_rows emptied; /* directories in which nothing will be left; descending */
};

static void cleanup_plan(struct plan **p)
{
	if (!*p)
		return;
	free((*p)->v);
	free((*p)->time);
	free((*p)->emptied.v);
	free(*p);
}

/* Where directory @dir is, or was last, into @out: 1 and its parent and name; 0: nowhere. */
static int last_place(struct db *db, int64_t dir, int64_t *out_parent, char *out_name)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(
		db, "SELECT dir, name FROM entry WHERE child = ?1 ORDER BY born DESC LIMIT 1", &st);

	if (res)
		return res;
	stmt_int(st, 1, dir);
	res = stmt_step(st);
	if (res <= 0)
		return res;
	*out_parent = stmt_get_int(st, 0);
	res = stmt_get_str(st, 1, out_name, FENCE_NAME_MAX + 1);
	return res ? res : 1;
}

/* -ENOENT: nowhere; -ELOOP, -ENAMETOOLONG: nowhere that has a path. */
static int last_path(struct db *db, int64_t dir, char *out)
{
	char path[FENCE_PATH_MAX + 1] = "", name[FENCE_NAME_MAX + 1];

	for (int depth = 0; dir != STORE_ROOT_DIR; depth++) {
		char longer[sizeof(path) + sizeof(name)];
		int res = last_place(db, dir, &dir, name);

		if (res <= 0)
			return res ? res : -ENOENT;
		if (depth > FENCE_PATH_MAX / 2)
			return -ELOOP;
		snprintf(longer, sizeof(longer), "%s%s%s", name, path[0] ? "/" : "", path);
		if (strlen(longer) > FENCE_PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(path, longer);
	}
	strcpy(out, path[0] ? path : ".");
	return 0;
}

/* Whether the group's name lies where history is to be pruned. */
static int is_chosen(struct plan *p)
{
	const struct gc_options *opt = p->gc->opt;
	char path[FENCE_PATH_MAX + 1];
	int err = 0;

	if (opt->n_paths == 0)
		return 1;
	if (!p->has_path) {
		err = last_path(p->gc->db, p->dir, p->path);
		if (err == -ENOENT || err == -ELOOP || err == -ENAMETOOLONG)
			return 0;
		p->has_path = !err;
	}
	if (!err)
		err = path_join(p->path, p->name, path);
	if (err)
		return err == -ENAMETOOLONG ? 0 : err;
	for (size_t i = 0; i < opt->n_paths; i++)
		if (path_is_within(path, opt->path[i]))
			return 1;
	return 0;
}

static int revision_time(struct db *db, int64_t revision, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT at FROM revision WHERE revision = ?1", &st);

	if (res)
		return res;
	stmt_int(st, 1, revision);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	*out = stmt_get_int(st, 0);
	return 0;
}

static int add_times(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct retention_version *t = &p->time[i];
		int err = revision_time(p->gc->db, p->v[i].born, &t->at);

		t->until = INT64_MAX;
		/* As of the next version, mostly: then it is known already. */
		if (!err && p->v[i].died && i > 0 && p->v[i - 1].born == p->v[i].died)
			t->until = p->time[i - 1].at;
		else if (!err && p->v[i].died)
			err = revision_time(p->gc->db, p->v[i].died, &t->until);
		if (err)
			return err;
	}
	return 0;
}

static int compare_down(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* A directory whose entry may go: nothing is in it, or will be. */
static int is_emptied(struct plan *p, int64_t child)
{
	auto_stmt struct stmt *st = NULL;
	int res;

	if (p->emptied.n &&
	    bsearch(&child, p->emptied.v, p->emptied.n, sizeof(child), compare_down))
		return 1;
	res = db_stmt(p->gc->db, "SELECT 1 FROM entry WHERE dir = ?1 LIMIT 1", &st);
	if (res)
		return res;
	stmt_int(st, 1, child);
	res = stmt_step(st);
	return res < 0 ? res : !res;
}

static int expire(struct plan *p, const struct version *v)
{
	int res = v->child ? is_emptied(p, v->child) : 1;

	if (res <= 0)
		return res;
	p->dir_pruned++;
	return gc_rows_add(&p->gc->pruned, v->row);
}

static int end_group(struct plan *p)
{
	int res = 0;

	p->dir_rows += (int64_t)p->n;
	if (p->n == 0 || (p->n == 1 && !p->v[0].died))
		return 0;
	res = is_chosen(p);
	if (res <= 0)
		return res;
	res = add_times(p);
	if (res)
		return res;
	retention_apply(&p->gc->opt->keep, p->now, p->time, p->n);
	for (size_t i = 0; i < p->n && !res; i++)
		if (p->v[i].died && !p->time[i].keep)
			res = expire(p, &p->v[i]);
	return res;
}

static int end_dir(struct plan *p)
{
	int err = 0;

	if (p->dir_rows && p->dir_rows == p->dir_pruned)
		err = gc_rows_add(&p->emptied, p->dir);
	p->dir_rows = p->dir_pruned = 0;
	p->has_path = false;
	return err;
}

static int add_version(struct plan *p, const struct version *v)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		struct version *grown = reallocarray(p->v, room, sizeof(*grown));
		struct retention_version *times;

		if (!grown)
			return -ENOMEM;
		p->v = grown;
		times = reallocarray(p->time, room, sizeof(*times));
		if (!times)
			return -ENOMEM;
		p->time = times;
		p->room = room;
	}
	p->v[p->n++] = *v;
	return 0;
}

static int add_row(struct plan *p, int64_t dir, const char *name, const struct version *v)
{
	int err = 0;

	if (p->any && (dir != p->dir || strcmp(name, p->name) != 0)) {
		err = end_group(p);
		if (!err && dir != p->dir)
			err = end_dir(p);
		p->n = 0;
	}
	if (err)
		return err;
	p->any = true;
	p->dir = dir;
	strcpy(p->name, name);
	return add_version(p, v);
}

/* The next rows, from the highest (dir, name, born) down. How many. */
static int read_some(struct plan *p)
{
	char after[FENCE_NAME_MAX + 1], name[FENCE_NAME_MAX + 1];
	auto_stmt struct stmt *st = NULL;
	int count = 0, res = db_stmt(p->gc->db,
				     "SELECT id, dir, name, born, died, child FROM entry"
				     " WHERE (dir, name, born) < (?1, ?2, ?3)"
				     " ORDER BY dir DESC, name DESC, born DESC LIMIT ?4",
				     &st);

	if (res)
		return res;
	strcpy(after, p->name);
	stmt_int(st, 1, p->any ? p->dir : INT64_MAX);
	stmt_path(st, 2, after);
	stmt_int(st, 3, p->any && p->n ? p->v[p->n - 1].born : 0);
	stmt_int(st, 4, GC_ROWS);
	while ((res = stmt_step(st)) > 0) {
		struct version v = {
			.row = stmt_get_int(st, 0),
			.born = stmt_get_int(st, 3),
			.died = stmt_get_int(st, 4),
			.child = stmt_get_int(st, 5),
		};
		int err = stmt_get_str(st, 2, name, sizeof(name));

		if (!err)
			err = add_row(p, stmt_get_int(st, 1), name, &v);
		if (err)
			return err;
		count++;
	}
	return res < 0 ? res : count;
}

static int find_now(struct plan *p)
{
	int64_t revision;
	int err = revision_at_time(p->gc->db, p->gc->now, INT64_MAX, &revision);

	if (err == -ENOENT) { /* all of the store lies in the future: the clock was stepped back */
		p->now = p->gc->now;
		return 0;
	}
	return err ? err : revision_time(p->gc->db, revision, &p->now);
}

static int plan_all(struct plan *p)
{
	int64_t seen = 0;
	int res = find_now(p);

	while (!res && (res = read_some(p)) > 0) {
		seen += res;
		res = gc_step(p->gc, GC_PRUNE, seen, 0);
	}
	return res ? res : end_group(p);
}

int gc_prune_plan(struct gc *gc)
{
	__attribute__((cleanup(cleanup_plan))) struct plan *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->gc = gc;
	err = plan_all(p);
	if (!err && gc->opt->dry_run)
		gc->report->versions.n = (int64_t)gc->pruned.n;
	return gc_fail(gc, err, "cannot find out what has expired, so nothing is removed");
}

struct prune {
	struct gc *gc;
	const int64_t *row;
	size_t n;
	int64_t gone;
};

static int delete_by_number(struct db *db, const char *sql, int64_t n)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, sql, &st);

	if (err)
		return err;
	stmt_int(st, 1, n);
	return stmt_run(st);
}

/* 1 and the directory of a dead row (0: it is none); 0: there is no such row. */
static int dead_row(struct db *db, int64_t row, int64_t *out_child)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT child FROM entry WHERE id = ?1 AND died IS NOT NULL", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	res = stmt_step(st);
	if (res > 0)
		*out_child = stmt_get_int(st, 0);
	return res;
}

static int delete_dir_times(struct db *db, int64_t dir)
{
	return delete_by_number(db,
				"DELETE FROM dirtime WHERE dir = ?1"
				" AND NOT EXISTS(SELECT 1 FROM entry WHERE child = ?1)",
				dir);
}

static int prune_row(struct prune *p, struct db *db, int64_t row)
{
	int64_t child = 0;
	int res = dead_row(db, row, &child);

	if (res <= 0)
		return res;
	res = delete_by_number(db,
			       "DELETE FROM entry WHERE id = ?1 AND died IS NOT NULL AND"
			       " (child IS NULL OR NOT EXISTS(SELECT 1 FROM entry AS c WHERE"
			       " c.dir = entry.child))",
			       row);
	if (res || db_changes(db) == 0)
		return res;
	p->gone++;
	res = delete_by_number(db, "DELETE FROM xattr WHERE entry = ?1", row);
	return res || !child ? res : delete_dir_times(db, child);
}

static int prune_step(struct db *db, void *arg)
{
	struct prune *p = arg;
	int err = 0;

	p->gone = 0;
	for (size_t i = 0; i < p->n && !err; i++)
		err = prune_row(p, db, p->row[i]);
	return err;
}

int gc_prune(struct gc *gc)
{
	for (size_t i = 0; i < gc->pruned.n; i += GC_BATCH) {
		size_t left = gc->pruned.n - i;
		struct prune p = { .gc = gc, .row = &gc->pruned.v[i] };
		int err = gc_step(gc, GC_PRUNE, (int64_t)i, (int64_t)gc->pruned.n);

		p.n = left < GC_BATCH ? left : GC_BATCH;
		if (!err)
			err = gc_write(gc, prune_step, &p);
		if (err)
			return err;
		gc->report->versions.n += p.gone;
	}
	return 0;
}
