/* SPDX-License-Identifier: MIT */
/* gc, policy, and list kind=gc. Core layer. */
#include "core/ctl/ctl_impl.h"
#include "core/upkeep/gc_service.h"

#include "store/store.h"
#include "store/gc/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* History is the store's, not the caller's: root and who serves it may let it go. */
static int check_caller(const struct ctl_call *call, struct ctl_error *error)
{
	uint32_t uid = call->ctl->who.uid;

	if (uid == 0 || uid == geteuid())
		return 0;
	return ctl_error_set(error, -EPERM, NULL, NULL,
			     "%s is only for root and the user who serves the store",
			     call->line.verb);
}

/* As ctl_duration(), and 0. */
static int duration_or_zero(const struct ctl_line *l, const char *key, int64_t *out,
			    struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!s)
		return 0;
	if (strcmp(s, "0") != 0)
		return ctl_duration(l, key, out, error);
	*out = 0;
	return 0;
}

static int parse_keep(const struct ctl_line *l, struct retention *out, struct ctl_error *error)
{
	int err = duration_or_zero(l, POLICY_WITHIN, &out->within, error);

	for (int k = 0; k < RETAIN_KINDS && !err; k++)
		if (ctl_line_get(l, policy_keep_names[k]))
			err = ctl_count(l, policy_keep_names[k], INT32_MAX, &out->count[k], error);
	return err;
}

static bool has_keep(const struct ctl_line *l)
{
	bool any = ctl_line_get(l, POLICY_WITHIN) != NULL;

	for (int k = 0; k < RETAIN_KINDS; k++)
		any = any || ctl_line_get(l, policy_keep_names[k]);
	return any;
}

static int add_path(struct gc_options *opt, const char *path)
{
	const char **grown =
		reallocarray((void *)(uintptr_t)opt->path, opt->n_paths + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	opt->path = grown;
	grown[opt->n_paths] = strdup(path);
	if (!grown[opt->n_paths])
		return -ENOMEM;
	opt->n_paths++;
	return 0;
}

/* Several paths in one value, with "//" between them, which no normalised path has in it. */
static int parse_paths(const struct ctl_line *l, struct gc_options *opt, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, "path");
	char path[FENCE_PATH_MAX + 1];

	while (s) {
		const char *end = strstr(s, "//");
		char *one = end ? strndup(s, (size_t)(end - s)) : strdup(s);
		int err = one ? path_normalise(one, path, NULL) : -ENOMEM;

		free(one);
		if (!err)
			err = add_path(opt, path);
		if (err < 0)
			return ctl_error_set(error, err, "path", s,
					     "path= is one path or several with // between them");
		s = end ? end + 2 : NULL;
	}
	return 0;
}

static int read_policy(struct core *c, struct policy *out)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = policy_get(db, out);
	core_read_end(c, db);
	return err;
}

static int parse(struct ctl_call *call, struct gc_options *opt, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	struct policy policy = { 0 };
	int err = check_caller(call, error);

	opt->grace = GC_GRACE_DEFAULT;
	if (!err)
		err = duration_or_zero(l, "grace", &opt->grace, error);
	if (!err)
		err = parse_keep(l, &opt->keep, error);
	if (!err)
		err = parse_paths(l, opt, error);
	if (!err)
		err = duration_or_zero(l, "forget_fences", &opt->forget_fences, error);
	if (!err)
		err = ctl_flag(l, "dry_run", &opt->dry_run, error);
	if (!err)
		err = ctl_flag(l, "after_restore", &opt->after_restore, error);
	if (err || has_keep(l))
		return err;
	err = read_policy(call->ctl->c, &policy);
	if (err < 0)
		return ctl_error_set(error, -EIO, NULL, NULL, "the store's database failed");
	opt->keep = policy.keep;
	return 0;
}

static void reply_count(struct ctl_reply *r, const char *name, const struct gc_count *n)
{
	char key[48];

	snprintf(key, sizeof(key), "%s", name);
	reply_int(r, key, n->n);
	snprintf(key, sizeof(key), "%s_bytes", name);
	reply_int(r, key, n->bytes);
}

static void reply_report(struct ctl_reply *r, const struct gc_report *report)
{
	for (int k = 0; k < GARBAGE_KINDS; k++)
		reply_count(r, garbage_kind_name((enum garbage_kind)k), &report->removed[k]);
	reply_count(r, "staging", &report->staging);
	reply_count(r, "waiting", &report->waiting);
	reply_int(r, "versions", report->versions.n);
	reply_int(r, "fences", report->fences);
	reply_int(r, "pages", report->pages);
	reply_int(r, "entries", report->entries);
	reply_int(r, "blobs", report->blobs);
	reply_int(r, "pinned", report->pinned);
	reply_int(r, "missing", report->missing);
	reply_int(r, "foreign", report->foreign);
	reply_str(r, "foreign_name", report->foreign_name);
	reply_int(r, "restored", report->is_restored);
}

static void gc_done(void *arg, int err, const struct gc_report *report, const struct errmsg *msg)
{
	struct ctl_call *call = arg;

	if (err < 0)
		reply_err(&call->reply, err);
	else
		reply_ok(&call->reply);
	reply_report(&call->reply, report);
	if (err < 0)
		reply_text(&call->reply, "%s", err == -EINTR ? "gc was stopped" : msg->s);
	ctl_call_done(call);
}

/* The conversation that asked is over: nobody waits for the answer. */
static bool is_cancelled(void *arg)
{
	struct ctl *ctl = ((struct ctl_call *)arg)->ctl;
	bool closed;

	lock_take(&ctl->lock);
	closed = ctl->closed;
	lock_drop(&ctl->lock);
	return closed;
}

void ctl_gc(struct ctl_call *call)
{
	struct gc_request *r = calloc(1, sizeof(*r));
	struct ctl_error error;
	int err = r ? parse(call, &r->opt, &error) :
		      ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");

	if (err < 0) {
		gc_request_free(r);
		ctl_call_error(call, &error);
		return;
	}
	r->is_cancelled = is_cancelled;
	r->done = gc_done;
	r->arg = call;
	ctl_call_defer(call);
	err = gc_start(call->ctl->c, r);
	if (!err)
		return;
	gc_request_free(r);
	if (err == -EALREADY)
		ctl_call_fail(call, -EALREADY, NULL, NULL,
			      "another gc is running; wait for it to finish");
	else
		ctl_call_database_error(call, err);
}

int ctl_list_gc(struct ctl_call *call, const char *after)
{
	struct gc_progress p;
	int64_t started;

	if (after || !gc_look(call->ctl->c, &p, &started))
		return -ENOENT;
	reply_ok(&call->reply);
	reply_int(&call->reply, "id", 1);
	reply_time(&call->reply, "at", started);
	reply_str(&call->reply, "stage", gc_stage_name(p.stage));
	reply_int(&call->reply, "done", p.done);
	if (p.total)
		reply_int(&call->reply, "total", p.total);
	return 0;
}

struct policy_job {
	struct job job; /* first */
	struct ctl_call *call;
	struct policy given; /* of the keys that were given */
	bool has[RETAIN_KINDS], has_within, has_max;
	struct policy now;
};

static int policy_apply(struct job *j, struct db *db)
{
	struct policy_job *m = (struct policy_job *)(void *)j;
	int err = policy_get(db, &m->now);

	for (int k = 0; k < RETAIN_KINDS; k++)
		if (m->has[k])
			m->now.keep.count[k] = m->given.keep.count[k];
	if (m->has_within)
		m->now.keep.within = m->given.keep.within;
	if (m->has_max)
		m->now.max_size = m->given.max_size;
	return err ? err : policy_set(db, &m->now);
}

static void reply_policy(struct ctl_reply *r, const struct policy *p)
{
	reply_ok(r);
	for (int k = 0; k < RETAIN_KINDS; k++)
		if (p->keep.count[k])
			reply_int(r, policy_keep_names[k], p->keep.count[k]);
	if (p->keep.within)
		reply_time(r, POLICY_WITHIN, p->keep.within);
	if (p->max_size)
		reply_int(r, POLICY_MAX_SIZE, p->max_size);
}

static void policy_done(struct job *j)
{
	struct policy_job *m = (struct policy_job *)(void *)j;
	struct core *c = m->call->ctl->c;

	if (j->err) {
		ctl_call_database_error(m->call, j->err);
	} else {
		reply_policy(&m->call->reply, &m->now);
		ctl_call_done(m->call);
	}
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops policy_ops = { .apply = policy_apply, .done = policy_done };

static int parse_policy(struct ctl_call *call, struct policy_job *m, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	int err = parse_keep(l, &m->given.keep, error);

	m->call = call;
	m->job.ops = &policy_ops;
	for (int k = 0; k < RETAIN_KINDS; k++)
		m->has[k] = ctl_line_get(l, policy_keep_names[k]) != NULL;
	m->has_within = ctl_line_get(l, POLICY_WITHIN) != NULL;
	m->has_max = ctl_line_get(l, POLICY_MAX_SIZE) != NULL;
	if (!err && m->has_max)
		err = ctl_count(l, POLICY_MAX_SIZE, INT64_MAX, &m->given.max_size, error);
	return err ? err : check_caller(call, error);
}

static void show_policy(struct ctl_call *call)
{
	struct policy p;
	int err = read_policy(call->ctl->c, &p);

	if (err < 0) {
		ctl_call_database_error(call, err);
		return;
	}
	reply_policy(&call->reply, &p);
	ctl_call_done(call);
}

void ctl_policy(struct ctl_call *call)
{
	struct policy_job *m;
	struct ctl_error error;
	int err;

	if (call->line.n == 0) {
		show_policy(call);
		return;
	}
	m = calloc(1, sizeof(*m));
	err = m ? parse_policy(call, m, &error) :
		  ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");
	if (!err && busy_begin(&call->ctl->c->busy) < 0)
		err = ctl_error_set(&error, -ESHUTDOWN, NULL, NULL,
				    "the file system is being unmounted");
	if (err < 0) {
		free(m);
		ctl_call_error(call, &error);
		return;
	}
	committer_submit(&call->ctl->c->committer, &m->job);
}
