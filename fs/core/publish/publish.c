/* SPDX-License-Identifier: MIT */
/* See publish.h. Layer: core, room publish. */
#include "core/publish/publish.h"

#include "base/io.h"
#include "core/access/permission.h"
#include "core/publish/record_event.h"
#include "core/publish/refuse.h"
#include "core/service/core_impl.h"
#include "store/gc/policy.h"
#include "store/blob/quota.h"

#include <errno.h>
#include <string.h>

static struct publish *publish_of(struct job *j)
{
	return (struct publish *)(void *)j;
}

static int record_sealed(struct db *db, const struct sealed_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++)
		err = sealed_record(db, &set->v[i]);
	return err;
}

static bool has_content(const struct sealed_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (!set->v[i].empty)
			return true;
	return false;
}

static struct commit_request request_of(const struct publish *p)
{
	return (struct commit_request){
		.changes = p->list.v,
		.n_changes = p->list.n,
		.expects = p->expects,
		.n_expects = p->n_expects,
		.path = p->path,
		.token = p->token,
		.owner = p->owner,
		.op = p->op,
		.session = p->session,
		.seq = p->seq,
		.once = p->once,
		.now_ns = p->now,
	};
}

static int settle(struct publish *p, struct db *db, enum session_outcome outcome)
{
	return p->source->settle ? p->source->settle(p, db, outcome) : 0;
}

static int change(struct publish *p, struct db *db)
{
	struct commit_request req = request_of(p);
	int err = record_sealed(db, &p->sealed);

	if (!err)
		err = change_commit(db, &req, &p->result);
	if (!err && p->result.replayed)
		return -EALREADY; /* keep nothing of this attempt */
	if (!err && has_content(&p->sealed))
		err = quota_check(db);
	if (!err && p->denied)
		err = permission_refuse(&p->result.refusal, p->denied, p->token);
	if (!err)
		err = settle(p, db, SESSION_COMMITTED);
	return err ? err : record_commit(db, &req, &p->result, p->who->uid);
}

static int publish_apply(struct job *j, struct db *db)
{
	struct publish *p = publish_of(j);
	int res;

	memset(&p->result, 0, sizeof(p->result));
	p->denied = NULL;
	p->now = io_now_ns();
	res = p->source->judge(p, db);
	if (res)
		return res > 0 ? 0 : res;
	return change(p, db);
}

static int publish_record(struct job *j, struct db *db)
{
	struct publish *p = publish_of(j);
	struct refused_write w = {
		.why = &p->result.refusal,
		.path = p->path,
		.owner = p->owner,
		.op = p->op,
		.session = p->session,
		.stage = p->source->stage,
		.token = p->token,
		.uid = p->who->uid,
		.who = p->session ? p->who : NULL,
	};
	int err;

	if (j->err == -EALREADY)
		return settle(p, db, SESSION_COMMITTED);
	if (!p->result.refusal.err)
		return 0; /* the database said no, not the fence */
	err = refuse_record(db, &w, &p->sealed, p->kept);
	return err ? err : settle(p, db, SESSION_REFUSED);
}

static void finish(struct publish *p, int err)
{
	struct core *c = p->c;

	if (err == -EALREADY)
		err = 0;
	if (p->result.refusal.err)
		err = -p->result.refusal.err;
	if (p->source->is_counted)
		metrics_commit(&c->metrics, p->source->verb, err, p->result.replayed,
			       p->result.changed, p->begun);
	p->source->end(p, err);
	busy_end(&c->busy);
}

static void publish_done(struct job *j)
{
	finish(publish_of(j), j->err);
}

static const struct job_ops publish_job = {
	.apply = publish_apply,
	.record = publish_record,
	.done = publish_done,
};

/* It did not get as far as a transaction. */
static void failed(void *arg)
{
	struct publish *p = arg;

	finish(p, p->err);
}

static void run_seal(struct work *w)
{
	struct publish *p = (struct publish *)(void *)((char *)w - offsetof(struct publish, work));

	p->err = p->source->seal(p);
	if (p->err < 0)
		notifier_call(&p->c->notifier, failed, p);
	else
		committer_submit(&p->c->committer, &p->job);
}

int publish_begin(struct publish *p, struct core *c)
{
	p->c = c;
	p->kept = &p->list;
	p->job.ops = &publish_job;
	p->work.run = run_seal;
	p->begun = io_boot_ns();
	return busy_begin(&c->busy);
}

void publish_cancel(struct publish *p)
{
	busy_end(&p->c->busy);
}

void publish_submit(struct publish *p)
{
	if (p->source->seal)
		pool_submit(&p->c->pool, &p->work);
	else
		committer_submit(&p->c->committer, &p->job);
}

void publish_fini(struct publish *p)
{
	sealed_set_fini(&p->sealed);
	change_list_fini(&p->list);
}
