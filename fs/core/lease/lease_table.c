/* SPDX-License-Identifier: MIT */
/* The table of live leases. See lease_table.h. Core layer. */
#include "core/lease/lease_impl.h"

#include "base/io.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int lease_cmp(const struct lease *a, const struct lease *b)
{
	return strcmp(a->path, b->path);
}

/* RB_GENERATE_STATIC is written for systems that define __unused. */
RB_PROTOTYPE_INTERNAL(lease_tree, lease, by_path, lease_cmp, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(lease_tree, lease, by_path, lease_cmp, __attribute__((unused)) static)

bool path_stands_against(const char *a, const char *b)
{
	return path_is_within(a, b) || path_is_within(b, a);
}

void lease_free(struct lease *l)
{
	free(l->path);
	free(l->owner);
	free(l);
}

void lease_info_of(const struct lease *l, struct lease_info *out)
{
	int64_t left = l->expires - io_boot_ns();

	*out = (struct lease_info){
		.token = l->token, .ttl = l->ttl, .uid = l->uid, .keep = !l->ctl
	};
	out->remaining = left > 0 ? left : 0;
	strcpy(out->path, l->path);
	strcpy(out->owner, l->owner);
}

struct lease *lease_find_locked(struct lease_table *t, const char *path)
{
	struct lease key = { .path = (char *)(uintptr_t)path };

	lock_assert_held(&t->lock);
	return RB_FIND(lease_tree, &t->live, &key);
}

/* On the path itself or above it. */
static struct lease *find_covering(struct lease_table *t, const char *path)
{
	char at[FENCE_PATH_MAX + 1];
	struct lease *l;
	char *slash;

	strcpy(at, path);
	while (!(l = lease_find_locked(t, at)) && strcmp(at, ".") != 0) {
		slash = strrchr(at, '/');
		if (slash)
			*slash = '\0';
		else
			strcpy(at, ".");
	}
	return l;
}

/*
 * Beneath it: in the order of strcmp, what is beneath p are the paths that begin with "p/", so they
 * follow one another from there.
 */
static struct lease *find_beneath(struct lease_table *t, const char *path)
{
	char from[FENCE_PATH_MAX + 2];
	struct lease key = { .path = from }, *l;

	if (strcmp(path, ".") == 0)
		return RB_MIN(lease_tree, &t->live);
	strcpy(from, path);
	strcat(from, "/");
	l = RB_NFIND(lease_tree, &t->live, &key);
	return l && path_is_within(l->path, path) ? l : NULL;
}

struct lease *lease_conflict_locked(struct lease_table *t, const char *path)
{
	struct lease *l = find_covering(t, path);

	lock_assert_held(&t->lock);
	return l ? l : find_beneath(t, path);
}

struct lease *lease_first_locked(struct lease_table *t)
{
	lock_assert_held(&t->lock);
	return RB_MIN(lease_tree, &t->live);
}

struct lease *lease_after_locked(struct lease_table *t, struct lease *l)
{
	lock_assert_held(&t->lock);
	(void)t;
	return RB_NEXT(lease_tree, &t->live, l);
}

int lease_insert_locked(struct lease_table *t, struct lease *l)
{
	lock_assert_held(&t->lock);
	if (RB_INSERT(lease_tree, &t->live, l))
		return -EEXIST;
	t->n_live++;
	return 0;
}

void lease_remove_locked(struct lease_table *t, struct lease *l)
{
	lock_assert_held(&t->lock);
	RB_REMOVE(lease_tree, &t->live, l);
	t->n_live--;
}

int lease_end_locked(struct lease_table *t, struct lease *l, enum event_kind why,
		     struct ended **list)
{
	struct ended *e = calloc(1, sizeof(*e));

	lock_assert_held(&t->lock);
	if (!e)
		return -ENOMEM;
	lease_remove_locked(t, l);
	e->lease = l;
	e->why = why;
	e->by_uid = l->uid;
	e->highest = -1;
	while (*list)
		list = &(*list)->next;
	*list = e;
	return 0;
}

void lease_collect_expired_locked(struct lease_table *t, struct ended **list)
{
	int64_t now = io_boot_ns();
	struct lease *l, *next;

	lock_assert_held(&t->lock);
	for (l = RB_MIN(lease_tree, &t->live); l; l = next) {
		next = RB_NEXT(lease_tree, &t->live, l);
		if (l->expires <= now && lease_end_locked(t, l, EVENT_EXPIRE, list) < 0)
			return;
	}
}

/* Leases of an earlier run of the daemon: each has its full time again. */
static int load_one(void *arg, const struct lease_row *row)
{
	struct lease_table *t = arg;
	struct lease *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->path = strdup(row->path);
	l->owner = strdup(row->owner);
	l->token = row->token;
	l->ttl = row->ttl;
	l->uid = UINT32_MAX;
	l->expires = io_boot_ns() + row->ttl;
	lock_take(&t->lock);
	err = l->path && l->owner ? lease_insert_locked(t, l) : -ENOMEM;
	lock_drop(&t->lock);
	if (err < 0) {
		lease_free(l);
		return -ENOMEM;
	}
	return 0;
}

int lease_table_init(struct core *c)
{
	struct lease_table *t = calloc(1, sizeof(*t));
	struct db *db;
	int err;

	if (!t)
		return -ENOMEM;
	c->leases = t;
	lock_init(&t->lock, LOCK_LEASES);
	RB_INIT(&t->live);
	t->last = &t->first;
	err = store_reader_get(c->store, &db);
	if (err < 0)
		return err;
	err = lease_each(db, load_one, t);
	store_reader_put(c->store, db);
	return err;
}

void lease_table_fini(struct core *c)
{
	struct lease_table *t = c->leases;
	struct lease *l;

	lock_take(&t->lock);
	while ((l = RB_ROOT(&t->live))) {
		lease_remove_locked(t, l);
		lease_free(l);
	}
	lock_drop(&t->lock);
	lock_fini(&t->lock);
	free(t);
}

void lease_counts(struct core *c, unsigned int *out_live, unsigned int *out_waiting)
{
	struct lease_table *t = c->leases;

	lock_take(&t->lock);
	*out_live = t->n_live;
	*out_waiting = t->n_waiting;
	lock_drop(&t->lock);
}

static unsigned int waiters_against(const struct lease_table *t, const char *path)
{
	unsigned int n = 0;

	for (const struct waiter *w = t->first; w; w = w->next)
		n += path_stands_against(w->path, path);
	return n;
}

bool lease_covering(struct core *c, const char *path, struct lease_info *out)
{
	struct lease_table *t = c->leases;
	struct lease *l;

	lock_take(&t->lock);
	l = find_covering(t, path);
	if (l && l->expires <= io_boot_ns())
		l = NULL;
	if (l)
		lease_info_of(l, out);
	lock_drop(&t->lock);
	return l != NULL;
}

bool lease_next(struct core *c, const char *after, struct lease_info *out)
{
	struct lease_table *t = c->leases;
	struct lease key = { .path = (char *)(uintptr_t)after }, *l;
	int64_t now = io_boot_ns();

	lock_take(&t->lock);
	l = RB_NFIND(lease_tree, &t->live, &key);
	while (l && (strcmp(l->path, after) == 0 || l->expires <= now))
		l = RB_NEXT(lease_tree, &t->live, l);
	if (l) {
		lease_info_of(l, out);
		out->waiters = waiters_against(t, l->path);
	}
	lock_drop(&t->lock);
	return l != NULL;
}

bool lease_held_by(struct core *c, const struct ctl *ctl, const char *path, struct lease_info *out)
{
	struct lease_table *t = c->leases;
	struct lease *l;
	bool held;

	lock_take(&t->lock);
	l = lease_find_locked(t, path);
	held = l && l->ctl == ctl && l->expires > io_boot_ns();
	if (held)
		lease_info_of(l, out);
	lock_drop(&t->lock);
	return held;
}

/* The next lease on @path or beneath it, after @l (NULL: the first). */
static struct lease *next_within(struct lease_table *t, const char *path, struct lease *l)
{
	struct lease *next;

	if (strcmp(path, ".") == 0)
		return l ? RB_NEXT(lease_tree, &t->live, l) : RB_MIN(lease_tree, &t->live);
	if (!l && (l = lease_find_locked(t, path)))
		return l;
	/* Between a path and what is beneath it others may stand: "p", "p-q", "p/q". */
	if (!l || strcmp(l->path, path) == 0)
		return find_beneath(t, path);
	next = RB_NEXT(lease_tree, &t->live, l);
	return next && path_is_within(next->path, path) ? next : NULL;
}

void lease_claimed(struct core *c, const char *path, int64_t token, const char *owner)
{
	struct lease_table *t = c->leases;
	struct ended *list = NULL;
	struct lease *l, *next;

	lock_take(&t->lock);
	for (l = next_within(t, path, NULL); l; l = next) {
		next = next_within(t, path, l);
		if (l->token < token && lease_end_locked(t, l, EVENT_LOSE, &list) < 0)
			break;
	}
	for (struct ended *e = list; e; e = e->next) {
		e->highest = token;
		strcpy(e->other, owner);
	}
	lease_write_ends_locked(c, list, NULL, NULL);
	lock_drop(&t->lock);
}
