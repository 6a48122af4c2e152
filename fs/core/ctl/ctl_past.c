/* SPDX-License-Identifier: MIT */
/* at, and list kind=event: what was when. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "core/access/permission.h"
#include "core/view/snapshot.h"
#include "store/tree/event.h"
#include "wire/seconds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ctl_at(struct ctl_call *call)
{
	const char *time = ctl_line_get(&call->line, "time");
	struct core *c = call->ctl->c;
	int64_t at, revision = snapshot_newest(c);
	int err = 0;

	if (time) {
		err = seconds_parse(time, &at);
		if (err < 0) {
			ctl_call_fail(call, err, "time", time,
				      "time= is seconds since 1970, such as 1764500000.25");
			return;
		}
		err = snapshot_by_time(c, at, &revision);
	}
	if (err == -ENOENT) {
		ctl_call_fail(call, -ENOENT, "time", time, "the store did not exist yet");
	} else if (err < 0) {
		ctl_call_database_error(call, err);
	} else {
		reply_ok(&call->reply);
		reply_int(&call->reply, "revision", revision);
		ctl_call_done(call);
	}
}

static bool concerns(const struct event *e, const char *path)
{
	return !path || path_is_within(e->path, path) || path_is_within(path, e->path);
}

static bool may_see(struct db *db, int64_t rev, const struct caller *who, const struct event *e)
{
	struct permission_target t;
	int err;

	if (who->uid == 0 || who->uid == e->uid)
		return true;
	err = permission_walk(db, rev, who, e->path, &t);
	return err == 0 || err == -ENOTDIR;
}

static void reply_event(struct ctl_reply *r, const struct event *e)
{
	reply_ok(r);
	reply_int(r, "id", e->id);
	reply_str(r, "event", event_kind_name(e->kind));
	reply_time(r, "at", e->at);
	reply_int(r, "revision", e->revision);
	reply_str(r, "path", e->path);
	reply_int(r, "token", e->token);
	reply_str(r, "owner", e->owner);
	if (e->uid != UINT32_MAX)
		reply_int(r, "uid", e->uid);
	if (e->highest >= 0)
		reply_int(r, "highest", e->highest);
	reply_str(r, "held_by", e->other);
	reply_str(r, "detail", e->detail);
	if (e->kind == EVENT_COMMIT)
		reply_int(r, "changed", e->n);
	if (e->kind == EVENT_GRANT)
		reply_time(r, "ttl", e->n);
}

int ctl_list_event(struct ctl_call *call, const char *path, int64_t after)
{
	struct core *c = call->ctl->c;
	struct event *e = malloc(sizeof(*e));
	struct db *db;
	int64_t rev;
	int err = e ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (err < 0) {
		free(e);
		return err;
	}
	do {
		err = event_next(db, after, e);
		after = err ? after : e->id;
	} while (!err && (!concerns(e, path) || !may_see(db, rev, &call->ctl->who, e)));
	core_read_end(c, db);
	if (!err)
		reply_event(&call->reply, e);
	free(e);
	return err;
}
