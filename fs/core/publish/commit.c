/* SPDX-License-Identifier: MIT */
/*
 * A session as the source of what is published, and its end without that. See publish.h for the
 * way. Layer: core, room publish.
 *
 * The session's state is OPEN -> COMMITTING under its lock before anything is sealed: from then on
 * its tree does not change. It becomes ENDED, or OPEN again after ENOSPC.
 */
#include "core/publish/commit.h"

#include "wire/errname.h"
#include "base/log.h"
#include "core/access/permission.h"
#include "core/publish/ahead.h"
#include "core/publish/commit_access.h"
#include "core/publish/publish.h"
#include "core/session/session_impl.h"
#include "store/fence/fence.h"
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct commit {
	struct publish p;     /* first */
	struct session *s;    /* reference owned */
	char *op;	      /* owned */
	struct refusal early; /* err set: refused before the transaction */
	commit_done_fn done;
	void (*abort_done)(void *arg);
	void *arg;
};

static struct commit *commit_of(struct publish *p)
{
	return (struct commit *)(void *)p;
}

static void commit_free(struct commit *m)
{
	publish_fini(&m->p);
	session_put(m->s);
	free(m->op);
	free(m);
}

/* -------------------------------------------------------------------------------------- sealing */

static bool is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
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

static int commit_seal(struct publish *p)
{
	struct commit *m = commit_of(p);
	int err = seal_session(p->c, m->s, &p->sealed);

	if (!err)
		err = ahead_record(p->c, &p->sealed);
	if (err < 0)
		return lost(m, err);
	err = change_list_build(p->c, m->s, &p->sealed, &p->list, &m->early);
	return err == -ENOMEM ? -ENOSPC : err;
}

/* ------------------------------------------------------------------------------- in the transaction */

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

/*
 * A directory that it changed something in is gone. If a later owner may have taken it away, that
 * is the answer (P1).
 */
static int refuse_early(struct publish *p, struct db *db)
{
	struct commit *m = commit_of(p);
	struct session *s = m->s;
	struct fence_row row;
	int res = fence_highest(db, s->path, &row);

	if (!res && row.token <= s->token)
		res = fence_beneath(db, s->path, s->token, &row);
	else if (!res)
		res = 1;
	if (res < 0)
		return res;
	p->result.refusal = m->early;
	if (m->early.err != ENOENT || res == 0)
		return -m->early.err;
	return refusal_stale(&p->result.refusal, s->path, s->token, &row);
}

static int commit_judge(struct publish *p, struct db *db)
{
	struct session *s = commit_of(p)->s;
	const char *denied = s->path;
	int err, allowed;

	if (commit_of(p)->early.err)
		return refuse_early(p, db);
	err = check_superseded(s, &p->result.refusal);
	if (err < 0)
		return err;
	allowed = permission_recheck(db, s->who, s->path);
	if (!allowed)
		allowed = commit_access(s, db, &p->list, &denied);
	if (allowed < 0 && allowed != -EACCES)
		return allowed;
	p->denied = allowed < 0 ? denied : NULL;
	return 0;
}

static int commit_settle(struct publish *p, struct db *db, enum session_outcome outcome)
{
	return session_row_end(db, commit_of(p)->s->id, outcome,
			       outcome == SESSION_COMMITTED ? p->result.revision : 0);
}

static int drop_judge(struct publish *p, struct db *db)
{
	int err = session_row_end(db, commit_of(p)->s->id, SESSION_ABORTED, 0);

	return err ? err : 1;
}

/* ------------------------------------------------------------------------------------- the end */

static enum session_ending ending_of(enum session_outcome outcome)
{
	if (outcome == SESSION_COMMITTED)
		return SESSION_END_COMMITTED;
	return outcome == SESSION_REFUSED ? SESSION_END_REFUSED : SESSION_END_ABORTED;
}

/* Who reads the answer after this no longer finds the session's tree. */
static void end_session(struct commit *m, enum session_outcome outcome)
{
	struct session *s = m->s;

	rwlock_write(&s->lock);
	s->state = SESSION_STATE_ENDED;
	s->outcome = outcome;
	s->outcome_revision = m->p.result.revision;
	s->outcome_changed = m->p.result.changed;
	rwlock_drop(&s->lock);
	metric_add(&m->p.c->metrics.sessions_ended[ending_of(outcome)], 1);
	session_ended(s);
}

static void reopen_session(struct commit *m)
{
	struct session *s = m->s;

	seal_revert(m->p.c, s, &m->p.sealed);
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
	for (size_t i = 0; i < m->p.sealed.n; i++)
		m->p.sealed.v[i].node->fresh =
			false; /* what is pinned stays so until the session's removal */
	rwlock_drop(&m->s->lock);
}

static void answer(struct commit *m, int err)
{
	if (m->done)
		m->done(m->arg, err, &m->p.result);
	if (m->abort_done)
		m->abort_done(m->arg);
	commit_free(m);
}

static void commit_end(struct publish *p, int err)
{
	struct commit *m = commit_of(p);
	bool is_refused = p->result.refusal.err != 0;

	if (!err && p->result.replayed)
		seal_discard(p->c, &p->sealed);
	if (is_full(err) && !is_refused) {
		reopen_session(m);
	} else {
		disown_sealed(m);
		end_session(m, is_refused ? SESSION_REFUSED :
			       err	  ? SESSION_ABORTED :
					    SESSION_COMMITTED);
	}
	answer(m, err);
}

static void abort_end(struct publish *p, int err)
{
	struct commit *m = commit_of(p);

	disown_sealed(m);
	end_session(m, p->result.refusal.err ? SESSION_REFUSED : SESSION_ABORTED);
	answer(m, err);
}

static const struct publish_source by_commit = {
	.stage = "commit",
	.is_counted = true,
	.verb = COMMIT_VERB_SESSION,
	.seal = commit_seal,
	.judge = commit_judge,
	.settle = commit_settle,
	.end = commit_end,
};

/* Never published: what it staged is kept as what was refused (P9). */
static const struct publish_source by_salvage = {
	.stage = "abort",
	.seal = commit_seal,
	.judge = refuse_early,
	.settle = commit_settle,
	.end = abort_end,
};

static const struct publish_source by_drop = {
	.stage = "abort",
	.judge = drop_judge,
	.end = abort_end,
};

/* ------------------------------------------------------------------------------------ the beginning */

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

/* What does not change any more once nobody can add a precondition. */
static void fill(struct commit *m)
{
	struct session *s = m->s;

	m->p.path = s->path;
	m->p.owner = s->owner;
	m->p.session = s->id;
	m->p.who = s->who;
	m->p.token = s->token;
	m->p.expects = s->expects;
	m->p.n_expects = s->n_expects;
	m->p.op = m->op;
}

static int commit_new(struct core *c, struct session *s, const char *op, struct commit **out)
{
	struct commit *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->op = op ? strdup(op) : NULL;
	err = op && !m->op ? -ENOMEM : publish_begin(&m->p, c);
	if (err < 0) {
		free(m->op);
		free(m);
		return err;
	}
	view_get(&s->view);
	m->s = s;
	m->p.seq = -1;
	*out = m;
	return 0;
}

static int start(struct commit *m, enum session_state next)
{
	int err = begin(m->s, next);

	if (err < 0) {
		publish_cancel(&m->p);
		commit_free(m);
		return err;
	}
	fill(m);
	publish_submit(&m->p);
	return 0;
}

int commit_session(struct core *c, struct session *s, const struct commit_args *args,
		   commit_done_fn done, void *arg)
{
	struct commit *m;
	int err = commit_new(c, s, args->op, &m);

	if (err < 0)
		return err;
	m->p.source = &by_commit;
	m->p.seq = args->seq;
	m->p.once = args->once;
	m->done = done;
	m->arg = arg;
	return start(m, SESSION_STATE_COMMITTING);
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
	m->p.source = &by_drop;
	m->p.job.is_deferred = true; /* a crash has the same outcome */
	if (atomic_load(&s->overtaken) || atomic_load(&s->refused)) {
		m->p.source = &by_salvage;
		m->p.job.is_deferred = false;
		early_refusal(s, &m->early);
	}
	m->abort_done = done;
	m->arg = arg;
	return start(m, SESSION_STATE_ENDED);
}
