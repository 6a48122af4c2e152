/* SPDX-License-Identifier: MIT */
/* open. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "core/publish/commit.h"
#include "core/access/permission.h"
#include "core/publish/claim.h"
#include "store/fence/fence.h"

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
	struct refusal refusal;
	int tree_err;
};

static struct opening *opening_of(struct job *j)
{
	return (struct opening *)(void *)j;
}

static struct claim claim_of(struct opening *m)
{
	return (struct claim){ .path = m->s->path,
			       .owner = m->s->owner,
			       .token = m->s->token,
			       .who = m->s->who,
			       .allowed = claim_to_write,
			       .how = "open",
			       .why = &m->refusal };
}

static int open_apply(struct job *j, struct db *db)
{
	struct opening *m = opening_of(j);
	struct session *s = m->s;
	struct claim claim = claim_of(m);
	struct session_row *row;
	struct fence_row held, beneath;
	int err;

	/* The claim is a promise (P1); a session is none, since no crash leaves one open. */
	err = fence_get(db, s->path, &held);
	j->needs_sync = err || held.token != s->token;
	err = claim_raise(&claim, db);
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
	return err;
}

static int open_record(struct job *j, struct db *db)
{
	struct claim claim = claim_of(opening_of(j));

	return claim_record_refusal(&claim, db, "open");
}

/*
 * In the table before any later claim is announced to it (effects.c). The older sessions that exclusive=1 replaces are told here, on the committer's
 * thread: their commits are checked on this thread too.
 */
static void open_durable(struct job *j)
{
	struct opening *m = opening_of(j);
	struct core *c = m->call->ctl->c;
	struct session *s = m->s;

	if (j->err)
		return;
	s->number = atomic_fetch_add(&c->next_view,
				     1); /* the order of the transactions, not of asking */
	session_table_add(c, s);
	metric_add(&c->metrics.sessions_opened, 1);
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

static void open_done(struct job *j)
{
	struct opening *m = opening_of(j);
	struct core *c = m->call->ctl->c;
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
	busy_end(&c->busy);
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
		return ctl_error_set(error, -EACCES, "path", a->path,
				     "no write permission on this path");
	if (err == -ENOTDIR || (!err && t.exists && a->dir && t.entry.kind != ENTRY_DIR) ||
	    (!err && !t.exists && t.parent.kind != ENTRY_DIR))
		return ctl_error_set(error, -ENOTDIR, "path", a->path,
				     "a part of this path is not a directory");
	if (err < 0)
		return ctl_error_set(error, err, "path", a->path, "the path cannot be looked up");
	if (!t.parent_exists && !a->parents)
		return ctl_error_set(error, -ENOENT, "path", a->path,
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
	m->job.is_deferred = true;
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
	if (!err && (err = busy_begin(&c->busy)) < 0) {
		ctl_error_set(&error, err, NULL, NULL, "the file system is being unmounted");
		session_put(m->s);
		free(m);
	}
	if (err < 0)
		ctl_call_error(call, &error);
	else
		committer_submit(&c->committer, &m->job);
}
