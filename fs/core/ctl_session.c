// SPDX-License-Identifier: MIT
/* open, expect, commit, abort, outcome. Core layer. */
#include "core/ctl_impl.h"

#include "base/io.h"
#include "core/commit.h"
#include "core/permission.h"
#include "core/refuse.h"
#include "core/record_event.h"
#include "store/fence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opening {
	struct job job; /* first */
	struct ctl_call *call;
	struct session *s; /* reference owned */
	bool make_dir;
	int64_t now;
	struct refusal refusal;
	int tree_err;
};

static struct opening *opening_of(struct job *j)
{
	return (struct opening *)(void *)j;
}

static int open_apply(struct core *c, struct db *db, struct job *j)
{
	struct opening *m = opening_of(j);
	struct session *s = m->s;
	struct session_row *row;
	struct fence_row beneath;
	int err;

	(void)c;
	memset(&m->refusal, 0, sizeof(m->refusal));
	m->now = io_now_ns();
	err = fence_claim(db, s->path, s->token, s->owner, m->now, &m->refusal);
	if (!err && permission_recheck(db, s->who, s->path) < 0)
		err = permission_refuse(&m->refusal, s->path, s->token);
	if (err < 0)
		return err;
	err = fence_beneath(db, s->path, s->token, &beneath);
	if (err < 0)
		return err;
	atomic_store(&s->rows_beneath, err > 0);
	row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	strcpy(row->id, s->id);
	strcpy(row->path, s->path);
	strcpy(row->owner, s->owner);
	row->token = s->token;
	row->opened = s->opened;
	row->uid = s->who->uid;
	err = session_row_add(db, row);
	free(row);
	return err ? err : record_claim(db, s->path, s->token, s->owner, s->who->uid, "open");
}

static int open_record(struct core *c, struct db *db, struct job *j)
{
	struct opening *m = opening_of(j);
	struct refused_write w = {
		.why = &m->refusal,
		.path = m->s->path,
		.owner = m->s->owner,
		.stage = "open",
		.token = m->s->token,
		.uid = m->s->who->uid,
	};

	(void)c;
	return m->refusal.err ? refuse_record_plain(db, &w) : 0;
}

/*
 * In the table before any later claim of this transaction is announced to it (jobs are durable in their order). The older sessions that
 * exclusive=1 replaces are told here, on the committer's thread: their commits are checked on this thread too.
 */
static void open_durable(struct core *c, struct job *j)
{
	struct opening *m = opening_of(j);
	struct session *s = m->s;

	if (j->err)
		return;
	s->number = atomic_fetch_add(&c->next_view,
				     1); /* the order of the transactions, not of asking */
	session_table_claimed(c, s->path, s->token, s->owner, m->now);
	session_table_add(c, s);
	if (s->exclusive)
		session_table_supersede(c, s);
}

static void reply_session(struct ctl_reply *r, const struct session *s)
{
	char dir[64], path[FENCE_PATH_MAX + 64];

	snprintf(dir, sizeof(dir), ".fence/sessions/%s", s->id);
	if (strcmp(s->path, ".") == 0)
		strcpy(path, dir);
	else
		snprintf(path, sizeof(path), "%s/%s", dir, s->path);
	reply_ok(r);
	reply_str(r, "session", s->id);
	reply_str(r, "dir", dir);
	reply_str(r, "path", path);
	reply_int(r, "token", s->token);
}

static void open_done(struct core *c, struct job *j)
{
	struct opening *m = opening_of(j);
	struct ctl_call *call = m->call;
	int err = j->err;

	if (err && m->refusal.err) {
		ctl_call_refuse(call, &m->refusal);
	} else if (err) {
		ctl_call_database_error(call, err);
	} else {
		err = session_prepare_tree(m->s, m->make_dir);
		if (!err)
			err = ctl_attach(call->ctl, m->s, call->text);
		if (err < 0) {
			commit_abort(c, m->s, NULL, NULL);
			ctl_call_fail(call, err, "path", m->s->path,
				      "a directory above this path is missing; parents=1 makes it");
		} else {
			reply_session(&call->reply, m->s);
			ctl_call_done(call);
		}
	}
	session_put(m->s);
	free(m);
	core_busy_end(c);
}

static const struct job_ops open_job = {
	.apply = open_apply,
	.record = open_record,
	.durable = open_durable,
	.done = open_done,
};

struct open_args {
	char path[FENCE_PATH_MAX + 1];
	char owner_buf[OWNER_MAX + 1];
	const char *owner;
	int64_t token, ttl;
	bool dir, keep, parents, exclusive;
};

static int open_parse(struct ctl_call *call, struct open_args *a, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	int err = ctl_path(l, "path", a->path, &a->dir, error);

	a->ttl = call->ctl->c->opt.session_ttl_ns;
	if (!err)
		err = ctl_token(l, "token", &a->token, error);
	if (!err)
		err = ctl_owner(call, &a->owner, a->owner_buf, error);
	if (!err)
		err = ctl_flag(l, "keep", &a->keep, error);
	if (!err)
		err = ctl_flag(l, "parents", &a->parents, error);
	if (!err)
		err = ctl_flag(l, "exclusive", &a->exclusive, error);
	if (!err && ctl_line_get(l, "ttl"))
		err = ctl_duration(l, "ttl", &a->ttl, error);
	return err;
}

/* Permission, and what must exist, before anything is claimed. */
static int open_check(struct core *c, const struct caller *who, const struct open_args *a,
		      struct ctl_error *error)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return ctl_error_set(error, err, NULL, NULL, "the store's database failed");
	err = permission_write(db, rev, who, a->path, &t);
	core_read_end(c, db);
	if (err == -EACCES)
		return ctl_error_set(error, EACCES, "path", a->path,
				     "no write permission on this path");
	if (err == -ENOTDIR || (!err && t.exists && a->dir && t.entry.kind != ENTRY_DIR) ||
	    (!err && !t.exists && t.parent.kind != ENTRY_DIR))
		return ctl_error_set(error, ENOTDIR, "path", a->path,
				     "a part of this path is not a directory");
	if (err < 0)
		return ctl_error_set(error, err, "path", a->path, "the path cannot be walked");
	if (!t.parent_exists && !a->parents)
		return ctl_error_set(error, ENOENT, "path", a->path,
				     "a directory above this path is missing; parents=1 makes it");
	return 0;
}

static int opening_new(struct ctl_call *call, const struct open_args *a, struct opening **out)
{
	struct opening *m = calloc(1, sizeof(*m));
	struct session *s = session_new(call->ctl->c, &call->ctl->who, a->path, a->token, a->owner);

	if (!m || !s) {
		free(m);
		if (s)
			session_put(s);
		return -ENOMEM;
	}
	s->keep = a->keep;
	s->parents = a->parents;
	s->exclusive = a->exclusive;
	s->ttl = a->ttl;
	m->call = call;
	m->s = s;
	m->make_dir = a->dir;
	m->job.ops = &open_job;
	*out = m;
	return 0;
}

/* The same request again, after an error that hid its answer: the same session. */
static bool open_again(struct ctl_call *call)
{
	struct session *s = ctl_attached_by_line(call->ctl, call->text);

	if (!s)
		return false;
	reply_session(&call->reply, s);
	session_put(s);
	ctl_call_done(call);
	return true;
}

void ctl_open_session(struct ctl_call *call)
{
	struct core *c = call->ctl->c;
	struct open_args a = { 0 };
	struct opening *m = NULL;
	struct ctl_error error;
	int err = open_parse(call, &a, &error);

	if (!err && open_again(call))
		return;
	if (!err)
		err = open_check(c, &call->ctl->who, &a, &error);
	if (!err && (err = opening_new(call, &a, &m)) < 0)
		ctl_error_set(&error, err, NULL, NULL, "out of memory");
	if (!err && (err = core_busy_begin(c)) < 0) {
		ctl_error_set(&error, err, NULL, NULL, "the file system is being unmounted");
		session_put(m->s);
		free(m);
	}
	if (err < 0)
		ctl_call_error(call, &error);
	else
		committer_submit(c, &m->job);
}

int ctl_expectation(const struct ctl_line *l, bool required, struct expect *out, bool *out_given,
		    struct ctl_error *error)
{
	const char *hash = ctl_line_get(l, "hash");
	bool version = ctl_line_get(l, "version") != NULL, absent = false;
	int given = version + (hash != NULL) + (ctl_line_get(l, "absent") != NULL);
	int err = ctl_flag(l, "absent", &absent, error);

	if (err < 0)
		return err;
	if (ctl_line_get(l, "absent") && !absent)
		return ctl_error_set(error, EINVAL, "absent", "0", "absent= is 1 or left out");
	*out_given = given == 1;
	if (given > 1 || (given == 0 && required))
		return ctl_error_set(error, EINVAL, NULL, NULL,
				     "give one of version=, absent=1, hash=");
	if (version) {
		out->kind = EXPECT_VERSION;
		return ctl_count(l, "version", INT64_MAX, &out->version, error);
	}
	out->kind = absent ? EXPECT_ABSENT : EXPECT_HASH;
	if (hash && blob_hex_parse(hash, out->hash.b) < 0)
		return ctl_error_set(error, EINVAL, "hash", hash,
				     "hash= is 32 lower-case hex digits (XXH3-128)");
	return 0;
}

static int add_expect(struct session *s, const struct expect *e)
{
	struct expect *grown;
	int err = -ESTALE;

	rwlock_write(&s->lock);
	if (s->state == SESSION_STATE_OPEN) {
		grown = reallocarray(s->expects, s->n_expects + 1, sizeof(*grown));
		err = grown ? 0 : -ENOMEM;
		if (grown) {
			s->expects = grown;
			s->expects[s->n_expects++] = *e;
		}
	}
	rwlock_drop(&s->lock);
	return err;
}

/* @content: not only whether it is there. */
static int may_look(struct core *c, const struct caller *who, const char *path, bool content)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = content ? permission_read(db, rev, who, path, &t) :
			permission_walk(db, rev, who, path, &t);
	core_read_end(c, db);
	return err == -ENOTDIR ? 0 : err;
}

void ctl_expect(struct ctl_call *call)
{
	char path[FENCE_PATH_MAX + 1];
	struct session *s = NULL;
	struct ctl_error error;
	struct expect e = { 0 };
	bool given;
	int err = ctl_path(&call->line, "path", path, NULL, &error);

	if (!err)
		err = ctl_expectation(&call->line, true, &e, &given, &error);
	if (!err)
		err = ctl_session_of(call, &s, &error);
	if (!err &&
	    (err = may_look(call->ctl->c, &call->ctl->who, path, e.kind == EXPECT_HASH)) < 0)
		ctl_error_set(&error, err, "path", path, "no permission to look at this path");
	if (!err) {
		e.path = strdup(path);
		err = e.path ? add_expect(s, &e) : -ENOMEM;
		if (err < 0) {
			free((void *)(uintptr_t)e.path);
			ctl_error_set(&error, err, "session", s->id, "the session is over");
		}
	}
	if (s)
		session_put(s);
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	reply_ok(&call->reply);
	ctl_call_done(call);
}

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
		reply_text(
			r,
			"no space left on the store's file system: nothing was published, the session is still open; free some space and commit again");
	else if (err == -EREMOTEIO)
		reply_text(
			r,
			"whether the commit was written is unknown: mount again and ask with outcome session=%s",
			s->id);
	else if (err == -EIO)
		reply_text(
			r,
			"the session's content could not be written to disk: the session is lost, nothing was published");
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
		reply_err(&call->reply, ESTALE);
		reply_str(&call->reply, "session", id);
		reply_text(&call->reply,
			   "the session was refused; its data is listed by: fence rejects");
		break;
	case SESSION_OPEN:
	case SESSION_ABORTED:
	case SESSION_UNKNOWN:
		reply_err(&call->reply, ENOENT);
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
			ctl_call_fail(call, EBUSY, "session", s->id,
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
		ctl_call_fail(call, EBUSY, "session", s->id, "this session is being committed");
	else if (err == -ESTALE && s->outcome == SESSION_COMMITTED)
		ctl_call_fail(call, ESTALE, "session", s->id, "this session is committed already");
	else if (err == -ESTALE)
		aborted(call);
	else if (err < 0)
		ctl_call_database_error(call, err);
	session_put(s);
}

static const char *outcome_name(enum session_outcome o)
{
	static const char *const names[] = {
		[SESSION_OPEN] = "open",       [SESSION_COMMITTED] = "committed",
		[SESSION_REFUSED] = "refused", [SESSION_ABORTED] = "aborted",
		[SESSION_UNKNOWN] = "unknown",
	};

	return names[o];
}

/*
 * A commit is in the database a moment before it can be seen. Who is told "committed" may open the path at once and must find it
 * so, hence until then the answer is "open". @rev: what can be seen.
 */
static void outcome_of_session(struct ctl_call *call, struct db *db, int64_t rev, const char *id)
{
	struct session_row row;
	int err = session_row_get(db, id, &row);

	if (!err && call->ctl->who.uid != 0 && call->ctl->who.uid != row.uid)
		err = -ENOENT;
	if (!err && row.outcome == SESSION_COMMITTED && row.revision > rev)
		row.outcome = SESSION_OPEN;
	reply_ok(&call->reply);
	reply_str(&call->reply, "outcome", outcome_name(err ? SESSION_UNKNOWN : row.outcome));
	if (!err && row.outcome == SESSION_COMMITTED)
		reply_int(&call->reply, "revision", row.revision);
}

static void outcome_of_op(struct ctl_call *call, struct db *db, int64_t live, const char *path,
			  const char *op)
{
	struct revision *rev = calloc(1, sizeof(*rev));
	struct reject *reject = calloc(1, sizeof(*reject));
	bool committed = rev && revision_by_op(db, path, op, rev) == 0;

	reply_ok(&call->reply);
	if (committed && rev->revision > live) {
		reply_str(&call->reply, "outcome", "open");
	} else if (committed) {
		reply_str(&call->reply, "outcome", "committed");
		reply_int(&call->reply, "revision", rev->revision);
		reply_int(&call->reply, "changed", rev->changed);
	} else if (reject && reject_by_op(db, path, op, reject) == 1) {
		reply_str(&call->reply, "outcome", "refused");
		reply_int(&call->reply, "token", reject->token);
		if (reject->highest >= 0)
			reply_int(&call->reply, "highest", reject->highest);
	} else {
		reply_str(&call->reply, "outcome", "unknown");
	}
	free(rev);
	free(reject);
}

void ctl_outcome(struct ctl_call *call)
{
	const char *id = ctl_line_get(&call->line, "session"), *op = NULL;
	char path[FENCE_PATH_MAX + 1];
	struct ctl_error error;
	struct db *db;
	int64_t rev;
	int err = 0;

	if (!id == !(ctl_line_get(&call->line, "path") && ctl_line_get(&call->line, "op")))
		err = ctl_error_set(&error, EINVAL, NULL, NULL, "give session=, or path= and op=");
	if (!err && !id)
		err = ctl_path(&call->line, "path", path, NULL, &error);
	if (!err && !id)
		err = ctl_word(&call->line, "op", &op, &error);
	if (!err && !id && (err = may_look(call->ctl->c, &call->ctl->who, path, false)) < 0)
		ctl_error_set(&error, err, "path", path, "no permission to look at this path");
	if (!err && (err = core_read_begin(call->ctl->c, &db, &rev)) < 0)
		ctl_error_set(&error, err, NULL, NULL, "the store's database failed");
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	if (id)
		outcome_of_session(call, db, rev, id);
	else
		outcome_of_op(call, db, rev, path, op);
	core_read_end(call->ctl->c, db);
	ctl_call_done(call);
}
