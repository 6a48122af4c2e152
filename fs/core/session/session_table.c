/* SPDX-License-Identifier: MIT */
/*
 * See session_table.h. Core layer.
 *
 * Being told here is what makes a late writer fail early; what makes it fail for certain is the
 * check in the transaction of its commit. Flags are set after the claim is durable and before it is
 * answered, so from the answer on both hold.
 */
#include "core/session/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct session_table {
	struct lock lock;      /* guards all below */
	struct session *by_id; /* uthash */
	unsigned int count;
};

int session_table_init(struct core *c)
{
	struct session_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	lock_init(&t->lock, LOCK_SESSIONS);
	c->sessions = t;
	return 0;
}

unsigned int session_table_count(struct core *c)
{
	unsigned int n;

	lock_take(&c->sessions->lock);
	n = c->sessions->count;
	lock_drop(&c->sessions->lock);
	return n;
}

void session_table_add(struct core *c, struct session *s)
{
	struct session_table *t = c->sessions;

	view_get(&s->view);
	lock_take(&t->lock);
	HASH_ADD(hh, t->by_id, id, sizeof(s->id) - 1, s);
	t->count++;
	lock_drop(&t->lock);
}

void session_table_remove(struct core *c, struct session *s)
{
	struct session_table *t = c->sessions;
	struct session *found;

	lock_take(&t->lock);
	HASH_FIND(hh, t->by_id, s->id, sizeof(s->id) - 1, found);
	if (found) {
		HASH_DELETE(hh, t->by_id, found);
		t->count--;
	}
	lock_drop(&t->lock);
	if (found)
		session_put(found);
}

void session_table_fini(struct core *c)
{
	struct session *s, *next;

	HASH_ITER(hh, c->sessions->by_id, s, next)
		session_table_remove(c, s);
	lock_fini(&c->sessions->lock);
	free(c->sessions);
}

struct session *session_table_get(struct core *c, const char *id)
{
	struct session_table *t = c->sessions;
	struct session *found = NULL;

	if (strlen(id) != sizeof(found->id) - 1)
		return NULL;
	lock_take(&t->lock);
	HASH_FIND(hh, t->by_id, id, sizeof(found->id) - 1, found);
	if (found)
		view_get(&found->view);
	lock_drop(&t->lock);
	return found;
}

void session_table_each(struct core *c, void (*fn)(struct session *s, void *arg), void *arg)
{
	struct session *s, *next;

	lock_take(&c->sessions->lock);
	HASH_ITER(hh, c->sessions->by_id, s, next)
		fn(s, arg);
	lock_drop(&c->sessions->lock);
}

static void overtake(struct session *s, const struct overtake *by)
{
	struct overtake *copy, *none = NULL;

	if (atomic_load(&s->overtaken))
		return;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return; /* it learns at its commit */
	*copy = *by;
	if (!atomic_compare_exchange_strong(&s->overtaken, &none, copy))
		free(copy);
}

static void claimed_one(struct session *s, void *arg)
{
	const struct overtake *by = arg;

	if (by->token <= s->token)
		return;
	if (path_is_within(s->path, by->path))
		overtake(s, by);
	else if (path_is_beneath(by->path, s->path))
		atomic_store(&s->rows_beneath, true);
}

void session_table_claimed(struct core *c, const struct claimed *claim)
{
	struct overtake by = { .token = claim->token, .at = claim->at };

	strncpy(by.path, claim->path, sizeof(by.path) - 1);
	strncpy(by.by, claim->owner, sizeof(by.by) - 1);
	session_table_each(c, claimed_one, &by);
}

static void supersede_one(struct session *s, void *arg)
{
	const struct session *newest = arg;
	struct overtake by = { .superseded = true, .token = newest->token, .at = newest->opened };

	if (s == newest || s->token != newest->token || s->number >= newest->number ||
	    strcmp(s->path, newest->path) != 0)
		return;
	strncpy(by.path, newest->path, sizeof(by.path) - 1);
	strncpy(by.by, newest->owner, sizeof(by.by) - 1);
	overtake(s, &by);
}

void session_table_supersede(struct core *c, struct session *newest)
{
	session_table_each(c, supersede_one, newest);
}
