/* SPDX-License-Identifier: MIT */
/*
 * Acquire: the queue of waiters and the grant. See lease_table.h. Core layer.
 *
 * A waiter that may be granted is marked `granting` under the table's lock and its job submitted:
 * from then on it stands against all others as if it held the lease, so the transaction needs no
 * second look. Nothing else puts leases into the table.
 */
#include "core/lease/lease_impl.h"
#include "core/publish/claim.h"

#include "base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void waiter_free(struct waiter *w)
{
	free(w->path);
	free(w->owner);
	free(w);
}

static void unlink_locked(struct lease_table *t, struct waiter *w)
{
	struct waiter **at = &t->first;

	lock_assert_held(&t->lock);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->is_queued = false;
	if (!*at)
		t->last = at;
	t->n_waiting--;
}

static int grant_apply(struct job *j, struct db *db)
{
	struct waiter *w = (struct waiter *)(void *)j;
	struct event e = { .kind = EVENT_GRANT, .uid = w->who.uid, .highest = -1, .n = w->ttl };
	struct claim claim = { .path = w->path,
			       .owner = w->owner,
			       .who = &w->who,
			       .allowed = claim_to_write,
			       .why = &w->refusal };
	int err = lease_issue_token(db, w->path, &w->token);

	claim.token = w->token;
	if (!err)
		err = claim_raise(&claim, db);
	if (!err)
		err = lease_set(db, w->path, w->token, w->owner, w->ttl, claim.at + w->ttl);
	if (err < 0)
		return err;
	strcpy(e.path, w->path);
	strcpy(e.owner, w->owner);
	e.token = w->token;
	return event_add(db, &e);
}

static struct lease *lease_of(const struct waiter *w)
{
	struct lease *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->path = strdup(w->path);
	l->owner = strdup(w->owner);
	l->token = w->token;
	l->ttl = w->ttl;
	l->uid = w->who.uid;
	l->ctl = w->keep ? NULL : w->ctl;
	l->expires = io_boot_ns() + w->ttl;
	if (!l->path || !l->owner) {
		lease_free(l);
		return NULL;
	}
	return l;
}

/* The lease begins to run here, not when it was asked for. */
static void grant_durable(struct job *j)
{
	struct waiter *w = (struct waiter *)(void *)j;
	struct core *c = w->c;
	struct lease_table *t = c->leases;
	struct lease *l;

	if (j->err)
		return;
	l = lease_of(w);
	lock_take(&t->lock);
	if (!l || lease_insert_locked(t, l) < 0) {
		j->err = -ENOMEM; /* the token is burnt and the fence raised; nobody holds it */
		if (l)
			lease_free(l);
	} else {
		metric_add(&c->metrics.leases_granted, 1);
	}
	unlink_locked(t, w);
	lock_drop(&t->lock);
}

static void let_go(struct core *c, const struct waiter *w)
{
	struct lease_table *t = c->leases;
	struct ended *list = NULL;
	struct lease *l;

	lock_take(&t->lock);
	l = lease_find_locked(t, w->path);
	if (l && l->token == w->token)
		lease_end_locked(t, l, EVENT_RELEASE, &list);
	lease_write_ends_locked(c, list, NULL, NULL);
	lock_drop(&t->lock);
}

static void grant_done(struct job *j)
{
	struct waiter *w = (struct waiter *)(void *)j;
	struct core *c = w->c;
	struct lease_info info = {
		.token = w->token, .ttl = w->ttl, .remaining = w->ttl, .keep = w->keep
	};
	bool canceled;

	lock_take(&c->leases->lock);
	if (w->is_queued)
		unlink_locked(c->leases, w);
	canceled = w->canceled;
	lock_drop(&c->leases->lock);
	strcpy(info.path, w->path);
	strcpy(info.owner, w->owner);
	if (canceled && !j->err)
		let_go(c, w);
	w->done(w->arg, canceled ? -ECANCELED : j->err, &info);
	waiter_free(w);
	lease_kick(c);
	busy_end(&c->busy);
}

static const struct job_ops grant_job = {
	.apply = grant_apply,
	.durable = grant_durable,
	.done = grant_done,
};

static bool may_grant_locked(struct lease_table *t, const struct waiter *w)
{
	lock_assert_held(&t->lock);
	if (lease_conflict_locked(t, w->path))
		return false;
	for (const struct waiter *before = t->first; before != w; before = before->next)
		if (path_stands_against(before->path, w->path))
			return false;
	return true;
}

static void holder_of(struct lease_table *t, const struct waiter *w, struct lease_info *out)
{
	const struct lease *l = lease_conflict_locked(t, w->path);

	*out = (struct lease_info){ 0 };
	if (l)
		lease_info_of(l, out);
}

/* Lock held. Takes waiters that do not wait longer (or not at all) out of the queue. */
static struct waiter *take_given_up(struct lease_table *t)
{
	struct waiter *out = NULL, *w, *next;
	int64_t now = io_boot_ns();

	for (w = t->first; w; w = next) {
		next = w->next;
		if (w->granting || (!w->canceled && w->deadline > now))
			continue;
		unlink_locked(t, w);
		w->next = out;
		out = w;
	}
	return out;
}

static void answer_given_up(struct core *c, struct waiter *list)
{
	while (list) {
		struct waiter *w = list;
		struct lease_info info;

		list = w->next;
		lock_take(&c->leases->lock);
		holder_of(c->leases, w, &info);
		lock_drop(&c->leases->lock);
		w->done(w->arg,
			w->canceled ? -ECANCELED :
			w->deadline ? -ETIMEDOUT :
				      -EBUSY,
			&info);
		waiter_free(w);
		busy_end(&c->busy);
	}
}

void lease_kick(struct core *c)
{
	struct lease_table *t = c->leases;
	struct waiter *given_up, *w;
	struct ended *expired = NULL;

	lock_take(&t->lock);
	lease_collect_expired_locked(t, &expired);
	lease_write_ends_locked(c, expired, NULL, NULL);
	for (w = t->first; w; w = w->next) {
		if (w->granting || w->canceled || !may_grant_locked(t, w))
			continue;
		w->granting = true;
		w->job.ops = &grant_job;
		committer_submit(&c->committer, &w->job);
	}
	given_up = take_given_up(t);
	lock_drop(&t->lock);
	answer_given_up(c, given_up);
}

static struct waiter *waiter_new(const struct acquire_args *a)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->path = strdup(a->path);
	w->owner = strdup(a->owner);
	if (!w->path || !w->owner) {
		waiter_free(w);
		return NULL;
	}
	w->ttl = a->ttl;
	w->deadline = a->wait ? io_boot_ns() + a->wait : 0;
	w->who = *a->who;
	w->ctl = a->ctl;
	w->keep = a->keep;
	return w;
}

/* A waiter counts as busy until it is answered; core_shutdown() cancels those that wait. */
void lease_acquire(struct core *c, const struct acquire_args *a, acquire_done_fn done, void *arg)
{
	static const struct lease_info none;
	struct waiter *w = waiter_new(a);
	int err = w ? busy_begin(&c->busy) : -ENOMEM;

	if (err < 0) {
		if (w)
			waiter_free(w);
		done(arg, err, &none);
		return;
	}
	w->c = c;
	w->done = done;
	w->arg = arg;
	lock_take(&c->leases->lock);
	*c->leases->last = w;
	c->leases->last = &w->next;
	w->is_queued = true;
	c->leases->n_waiting++;
	lock_drop(&c->leases->lock);
	lease_kick(c);
}

static void cancel_where(struct core *c, const struct ctl *ctl)
{
	lock_take(&c->leases->lock);
	for (struct waiter *w = c->leases->first; w; w = w->next)
		if (!ctl || w->ctl == ctl)
			w->canceled = true;
	lock_drop(&c->leases->lock);
}

void lease_cancel_all(struct core *c)
{
	cancel_where(c, NULL);
	lease_kick(c);
}

static bool end_conversation_locked(struct lease_table *t, const struct ctl *ctl,
				    struct ended **list)
{
	lock_assert_held(&t->lock);
	for (struct lease *l = lease_first_locked(t); l; l = lease_after_locked(t, l)) {
		if (l->ctl != ctl)
			continue;
		return lease_end_locked(t, l, EVENT_RELEASE, list) == 0;
	}
	return false;
}

void lease_conversation_ended(struct core *c, const struct ctl *ctl)
{
	struct ended *list = NULL;

	cancel_where(c, ctl);
	lock_take(&c->leases->lock);
	while (end_conversation_locked(c->leases, ctl, &list))
		;
	lease_write_ends_locked(c, list, NULL, NULL);
	lock_drop(&c->leases->lock);
	lease_kick(c);
}

int64_t lease_tick(struct core *c)
{
	struct lease_table *t = c->leases;
	int64_t next = INT64_MAX;

	lease_kick(c);
	lock_take(&t->lock);
	for (struct lease *l = lease_first_locked(t); l; l = lease_after_locked(t, l))
		if (l->expires < next)
			next = l->expires;
	for (struct waiter *w = t->first; w; w = w->next)
		if (!w->granting && w->deadline && w->deadline < next)
			next = w->deadline;
	lock_drop(&t->lock);
	return next;
}
