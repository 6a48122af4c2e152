/* SPDX-License-Identifier: MIT */
/* acquire, renew, release. Core layer. */
#include "core/ctl/ctl_impl.h"
#include "core/lease/lease_table.h"

#include "core/access/permission.h"
#include "store/fence/fence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lease_args {
	char path[FENCE_PATH_MAX + 1];
	char owner_buf[OWNER_MAX + 1];
	const char *owner;
	int64_t ttl, wait, token;
	bool keep, force;
};

static int permitted(struct ctl_call *call, const char *path, struct ctl_error *error)
{
	struct core *c = call->ctl->c;
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return ctl_error_set(error, err, NULL, NULL, "the store's database failed");
	err = permission_write(db, rev, &call->ctl->who, path, &t);
	core_read_end(c, db);
	if (err < 0)
		ctl_error_set(error, err, "path", path,
			      err == -EACCES ? "no write permission on this path" :
					       "a part of this path is not a directory");
	return err;
}

static int parse(struct ctl_call *call, struct lease_args *a, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	int err = ctl_path(l, "path", a->path, NULL, error);

	if (!err)
		err = ctl_owner(call, &a->owner, a->owner_buf, error);
	if (!err && ctl_line_get(l, "ttl"))
		err = ctl_duration(l, "ttl", &a->ttl, error);
	if (!err && ctl_line_get(l, "wait"))
		err = ctl_duration(l, "wait", &a->wait, error);
	if (!err)
		err = ctl_flag(l, "keep", &a->keep, error);
	if (!err)
		err = ctl_flag(l, "force", &a->force, error);
	if (!err && ctl_line_get(l, "token"))
		err = ctl_token(l, "token", &a->token, error);
	return err ? err : permitted(call, a->path, error);
}

static void reply_lease(struct ctl_reply *r, const struct lease_info *lease)
{
	reply_ok(r);
	reply_int(r, "token", lease->token);
	reply_seconds(r, "expires_in", lease->remaining);
}

static void reply_holder(struct ctl_reply *r, int err, const char *path,
			 const struct lease_info *held)
{
	reply_err(r, err);
	reply_str(r, "path", path);
	if (!held->path[0]) {
		reply_text(r, "others are waiting for %s and come first", path);
		return;
	}
	reply_str(r, "holder", held->owner);
	reply_int(r, "token", held->token);
	reply_seconds(r, "remaining", held->remaining);
	if (strcmp(held->path, path) != 0)
		reply_str(r, "held_path", held->path);
	reply_text(r, "%s holds a lease on %s for another %" PRId64 ".%03" PRId64 " s", held->owner,
		   held->path, held->remaining / 1000000000, held->remaining / 1000000 % 1000);
}

struct acquiring {
	struct ctl_call *call;
	char path[FENCE_PATH_MAX + 1];
};

static void acquired(void *arg, int err, const struct lease_info *lease)
{
	struct acquiring *m = arg;
	struct ctl_call *call = m->call;

	switch (err) {
	case 0:
		reply_lease(&call->reply, lease);
		ctl_call_done(call);
		break;
	case -EBUSY:
	case -ETIMEDOUT:
		reply_holder(&call->reply, err, m->path, lease);
		ctl_call_done(call);
		break;
	case -ECANCELED:
		ctl_call_fail(call, -ESHUTDOWN, "path", m->path,
			      "the file system is being unmounted");
		break;
	case -EACCES:
		ctl_call_fail(call, -EACCES, "path", m->path,
			      "no write permission on this path any more");
		break;
	case -ERANGE:
		ctl_call_fail(
			call, -ERANGE, "path", m->path,
			"no token is left above the fences here: root can reset the runaway one");
		break;
	default:
		ctl_call_database_error(call, err);
	}
	free(m);
}

void ctl_acquire(struct ctl_call *call)
{
	struct core *c = call->ctl->c;
	struct lease_args a = { 0 };
	struct lease_info held;
	struct ctl_error error;
	struct acquiring *m = NULL;
	int err = parse(call, &a, &error);

	if (!err && !(m = malloc(sizeof(*m))))
		err = ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	if (!a.keep &&
	    lease_held_by(c, call->ctl, a.path, &held)) { /* the request again: the same answer */
		free(m);
		reply_lease(&call->reply, &held);
		ctl_call_done(call);
		return;
	}
	m->call = call;
	strcpy(m->path, a.path);
	if (a.wait)
		ctl_call_defer(call);
	lease_acquire(c,
		      &(struct acquire_args){ .path = a.path,
					      .owner = a.owner,
					      .ttl = a.ttl,
					      .wait = a.wait,
					      .who = &call->ctl->who,
					      .ctl = call->ctl,
					      .keep = a.keep },
		      acquired, m);
}

/* The lease is not there: overtaken by a higher token, or expired. */
static void fail_lost(struct ctl_call *call, const char *path, int64_t token)
{
	struct core *c = call->ctl->c;
	struct fence_row *row = calloc(1, sizeof(*row));
	struct db *db;
	int64_t rev;
	int err = row ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (!err) {
		err = fence_highest(db, path, row);
		core_read_end(c, db);
	}
	if (!err && row->token > token) {
		reply_err(&call->reply, -ESTALE);
		reply_str(&call->reply, "path", path);
		reply_int(&call->reply, "token", token);
		reply_int(&call->reply, "highest", row->token);
		reply_str(&call->reply, "set_by", row->owner);
		reply_time(&call->reply, "set_at", row->updated);
		reply_str(&call->reply, "held_path", row->path);
		reply_text(&call->reply,
			   "%s owns %s with token %" PRId64 " now: this lease is lost", row->owner,
			   row->path, row->token);
	} else if (!err) {
		reply_err(&call->reply, -ETIME);
		reply_str(&call->reply, "path", path);
		reply_int(&call->reply, "token", token);
		reply_text(&call->reply,
			   "there is no live lease with token %" PRId64
			   " on %s: it has expired or was released; acquire it again",
			   token, path);
	}
	free(row);
	if (err < 0)
		ctl_call_database_error(call, err);
	else
		ctl_call_done(call);
}

struct holding {
	struct ctl_call *call;
	char path[FENCE_PATH_MAX + 1];
	int64_t token;
	bool renews;
};

static void held_done(void *arg, int err, const struct lease_info *lease)
{
	struct holding *m = arg;
	struct ctl_call *call = m->call;

	if (!err && m->renews) {
		reply_lease(&call->reply, lease);
		ctl_call_done(call);
	} else if (!err) {
		reply_ok(&call->reply);
		ctl_call_done(call);
	} else if (err == -ETIME) {
		fail_lost(call, m->path, m->token);
	} else if (err == -EPERM) {
		ctl_call_fail(call, -EPERM, "path", m->path,
			      "the lease with this token belongs to another owner=");
	} else if (err == -ENOENT) {
		ctl_call_fail(call, -ENOENT, "path", m->path,
			      "nobody holds a lease on exactly this path");
	} else {
		ctl_call_database_error(call, err);
	}
	free(m);
}

static struct holding *holding_new(struct ctl_call *call, bool renews, struct lease_args *a)
{
	struct ctl_error error;
	struct holding *m = NULL;
	int err = parse(call, a, &error);

	if (!err && !a->force && !ctl_line_get(&call->line, "token"))
		err = ctl_error_set(&error, -EINVAL, "token", NULL,
				    "%s needs token=", call->line.verb);
	if (!err && a->force && call->ctl->who.uid != 0)
		err = ctl_error_set(&error, -EPERM, "force", "1",
				    "only root may release what another holds");
	if (!err && !(m = calloc(1, sizeof(*m))))
		err = ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");
	if (err < 0 || !m) {
		ctl_call_error(call, &error);
		return NULL;
	}
	m->call = call;
	m->renews = renews;
	m->token = a->token;
	strcpy(m->path, a->path);
	return m;
}

void ctl_renew(struct ctl_call *call)
{
	struct lease_args a = { 0 };
	struct holding *m = holding_new(call, true, &a);

	if (m)
		lease_renew(call->ctl->c, a.path, a.token, a.owner, a.ttl, held_done, m);
}

void ctl_release(struct ctl_call *call)
{
	struct lease_args a = { 0 };
	struct holding *m = holding_new(call, false, &a);

	if (m)
		lease_release(call->ctl->c, a.path, a.token, a.owner, a.force, call->ctl->who.uid,
			      held_done, m);
}
