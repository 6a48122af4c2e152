/* SPDX-License-Identifier: MIT */
/* claim and reset. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "base/io.h"
#include "base/log.h"
#include "core/access/permission.h"
#include "core/publish/refuse.h"
#include "core/publish/claim.h"
#include "store/fence/fence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct claiming {
	struct job job; /* first */
	struct ctl_call *call;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	int64_t token, now, before;
	struct refusal refusal;
	struct fence_row after; /* reset: what counts now */
};

static struct claiming *claiming_of(struct job *j)
{
	return (struct claiming *)(void *)j;
}

static struct claim claim_of(struct claiming *m)
{
	return (struct claim){ .path = m->path,
			       .owner = m->owner,
			       .token = m->token,
			       .who = &m->call->ctl->who,
			       .allowed = claim_to_write,
			       .how = "",
			       .why = &m->refusal };
}

static int claim_apply(struct job *j, struct db *db)
{
	struct claim m = claim_of(claiming_of(j));

	return claim_raise(&m, db);
}

static int claim_record(struct job *j, struct db *db)
{
	struct claim m = claim_of(claiming_of(j));

	return claim_record_refusal(&m, db, "claim");
}

static void claim_done(struct job *j)
{
	struct claiming *m = claiming_of(j);
	struct core *c = m->call->ctl->c;
	struct ctl_call *call = m->call;

	metric_add(&c->metrics.claims[!j->err	     ? CLAIM_ACCEPTED :
				      m->refusal.err ? CLAIM_REFUSED :
						       CLAIM_FAILED],
		   1);
	if (j->err && m->refusal.err) {
		ctl_call_refuse(call, &m->refusal);
	} else if (j->err) {
		ctl_call_database_error(call, j->err);
	} else {
		reply_ok(&call->reply);
		reply_int(&call->reply, "token", m->token);
		ctl_call_done(call);
	}
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops claim_job = {
	.apply = claim_apply,
	.record = claim_record,
	.done = claim_done,
};

static int may_write(struct core *c, const struct caller *who, const char *path)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = permission_write(db, rev, who, path, &t);
	core_read_end(c, db);
	return err;
}

static int claim_parse(struct ctl_call *call, struct claiming *m, struct ctl_error *error)
{
	char buf[OWNER_MAX + 1];
	const char *owner;
	int err = ctl_path(&call->line, "path", m->path, NULL, error);

	if (!err)
		err = ctl_token(&call->line, "token", &m->token, error);
	if (!err)
		err = ctl_owner(call, &owner, buf, error);
	if (!err)
		strcpy(m->owner, owner);
	return err;
}

static void submit(struct ctl_call *call, const struct job_ops *ops,
		   int (*allowed)(struct ctl_call *call, struct claiming *m,
				  struct ctl_error *error))
{
	struct claiming *m = calloc(1, sizeof(*m));
	struct core *c = call->ctl->c;
	struct ctl_error error;
	int err = m ? 0 : ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");

	if (!err)
		err = claim_parse(call, m, &error);
	if (!err)
		err = allowed(call, m, &error);
	if (!err && (err = busy_begin(&c->busy)) < 0)
		ctl_error_set(&error, err, NULL, NULL, "the file system is being unmounted");
	if (err < 0) {
		free(m);
		ctl_call_error(call, &error);
		return;
	}
	m->call = call;
	m->job.ops = ops;
	committer_submit(&c->committer, &m->job);
}

static int claim_allowed(struct ctl_call *call, struct claiming *m, struct ctl_error *error)
{
	int err = may_write(call->ctl->c, &call->ctl->who, m->path);

	if (err < 0)
		ctl_error_set(error, err, "path", m->path,
			      err == -EACCES ? "no write permission on this path" :
					       "the path cannot be looked up");
	return err;
}

void ctl_claim(struct ctl_call *call)
{
	submit(call, &claim_job, claim_allowed);
}

static int reset_apply(struct job *j, struct db *db)
{
	struct claiming *m = claiming_of(j);
	struct refused_write w = {
		.why = &m->refusal,
		.path = m->path,
		.owner = m->owner,
		.stage = "reset",
		.token = m->token,
	};
	int err;

	m->now = io_now_ns();
	memset(&m->refusal, 0, sizeof(m->refusal));
	err = fence_reset(db, m->path, m->token, m->owner, m->now, &m->before);
	if (!err)
		err = fence_highest(db, m->path, &m->after);
	m->refusal.highest = m->before;
	if (!err)
		err = refuse_record_plain(db, &w); /* kept in the record */
	m->refusal.err = 0;
	return err;
}

static void reset_done(struct job *j)
{
	struct claiming *m = claiming_of(j);
	struct core *c = m->call->ctl->c;
	struct ctl_call *call = m->call;

	if (j->err) {
		ctl_call_database_error(call, j->err);
	} else {
		log_warning("fence of %s reset from %" PRId64 " to %" PRId64 " by uid %u (%s)",
			    m->path, m->before, m->token, call->ctl->who.uid, m->owner);
		reply_ok(&call->reply);
		reply_int(&call->reply, "token", m->token);
		reply_int(&call->reply, "highest", m->after.token);
		if (m->before >= 0)
			reply_int(&call->reply, "was", m->before);
		if (m->after.token > m->token)
			reply_text(&call->reply,
				   "%s above it still holds %" PRId64 ": reset that too",
				   m->after.path, m->after.token);
		ctl_call_done(call);
	}
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops reset_job = { .apply = reset_apply, .done = reset_done };

static int reset_allowed(struct ctl_call *call, struct claiming *m, struct ctl_error *error)
{
	if (call->ctl->who.uid != 0)
		return ctl_error_set(error, -EPERM, "path", m->path, "only root may reset a fence");
	return 0;
}

void ctl_reset(struct ctl_call *call)
{
	submit(call, &reset_job, reset_allowed);
}
