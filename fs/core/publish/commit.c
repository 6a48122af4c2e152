/* SPDX-License-Identifier: MIT */
/*
 * The way of a commit. Core layer.
 *
 *   ctl           state OPEN -> COMMITTING under the session's lock: from here on its tree does not
 *                 change
 *   pool          seal: hash, fsync, move to blobs/, fsync of the directories (seal.c); build the
 *                 list of changes
 *   committer     in one transaction: blob rows, fence and preconditions, pointers, outcome of the
 *                 session (change_commit)
 *   notifier      kernel caches, visibility (notifier.c)
 *   done          state -> ENDED, or OPEN again after ENOSPC
 *
 * A crash before the transaction leaves staged files (emptied at the next start) or files in blobs/
 * that no row names (gc). After it, all that the rows name was fsynced before (P2).
 */
#include "core/publish/commit.h"

#include "base/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "core/publish/commit_access.h"
#include "core/access/permission.h"
#include "core/publish/refuse.h"
#include "core/publish/record_event.h"
#include "core/session/session_impl.h"
#include "store/tree/policy.h"
#include "store/fence/refusal_fill.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_AT_ONCE \
	(64            \
	 << 20) /* bytes of inline content in one transaction; more goes ahead of it, unreferenced until then */

struct commit {
	struct work work;  /* first; in the pool */
	struct job job;	   /* in the committer */
	struct session *s; /* reference owned */
	char *op;	   /* owned */
	int64_t seq;
	bool once;
	enum { COMMIT_PUBLISH, COMMIT_SALVAGE, COMMIT_DROP } what;
	int64_t begun;	      /* CLOCK_BOOTTIME, ns */
	struct refusal early; /* err set: refused before the transaction */
	struct sealed_set sealed;
	struct change_list list;
	struct commit_result result;
	int err; /* before the transaction */
	commit_done_fn done;
	void (*abort_done)(void *arg);
	void *arg;
};

static struct commit *commit_of(struct job *j)
{
	return (struct commit *)(void *)((char *)j - offsetof(struct commit, job));
}

static struct core *core_of(const struct commit *m)
{
	return m->s->view.core;
}

static void commit_free(struct commit *m)
{
	sealed_set_fini(&m->sealed);
	change_list_fini(&m->list);
	session_put(m->s);
	free(m->op);
	free(m);
}

static int record_sealed(struct db *db, const struct sealed_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++)
		err = sealed_record(db, &set->v[i]);
	return err;
}

/*
 * Superseded or overtaken: the claim that did it was durable before this transaction began (same
 * thread).
 */
static int check_superseded(struct session *s, struct refusal *r)
{
	const struct overtake *by = atomic_load(&s->overtaken);

	if (!by || !by->superseded)
		return 0;
	*r = (struct refusal){
		.err = ESTALE, .token = s->token, .highest = by->token, .set_at = by->at
	};
	strcpy(r->path, s->path);
	strcpy(r->set_path, by->path);
	strcpy(r->set_by, by->by);
	snprintf(r->text, sizeof(r->text),
		 "a newer session of the same token %" PRId64
		 " was opened with exclusive=1 on this path",
		 s->token);
	return -ESTALE;
}

static int publish(struct db *db, struct commit *m)
{
	struct session *s = m->s;
	struct commit_request req = {
		.changes = m->list.v,
		.n_changes = m->list.n,
		.expects = s->expects,
		.n_expects = s->n_expects,
		.path = s->path,
		.token = s->token,
		.owner = s->owner,
		.op = m->op,
		.session = s->id,
		.seq = m->seq,
		.once = m->once,
		.now_ns = io_now_ns(),
	};
	const char *denied = s->path;
	int allowed = permission_recheck(db, s->who, s->path);
	int err = check_superseded(s, &m->result.refusal);

	if (!err && !allowed) {
		allowed = commit_access(s, db, &m->list, &denied);
		err = allowed == -EACCES ? 0 : allowed;
	}
	if (!err)
		err = record_sealed(db, &m->sealed);
	if (!err)
		err = change_commit(db, &req, &m->result);
	if (!err && m->result.replayed)
		return -EALREADY; /* keep nothing of this attempt; record() writes the outcome */
	if (!err && m->sealed.n)
		err = quota_check(db);
	if (!err && allowed < 0)
		err = permission_refuse(&m->result.refusal, denied, s->token);
	if (!err)
		err = session_row_end(db, s->id, SESSION_COMMITTED, m->result.revision);
	return err ? err : record_commit(db, &req, &m->result, s->who->uid);
}

/*
 * A directory that it changed something in is gone. If a later owner may have taken it away, that
 * is the answer (P1).
 */
static int refuse_early(struct db *db, struct commit *m)
{
	struct session *s = m->s;
	struct fence_row row;
	int res = fence_highest(db, s->path, &row);

	if (!res && row.token <= s->token)
		res = fence_beneath(db, s->path, s->token, &row);
	else if (!res)
		res = 1;
	if (res < 0)
		return res;
	m->result.refusal = m->early;
	if (m->early.err != ENOENT || res == 0)
		return -m->early.err;
	return refusal_stale(&m->result.refusal, s->path, s->token, &row);
}

static int commit_apply(struct job *j, struct db *db)
{
	struct commit *m = commit_of(j);

	memset(&m->result, 0, sizeof(m->result));
	if (m->what == COMMIT_DROP)
		return session_row_end(db, m->s->id, SESSION_ABORTED, 0);
	if (m->early.err)
		return refuse_early(db, m);
	return publish(db, m);
}

static int commit_record(struct job *j, struct db *db)
{
	struct commit *m = commit_of(j);
	struct session *s = m->s;
	struct refused_write w = {
		.why = &m->result.refusal,
		.path = s->path,
		.owner = s->owner,
		.op = m->op,
		.session = s->id,
		.stage = m->what == COMMIT_SALVAGE ? "abort" : "commit",
		.token = s->token,
		.uid = s->who->uid,
		.who = s->who,
	};
	int err;

	if (j->err == -EALREADY)
		return session_row_end(db, s->id, SESSION_COMMITTED, m->result.revision);
	if (!m->result.refusal.err)
		return 0; /* the database said no, not the fence: the session goes on or is lost */
	err = refuse_record(db, &w, &m->sealed, &m->list);
	return err ? err : session_row_end(db, s->id, SESSION_REFUSED, 0);
}

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

static enum session_ending ending_of(enum session_outcome outcome)
{
	if (outcome == SESSION_COMMITTED)
		return SESSION_END_COMMITTED;
	return outcome == SESSION_REFUSED ? SESSION_END_REFUSED : SESSION_END_ABORTED;
}

static void end_session(struct commit *m, enum session_outcome outcome)
{
	struct session *s = m->s;

	rwlock_write(&s->lock);
	s->state = SESSION_STATE_ENDED;
	s->outcome = outcome;
	s->outcome_revision = m->result.revision;
	s->outcome_changed = m->result.changed;
	rwlock_drop(&s->lock);
	metric_add(&s->view.core->metrics.sessions_ended[ending_of(outcome)], 1);
	session_ended(s);
}

static void reopen_session(struct commit *m)
{
	struct session *s = m->s;

	seal_revert(s->view.core, s, &m->sealed);
	rwlock_write(&s->lock);
	s->state = SESSION_STATE_OPEN;
	rwlock_drop(&s->lock);
}

/*
 * The database has the content, or it is unknown whether it has: either way the session's end must
 * not delete it.
 */
static void disown_sealed(struct commit *m)
{
	rwlock_write(&m->s->lock);
	for (size_t i = 0; i < m->sealed.n; i++)
		m->sealed.v[i].node->fresh =
			false; /* what is pinned stays so until the session's removal */
	rwlock_drop(&m->s->lock);
}

static enum session_outcome outcome_of(const struct commit *m, int err)
{
	if (m->result.refusal.err)
		return SESSION_REFUSED;
	return err || m->what != COMMIT_PUBLISH ? SESSION_ABORTED : SESSION_COMMITTED;
}

/* Notifier: who reads `ok` no longer finds the session's tree. */
static void finish(struct core *c, struct commit *m, int err)
{
	if (err == -EALREADY)
		err = 0;
	if (m->result.refusal.err)
		err = -m->result.refusal.err;
	if (!err && m->result.replayed)
		seal_discard(c, &m->sealed);
	if (m->what == COMMIT_PUBLISH && is_full(err) && !m->result.refusal.err) {
		reopen_session(m);
	} else {
		disown_sealed(m);
		end_session(m, outcome_of(m, err));
	}
	if (m->what == COMMIT_PUBLISH)
		metrics_commit(&c->metrics, COMMIT_VERB_SESSION, err, m->result.replayed,
			       m->result.changed, m->begun);
	if (m->done)
		m->done(m->arg, err, &m->result);
	if (m->abort_done)
		m->abort_done(m->arg);
	commit_free(m);
	busy_end(&c->busy);
}

static void commit_done(struct job *j)
{
	finish(core_of(commit_of(j)), commit_of(j), j->err);
}

/* It did not get as far as a transaction. */
static void failed(void *arg)
{
	struct commit *m = arg;

	finish(core_of(m), m, m->err);
}

static const struct job_ops commit_job = {
	.apply = commit_apply,
	.record = commit_record,
	.done = commit_done,
};

/*
 * Ahead of the commit: inline blobs of a very large session, so that one transaction does not hold
 * them all in memory.
 */
struct ahead {
	struct job job;
	struct sealed *from;
	size_t n;
	struct lock lock;
	pthread_cond_t cond;
	bool finished;
};

static int ahead_apply(struct job *j, struct db *db)
{
	struct ahead *a = (struct ahead *)(void *)j;
	int err = 0;

	for (size_t i = 0; i < a->n && !err; i++)
		err = sealed_record(db, &a->from[i]);
	return err;
}

static void ahead_done(struct job *j)
{
	struct ahead *a = (struct ahead *)(void *)j;

	lock_take(&a->lock);
	a->finished = true;
	pthread_cond_signal(&a->cond);
	lock_drop(&a->lock);
}

static const struct job_ops ahead_job = { .apply = ahead_apply, .done = ahead_done };

static int record_ahead(struct core *c, struct sealed *from, size_t n)
{
	/* Deferred: the commit that refers to it syncs it. */
	struct ahead a = { .job = { .ops = &ahead_job, .is_deferred = true, .is_internal = true },
			   .from = from,
			   .n = n };

	for (size_t i = 0; i < n; i++) {
		int err = from[i].data ? sealed_pin(c, &from[i]) : 0;

		if (err < 0)
			return err;
	}
	lock_init(&a.lock, LOCK_QUEUE);
	lock_cond_init(&a.cond);
	committer_submit(&c->committer, &a.job);
	lock_take(&a.lock);
	while (!a.finished)
		lock_wait(&a.lock, &a.cond);
	lock_drop(&a.lock);
	pthread_cond_destroy(&a.cond);
	lock_fini(&a.lock);
	for (size_t i = 0; i < n && !a.job.err; i++) {
		from[i].recorded = true;
		free(from[i].data);
		from[i].data = NULL;
	}
	return a.job.err;
}

static int record_large(struct core *c, struct sealed_set *set)
{
	size_t bytes = 0, first = 0;
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++) {
		bytes += set->v[i].data ? (size_t)set->v[i].size : 0;
		if (bytes < INLINE_AT_ONCE)
			continue;
		err = record_ahead(c, &set->v[first], i + 1 - first);
		first = i + 1;
		bytes = 0;
	}
	return err;
}

/*
 * After a failed fsync the pages may be gone while the next fsync succeeds: the session must not be
 * committed on a second try.
 */
static int lost(struct commit *m, int err)
{
	if (!is_full(err) && err != -ENOMEM)
		log_error("session %s on %s is lost: sealing its content failed (%s)", m->s->id,
			  m->s->path, errname(err));
	return is_full(err) ? err : -EIO;
}

static void run_commit(struct work *w)
{
	struct commit *m = (struct commit *)(void *)w;
	struct core *c = core_of(m);
	int err = 0;

	m->job.ops = &commit_job;
	m->job.is_deferred = m->what == COMMIT_DROP; /* a crash has the same outcome */
	if (m->what != COMMIT_DROP) {
		err = seal_session(c, m->s, &m->sealed);
		if (!err)
			err = record_large(c, &m->sealed);
		if (err < 0)
			err = lost(m, err);
		if (!err)
			err = change_list_build(c, m->s, &m->sealed, &m->list, &m->early);
	}
	if (err < 0) {
		m->err = err == -ENOMEM ? -ENOSPC : err;
		notifier_call(&c->notifier, failed, m);
	} else {
		committer_submit(&c->committer, &m->job);
	}
}

static int begin(struct session *s, enum session_state next)
{
	int err = 0;

	rwlock_write(&s->lock);
	if (s->state == SESSION_STATE_OPEN) {
		s->state = next;
		s->flushing = next == SESSION_STATE_COMMITTING;
	} else {
		err = s->state == SESSION_STATE_COMMITTING ? -EBUSY : -ESTALE;
	}
	rwlock_drop(&s->lock);
	return err;
}

static int commit_new(struct core *c, struct session *s, const char *op, struct commit **out)
{
	struct commit *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->op = op ? strdup(op) : NULL;
	err = op && !m->op ? -ENOMEM : busy_begin(&c->busy);
	if (err < 0) {
		free(m->op);
		free(m);
		return err;
	}
	view_get(&s->view);
	m->s = s;
	m->begun = io_boot_ns();
	m->work.run = run_commit;
	*out = m;
	return 0;
}

static int start(struct core *c, struct commit *m, enum session_state next)
{
	int err = begin(m->s, next);

	if (err < 0) {
		commit_free(m);
		busy_end(&c->busy);
		return err;
	}
	pool_submit(&c->pool, &m->work);
	return 0;
}

int commit_session(struct core *c, struct session *s, const struct commit_args *args,
		   commit_done_fn done, void *arg)
{
	struct commit *m;
	int err = commit_new(c, s, args->op, &m);

	if (err < 0)
		return err;
	m->seq = args->seq;
	m->once = args->once;
	m->done = done;
	m->arg = arg;
	return start(c, m, SESSION_STATE_COMMITTING);
}

/* What the reject rows of a session that ends refused, without a commit, will say. */
static void early_refusal(struct session *s, struct refusal *r)
{
	const struct overtake *by = atomic_load(&s->overtaken);

	*r = (struct refusal){ .err = ESTALE, .token = s->token, .highest = by ? by->token : -1 };
	strcpy(r->path, s->path);
	if (by) {
		r->set_at = by->at;
		strcpy(r->set_path, by->path);
		strcpy(r->set_by, by->by);
	}
	snprintf(r->text, sizeof(r->text), "the session was overtaken and ended without a commit");
}

int commit_abort(struct core *c, struct session *s, void (*done)(void *arg), void *arg)
{
	struct commit *m;
	int err = commit_new(c, s, NULL, &m);

	if (err < 0)
		return err;
	m->seq = -1;
	m->what = COMMIT_DROP;
	if (atomic_load(&s->overtaken) || atomic_load(&s->refused)) {
		m->what = COMMIT_SALVAGE;
		early_refusal(s, &m->early);
	}
	m->abort_done = done;
	m->arg = arg;
	return start(c, m, SESSION_STATE_ENDED);
}
