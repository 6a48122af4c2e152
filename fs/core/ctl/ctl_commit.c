/* SPDX-License-Identifier: MIT */
/* commit and abort. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "core/publish/commit.h"
#include "store/tree/revision.h"
#include "store/tree/session_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct committing {
	struct ctl_call *call;
	struct session *s; /* reference owned */
};

static void reply_committed(struct ctl_reply *r, int64_t revision, int64_t changed)
{
	reply_ok(r);
	reply_int(r, "revision", revision);
	reply_int(r, "changed", changed);
}

static void reply_commit_error(struct ctl_reply *r, const struct session *s, int err)
{
	reply_err(r, err);
	reply_str(r, "session", s->id);
	if (err == -ENOSPC || err == -EDQUOT)
		reply_text(r,
			   "no space left in the store: nothing was published and the session is "
			   "still open; free some space and commit again");
	else if (err == -EREMOTEIO)
		reply_text(r,
			   "it is unknown whether the commit was written: mount again and ask with "
			   "outcome session=%s",
			   s->id);
	else if (err == -EIO)
		reply_text(r, "the session's content could not be written to disk: the session is "
			      "lost, and nothing was published");
	else
		reply_text(r, "the commit failed, nothing was published");
}

static void committed(void *arg, int err, const struct commit_result *result)
{
	struct committing *m = arg;
	struct ctl_call *call = m->call;
	struct session *s = m->s;

	if (!err) {
		reply_committed(&call->reply, result->revision, result->changed);
	} else if (result->refusal.err) {
		reply_refusal(&call->reply, &result->refusal);
	} else {
		reply_commit_error(&call->reply, s, err);
	}
	if (err == -ENOSPC || err == -EDQUOT) {
		bool closed;

		lock_take(&call->ctl->lock);
		closed = call->ctl->closed;
		lock_drop(&call->ctl->lock);
		if (closed && !s->keep) /* its conversation ended meanwhile and could not end it */
			commit_abort(call->ctl->c, s, NULL, NULL);
	} else {
		ctl_outcome_remember(call->ctl, s->id, &call->reply);
	}
	session_put(s);
	free(m);
	ctl_call_done(call);
}

static int commit_parse(struct ctl_call *call, struct commit_args *a, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	int err = ctl_word(l, "op", &a->op, error);

	a->seq = -1;
	if (!err)
		err = ctl_flag(l, "once", &a->once, error);
	if (!err && ctl_line_get(l, "seq"))
		err = ctl_count(l, "seq", INT64_MAX, &a->seq, error);
	return err;
}

/* The session is known to have ended: say how. */
static void reply_ended(struct ctl_call *call, const char *id)
{
	struct session_row row = { .outcome = SESSION_UNKNOWN };
	struct revision *rev = calloc(1, sizeof(*rev));
	struct core *c = call->ctl->c;
	struct db *db;
	int64_t now;

	if (rev && core_read_begin(c, &db, &now) == 0) {
		if (session_row_get(db, id, &row) < 0 ||
		    (call->ctl->who.uid != 0 && call->ctl->who.uid != row.uid))
			row.outcome = SESSION_UNKNOWN;
		else if (row.outcome == SESSION_COMMITTED &&
			 (revision_get(db, row.revision, rev) < 0 || strcmp(rev->session, id) != 0))
			rev->changed = 0;
		core_read_end(c, db);
	}
	switch (row.outcome) {
	case SESSION_COMMITTED:
		reply_committed(&call->reply, row.revision, rev->changed);
		break;
	case SESSION_REFUSED:
		reply_err(&call->reply, -ESTALE);
		reply_str(&call->reply, "session", id);
		reply_text(&call->reply,
			   "the session was refused; its data is listed by: fence rejects");
		break;
	case SESSION_OPEN:
	case SESSION_ABORTED:
	case SESSION_UNKNOWN:
		reply_err(&call->reply, -ENOENT);
		reply_str(&call->reply, "session", id);
		reply_text(&call->reply, row.outcome == SESSION_UNKNOWN ?
						 "no such session" :
						 "the session was aborted");
		break;
	}
	free(rev);
	ctl_call_done(call);
}

static void commit_of_ended(struct ctl_call *call, const char *id)
{
	if (ctl_outcome_replay(call, id))
		ctl_call_done(call);
	else
		reply_ended(call, id);
}

void ctl_commit(struct ctl_call *call)
{
	const char *given = ctl_line_get(&call->line, "session");
	struct commit_args args = { 0 };
	struct committing *m;
	struct session *s = NULL;
	struct ctl_error error;
	int err = commit_parse(call, &args, &error);

	if (!err)
		err = ctl_session_of(call, &s, &error);
	if (err == -ENOENT && given) {
		reply_ended(call, given);
		return;
	}
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	m = malloc(sizeof(*m));
	err = m ? 0 : -ENOMEM;
	if (m) {
		*m = (struct committing){ .call = call, .s = s };
		view_get(&s->view);
		err = commit_session(call->ctl->c, s, &args, committed, m);
	}
	if (err < 0) {
		if (m)
			session_put(s);
		free(m);
		if (err == -ESTALE)
			commit_of_ended(call, s->id);
		else if (err == -EBUSY)
			ctl_call_fail(call, -EBUSY, "session", s->id,
				      "this session is being committed by another request");
		else
			ctl_call_database_error(call, err);
	}
	session_put(s);
}

static void aborted(void *arg)
{
	struct ctl_call *call = arg;

	reply_ok(&call->reply);
	ctl_call_done(call);
}

void ctl_abort(struct ctl_call *call)
{
	struct session *s = NULL;
	struct ctl_error error;
	int err = ctl_session_of(call, &s, &error);

	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	err = commit_abort(call->ctl->c, s, aborted, call);
	if (err == -EBUSY)
		ctl_call_fail(call, -EBUSY, "session", s->id, "this session is being committed");
	else if (err == -ESTALE && s->outcome == SESSION_COMMITTED)
		ctl_call_fail(call, -ESTALE, "session", s->id,
			      "this session has already been committed");
	else if (err == -ESTALE)
		aborted(call);
	else if (err < 0)
		ctl_call_database_error(call, err);
	session_put(s);
}
