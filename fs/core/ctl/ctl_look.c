/* SPDX-License-Identifier: MIT */
/* stat and list. Core layer. */
#include "core/ctl/ctl_impl.h"
#include "core/lease/lease_table.h"

#include "base/io.h"
#include "core/access/past_mode.h"
#include "core/access/permission.h"
#include "store/fence/fence.h"
#include "store/store.h"
#include "store/tree/reject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(enum entry_kind kind)
{
	return kind == ENTRY_DIR ? "dir" : kind == ENTRY_SYMLINK ? "symlink" : "file";
}

static void lease_reply(struct ctl_reply *r, const char *path, const struct lease_info *l)
{
	reply_str(r, "lease_owner", l->owner);
	reply_int(r, "lease_token", l->token);
	reply_seconds(r, "remaining", l->remaining);
	if (strcmp(path, l->path) != 0)
		reply_str(r, "lease_path", l->path);
}

static void stat_reply(struct ctl_reply *r, const char *path, const struct permission_target *t,
		       const struct fence_row *fence)
{
	const struct entry *e = &t->entry;

	reply_ok(r);
	reply_str(r, "path", path);
	reply_str(r, "kind", t->exists ? kind_name(e->kind) : "absent");
	if (t->exists) {
		reply_int(r, "version", e->seq);
		reply_int(r, "revision", e->born);
		reply_int(r, "token", e->token);
		if (e->kind == ENTRY_FILE)
			reply_int(r, "size", e->size);
	}
	if (fence->token < 0)
		return;
	reply_int(r, "highest", fence->token);
	reply_str(r, "set_by", fence->owner);
	reply_time(r, "set_at", fence->updated);
	if (strcmp(fence->path, path) != 0)
		reply_str(r, "held_path", fence->path);
}

static int look(struct core *c, const struct caller *who, const char *path,
		struct permission_target *t, struct fence_row *fence)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = permission_walk(db, rev, who, path, t);
	if (err == -ENOTDIR) {
		t->exists = false;
		err = 0;
	}
	if (!err)
		err = fence_highest(db, path, fence);
	core_read_end(c, db);
	return err;
}

void ctl_stat(struct ctl_call *call)
{
	char path[FENCE_PATH_MAX + 1];
	struct permission_target t = { 0 };
	struct fence_row fence;
	struct lease_info lease;
	struct ctl_error error;
	int err = ctl_path(&call->line, "path", path, NULL, &error);

	if (!err && (err = look(call->ctl->c, &call->ctl->who, path, &t, &fence)) < 0)
		ctl_error_set(&error, err, "path", path,
			      err == -EACCES ? "no permission to look at this path" :
					       "the store's database failed");
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	stat_reply(&call->reply, path, &t, &fence);
	if (lease_covering(call->ctl->c, path, &lease))
		lease_reply(&call->reply, path, &lease);
	ctl_call_done(call);
}

struct list_args {
	char path[FENCE_PATH_MAX + 1];
	bool has_path;
	const char *after;
};

static bool within(const struct list_args *a, const char *path)
{
	return !a->has_path || path_is_within(path, a->path);
}

static void list_end(struct ctl_call *call)
{
	reply_ok(&call->reply);
	reply_int(&call->reply, "end", 1);
}

static const char *session_state(struct session *s, int64_t *staged)
{
	const struct overtake *by = atomic_load(&s->overtaken);
	const char *state = by ? by->superseded ? "superseded" : "overtaken" : "open";

	rwlock_read(&s->lock);
	if (s->state == SESSION_STATE_COMMITTING)
		state = "committing";
	*staged = (int64_t)s->overlay.n_names;
	rwlock_drop(&s->lock);
	return state;
}

static void session_reply(struct ctl_reply *r, struct session *s)
{
	int64_t staged;
	const char *state = session_state(s, &staged);

	reply_ok(r);
	reply_str(r, "id", s->id);
	reply_str(r, "path", s->path);
	reply_int(r, "token", s->token);
	reply_str(r, "owner", s->owner);
	reply_int(r, "uid", s->who->uid);
	reply_time(r, "opened", s->opened);
	reply_time(r, "idle", io_boot_ns() - atomic_load(&s->last_used));
	if (s->keep)
		reply_time(r, "ttl", s->ttl);
	reply_int(r, "keep", s->keep);
	reply_int(r, "staged", staged);
	reply_str(r, "state", state);
}

/* Sessions in the order of their ids; somebody else's are seen by root only. */
static int list_session(struct ctl_call *call, const struct list_args *a)
{
	struct core *c = call->ctl->c;
	char(*ids)[33];
	int n = session_ids(c, &ids);
	bool found = false;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !found; i++) {
		struct session *s;

		if (a->after && strcmp(ids[i], a->after) <= 0)
			continue;
		s = session_table_get(c, ids[i]);
		if (!s)
			continue;
		found = (call->ctl->who.uid == 0 || call->ctl->who.uid == s->who->uid) &&
			within(a, s->path);
		if (found)
			session_reply(&call->reply, s);
		session_put(s);
	}
	free(ids);
	if (!found)
		list_end(call);
	return 0;
}

/* Leases by path; of others than one's own only those on paths that one may write. */
static bool may_see(struct ctl_call *call, const struct lease_info *l)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	bool ok;

	if (call->ctl->who.uid == 0 || call->ctl->who.uid == l->uid)
		return true;
	if (core_read_begin(call->ctl->c, &db, &rev) < 0)
		return false;
	ok = permission_write(db, rev, &call->ctl->who, l->path, &t) == 0;
	core_read_end(call->ctl->c, db);
	return ok;
}

static int list_lease(struct ctl_call *call, const struct list_args *a)
{
	char after[FENCE_PATH_MAX + 1] = "";
	struct ctl_reply *r = &call->reply;
	struct lease_info l;

	if (a->after && strlen(a->after) > FENCE_PATH_MAX)
		return -EINVAL;
	if (a->after)
		strcpy(after, a->after);
	do {
		if (!lease_next(call->ctl->c, after, &l)) {
			list_end(call);
			return 0;
		}
		strcpy(after, l.path);
	} while (!within(a, l.path) || !may_see(call, &l));
	reply_ok(r);
	reply_str(r, "id", l.path);
	reply_str(r, "path", l.path);
	reply_int(r, "token", l.token);
	reply_str(r, "owner", l.owner);
	if (l.uid != UINT32_MAX)
		reply_int(r, "uid", l.uid);
	reply_seconds(r, "ttl", l.ttl);
	reply_seconds(r, "remaining", l.remaining);
	reply_int(r, "keep", l.keep);
	reply_int(r, "waiters", l.waiters);
	return 0;
}

static void reject_reply(struct ctl_reply *r, const struct reject *row)
{
	char data[64];

	reply_ok(r);
	reply_int(r, "id", row->id);
	reply_time(r, "at", row->at);
	reply_str(r, "path", row->path);
	reply_int(r, "token", row->token);
	if (row->highest >= 0)
		reply_int(r, "highest", row->highest);
	reply_str(r, "held_by", row->held_by);
	reply_str(r, "held_path", row->held_path);
	reply_str(r, "owner", row->owner);
	reply_int(r, "uid", row->uid);
	reply_str(r, "op", row->op);
	reply_str(r, "session", row->session);
	reply_str(r, "stage", row->stage);
	reply_str(r, "why", row->why);
	if (!row->has_blob)
		return;
	reply_int(r, "size", row->size);
	snprintf(data, sizeof(data), ".fence/rejects/%lld", (long long)row->id);
	reply_str(r, "data", data);
}

static int after_number(const struct list_args *a, int64_t none, int64_t *out)
{
	char *end;

	*out = none;
	if (!a->after)
		return 0;
	errno = 0;
	*out = strtoll(a->after, &end, 10);
	return errno || end == a->after || *end || *out < 0 ? -EINVAL : 0;
}

/* The refused and root see a refusal. */
static int list_reject(struct ctl_call *call, const struct list_args *a)
{
	struct reject *row = malloc(sizeof(*row));
	const struct caller *who = &call->ctl->who;
	struct db *db;
	int64_t rev, after;
	int err = row ? after_number(a, 0, &after) : -ENOMEM;

	if (!err)
		err = core_read_begin(call->ctl->c, &db, &rev);
	if (err < 0) {
		free(row);
		return err;
	}
	do {
		err = reject_next(db, after, row);
		if (!err)
			after = row->id;
	} while (!err && ((who->uid != 0 && who->uid != row->uid) || !within(a, row->path)));
	core_read_end(call->ctl->c, db);
	if (!err)
		reject_reply(&call->reply, row);
	else if (err == -ENOENT)
		list_end(call);
	free(row);
	return err == -ENOENT ? 0 : err;
}

/* A hash lets one try what the content might be: it is for who may read it (P8). */
static void version_hash(struct ctl_reply *r, struct db *db, const struct entry *e)
{
	struct blob_info info;
	struct blob_hash empty;

	hash_buf("", 0, &empty);
	if (!e->has_blob)
		reply_str(r, "hash", blob_hex(empty.b).s);
	else if (blob_get(db, &e->blob, false, &info) == 0)
		reply_str(r, "hash", blob_hex(info.hash.b).s);
}

static void version_reply(struct ctl_reply *r, struct db *db, const struct entry *e,
			  const struct entry_visible *visible, const struct caller *who)
{
	struct entry_origin *origin = malloc(sizeof(*origin));
	struct entry access;

	reply_ok(r);
	reply_int(r, "id", e->row);
	reply_int(r, "version", e->seq);
	reply_int(r, "revision", e->born);
	reply_str(r, "kind", kind_name(e->kind));
	reply_int(r, "token", e->token);
	if (e->kind == ENTRY_FILE) {
		reply_int(r, "size", e->size);
		if (past_mode(db, ENTRY_NOW, e, &access) == 0 &&
		    permission_bits(who, access.mode, access.uid, access.gid) & 04)
			version_hash(r, db, e);
	}
	if (origin && entry_origin(db, e->row, origin) == 0) {
		reply_time(r, "at", origin->at);
		reply_str(r, "owner", origin->owner);
		reply_str(r, "op", origin->op);
	}
	if (visible->from > e->born) /* it came with its directory */
		reply_int(r, "from", visible->from);
	if (visible->until != INT64_MAX)
		reply_int(r, "until", visible->until);
	reply_int(r, "current", visible->until == INT64_MAX);
	free(origin);
}

static int list_version(struct ctl_call *call, const struct list_args *a)
{
	struct entry_visible visible;
	struct permission_target t;
	int64_t rev, after;
	struct entry e;
	struct db *db;
	int err = after_number(a, 0, &after);

	if (!err)
		err = core_read_begin(call->ctl->c, &db, &rev);
	if (err < 0)
		return err;
	err = permission_walk(db, rev, &call->ctl->who, a->path, &t);
	if (!err || err == -ENOTDIR)
		err = entry_history_next(db, a->path, after, &e, &visible);
	if (!err)
		version_reply(&call->reply, db, &e, &visible, &call->ctl->who);
	core_read_end(call->ctl->c, db);
	if (err == -ENOENT) {
		list_end(call);
		err = 0;
	}
	return err;
}

static int list_event(struct ctl_call *call, const struct list_args *a)
{
	int64_t after;
	int err = after_number(a, 0, &after);

	if (err < 0)
		return err;
	err = ctl_list_event(call, a->has_path ? a->path : NULL, after);
	if (err == -ENOENT)
		list_end(call);
	return err == -ENOENT ? 0 : err;
}

static int list_gc(struct ctl_call *call, const struct list_args *a)
{
	int err = ctl_list_gc(call, a->after);

	if (err == -ENOENT)
		list_end(call);
	return err == -ENOENT ? 0 : err;
}

static int list_parse(struct ctl_call *call, struct list_args *a, struct ctl_error *error)
{
	a->has_path = ctl_line_get(&call->line, "path") != NULL;
	a->after = ctl_line_get(&call->line, "after");
	return a->has_path ? ctl_path(&call->line, "path", a->path, NULL, error) : 0;
}

void ctl_list(struct ctl_call *call)
{
	const char *kind = ctl_line_get(&call->line, "kind");
	struct list_args a = { 0 };
	struct ctl_error error;
	int err = list_parse(call, &a, &error);

	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	if (strcmp(kind, "session") == 0)
		err = list_session(call, &a);
	else if (strcmp(kind, "lease") == 0)
		err = list_lease(call, &a);
	else if (strcmp(kind, "reject") == 0)
		err = list_reject(call, &a);
	else if (strcmp(kind, "event") == 0)
		err = list_event(call, &a);
	else if (strcmp(kind, "gc") == 0)
		err = list_gc(call, &a);
	else if (strcmp(kind, "version") == 0 && a.has_path)
		err = list_version(call, &a);
	else
		ctl_error_set(&error, -EINVAL, "kind", kind,
			      "kind= is session, lease, reject, event, gc, or version with path="),
			err = 1;
	if (err == 1)
		ctl_call_error(call, &error);
	else if (err == -EINVAL)
		ctl_call_fail(call, -EINVAL, "after", a.after,
			      "after= is the id of the last record that was read");
	else if (err < 0)
		ctl_call_fail(call, err, NULL, NULL,
			      err == -EACCES ? "no permission to look at this path" :
					       "the store's database failed");
	else
		ctl_call_done(call);
}
