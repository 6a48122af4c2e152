/* SPDX-License-Identifier: MIT */
/* Renew, release, and the writing down of ends. See lease_table.h. Core layer. */
#include "core/lease/lease_impl.h"

#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ending {
	struct job job; /* first */
	struct core *c;
	struct ended *list; /* owned */
	struct lease_info last;
	lease_done_fn done;
	void *arg;
};

static int write_one(struct db *db, const struct ended *e)
{
	struct event ev = {
		.kind = e->why, .uid = e->by_uid, .highest = e->highest, .token = e->lease->token
	};
	int err = lease_clear(db, e->lease->path, e->lease->token);

	if (err < 0)
		return err;
	strcpy(ev.path, e->lease->path);
	strcpy(ev.owner, e->lease->owner);
	strcpy(ev.other, e->other);
	return event_add(db, &ev);
}

static int ends_apply(struct job *j, struct db *db)
{
	struct ending *m = (struct ending *)(void *)j;
	int err = 0;

	for (struct ended *e = m->list; e && !err; e = e->next)
		err = write_one(db, e);
	return err;
}

static void free_list(struct ended *list)
{
	while (list) {
		struct ended *e = list;

		list = e->next;
		lease_free(e->lease);
		free(e);
	}
}

/*
 * If it cannot be written the lease is over all the same; after a crash it would hold for one more
 * ttl.
 */
static void ends_done(struct job *j)
{
	struct ending *m = (struct ending *)(void *)j;
	struct core *c = m->c;

	if (m->done)
		m->done(m->arg, j->err, &m->last);
	free_list(m->list);
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops ends_job = { .apply = ends_apply, .done = ends_done };

static void count_ends(struct core *c, const struct ended *list)
{
	for (; list; list = list->next) {
		enum lease_ending how = list->why == EVENT_EXPIRE ? LEASE_EXPIRED :
					list->why == EVENT_LOSE	  ? LEASE_LOST :
								    LEASE_RELEASED;

		metric_add(&c->metrics.leases_ended[how], 1);
	}
}

int lease_write_ends_locked(struct core *c, struct ended *list, lease_done_fn done, void *arg)
{
	struct ending *m;
	int err;

	lock_assert_held(&c->leases->lock);
	if (!list)
		return 0;
	count_ends(c, list);
	m = calloc(1, sizeof(*m));
	err = m ? busy_begin(&c->busy) : -ENOMEM;
	if (err < 0) {
		free(m);
		free_list(list);
		return err;
	}
	m->c = c;
	lease_info_of(list->lease, &m->last);
	m->job.ops = &ends_job;
	/*
	 * That a lease is over is no promise: if it is lost with the power the lease holds for one
	 * more ttl.
	 */
	m->job.is_deferred = true;
	m->job.is_internal = !done;
	m->list = list;
	m->done = done;
	m->arg = arg;
	committer_submit(&c->committer, &m->job);
	return 0;
}

/* Lock held. The lease that @token and @owner name, if it is alive. */
static int match_locked(struct lease_table *t, const char *path, int64_t token, const char *owner,
			struct lease **out)
{
	struct lease *l = lease_find_locked(t, path);

	lock_assert_held(&t->lock);
	if (!l || l->token != token || l->expires <= io_boot_ns())
		return -ETIME;
	if (strcmp(l->owner, owner) != 0)
		return -EPERM;
	*out = l;
	return 0;
}

/*
 * A new ttl is written down before it counts: after a crash the lease gets the time that its holder
 * was told.
 */
struct retime {
	struct job job; /* first */
	struct core *c;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	int64_t token, ttl;
	lease_done_fn done;
	void *arg;
};

static int retime_apply(struct job *j, struct db *db)
{
	struct retime *m = (struct retime *)(void *)j;

	return lease_set(db, m->path, m->token, m->owner, m->ttl, io_now_ns() + m->ttl);
}

static int extend(struct core *c, const char *path, int64_t token, const char *owner, int64_t ttl,
		  struct lease_info *out)
{
	struct lease *l;
	int err;

	lock_take(&c->leases->lock);
	err = match_locked(c->leases, path, token, owner, &l);
	if (!err && ttl)
		l->ttl = ttl;
	if (!err) {
		l->expires = io_boot_ns() + l->ttl;
		lease_info_of(l, out);
		metric_add(&c->metrics.leases_renewed, 1);
	}
	lock_drop(&c->leases->lock);
	return err;
}

static void retime_done(struct job *j)
{
	struct retime *m = (struct retime *)(void *)j;
	struct core *c = m->c;
	struct lease_info info = { 0 };
	int err = j->err == -ESTALE ? -ETIME : j->err;

	if (!err)
		err = extend(c, m->path, m->token, m->owner, m->ttl, &info);
	m->done(m->arg, err, &info);
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops retime_job = { .apply = retime_apply, .done = retime_done };

static int retime(struct core *c, const char *path, int64_t token, const char *owner, int64_t ttl,
		  lease_done_fn done, void *arg)
{
	struct retime *m = calloc(1, sizeof(*m));
	int err = m ? busy_begin(&c->busy) : -ENOMEM;

	if (err < 0) {
		free(m);
		return err;
	}
	m->c = c;
	m->job.ops = &retime_job;
	strcpy(m->path, path);
	strcpy(m->owner, owner);
	m->token = token;
	m->ttl = ttl;
	m->done = done;
	m->arg = arg;
	committer_submit(&c->committer, &m->job);
	return 0;
}

void lease_renew(struct core *c, const char *path, int64_t token, const char *owner, int64_t ttl,
		 lease_done_fn done, void *arg)
{
	struct lease_info info = { 0 };
	struct lease *l;
	bool changed;
	int err;

	lock_take(&c->leases->lock);
	err = match_locked(c->leases, path, token, owner, &l);
	changed = !err && ttl && ttl != l->ttl;
	lock_drop(&c->leases->lock);
	if (changed)
		err = retime(c, path, token, owner, ttl, done, arg);
	else if (!err)
		err = extend(c, path, token, owner, 0, &info);
	if (err < 0 || !changed)
		done(arg, err, &info);
}

static int release_locked(struct lease_table *t, const char *path, int64_t token, const char *owner,
			  bool force, struct ended **list)
{
	struct lease *l;
	int err;

	lock_assert_held(&t->lock);
	if (force) {
		l = lease_find_locked(t, path);
		err = l ? 0 : -ENOENT;
	} else {
		err = match_locked(t, path, token, owner, &l);
	}
	return err < 0 ? err : lease_end_locked(t, l, EVENT_RELEASE, list);
}

static void tell_force(struct ended *e, const char *path, const char *by)
{
	strcpy(e->other, by);
	log_warning("lease of %s on %s (token %lld) released by force by uid %u (%s)",
		    e->lease->owner, path, (long long)e->lease->token, e->by_uid, by);
}

void lease_release(struct core *c, const char *path, int64_t token, const char *owner, bool force,
		   uint32_t uid, lease_done_fn done, void *arg)
{
	struct ended *list = NULL;
	int err;

	lock_take(&c->leases->lock);
	err = release_locked(c->leases, path, token, owner, force, &list);
	if (!err) {
		list->by_uid = uid;
		if (force)
			tell_force(list, path, owner);
		err = lease_write_ends_locked(c, list, done, arg);
	}
	lock_drop(&c->leases->lock);
	if (err < 0)
		done(arg, err, NULL);
	lease_kick(c);
}
