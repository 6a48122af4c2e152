/* SPDX-License-Identifier: MIT */
/*
 * put and remove. Core layer. A put's payload follows its line: small content in memory, large
 * content straight into a staging file.
 */
#include "core/ctl/ctl_impl.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/access/permission.h"
#include "core/publish/single.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PUT_MAX (INT64_C(64) << 20)

struct put {
	struct ctl_payload payload; /* first */
	struct ctl_call *call;
	struct single *p; /* owned; NULL: the line was refused, and call->reply says why */
	int64_t size, got;
	int fd;	 /* owned; -1: in memory */
	int err; /* of taking the payload: reported when it is complete */
};

static void answer(struct single *p, int err)
{
	struct ctl_call *call = p->arg;

	if (err && p->p.result.refusal.err) {
		reply_refusal(&call->reply, &p->p.result.refusal);
	} else if (err) {
		single_free(p);
		ctl_call_database_error(call, err);
		return;
	} else {
		reply_ok(&call->reply);
		reply_int(&call->reply, "revision", p->p.result.revision);
		if (p->kind != SINGLE_REMOVE)
			reply_int(&call->reply, "changed", p->p.result.changed);
	}
	single_free(p);
	ctl_call_done(call);
}

static int parse(struct ctl_call *call, struct single *p, struct ctl_error *error)
{
	const struct ctl_line *l = &call->line;
	char buf[OWNER_MAX + 1];
	const char *owner, *op = "";
	bool dir;
	int err = ctl_path(l, "path", p->path, &dir, error);

	if (!err && strcmp(p->path, ".") == 0)
		err = ctl_error_set(error, -EINVAL, "path", ".",
				    "the root cannot be put or removed");
	if (!err && dir && p->kind != SINGLE_REMOVE)
		err = ctl_error_set(error, -EISDIR, "path", p->path,
				    "a path that ends in / is a directory; put writes files");
	if (!err)
		err = ctl_token(l, "token", &p->token, error);
	if (!err)
		err = ctl_owner(call, &owner, buf, error);
	if (!err)
		err = ctl_word(l, "op", &op, error);
	if (!err)
		err = ctl_flag(l, "parents", &p->parents, error);
	if (!err)
		err = ctl_flag(l, "once", &p->once, error);
	if (!err && p->kind != SINGLE_RESTORE) /* there version= says what is restored */
		err = ctl_expectation(l, false, &p->expect, &p->has_expect, error);
	p->has_mode = ctl_line_get(l, "mode") != NULL;
	if (!err && p->has_mode)
		err = ctl_mode(l, "mode", &p->mode, error);
	if (err < 0)
		return err;
	strcpy(p->owner, owner);
	strcpy(p->op, op);
	p->expect.path = p->path;
	return 0;
}

static int check(struct core *c, struct single *p, struct ctl_error *error)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int may_compare = 0, err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return ctl_error_set(error, err, NULL, NULL, "the store's database failed");
	if (p->kind == SINGLE_REMOVE)
		err = permission_remove(db, rev, &p->who, p->path, &t);
	else
		err = permission_write(db, rev, &p->who, p->path, &t);
	if (!err && p->has_expect && p->expect.kind == EXPECT_HASH)
		may_compare = permission_read(db, rev, &p->who, p->path, &t);
	core_read_end(c, db);
	if (err ==
	    -ENOENT) /* the transaction finds that too, and an op may have been done before */
		return 0;
	if (!err && may_compare < 0)
		return ctl_error_set(error, may_compare, "path", p->path,
				     "no read permission on this path, so no hash= of it");
	if (err < 0)
		return ctl_error_set(
			error, err, "path", p->path,
			err == -EACCES ? "no write permission on this path" :
			err == -EPERM  ? "the directory is sticky: only the owner may remove this" :
					 "a part of this path is not a directory");
	return 0;
}

static int single_request(struct ctl_call *call, enum single_kind kind, struct single **out,
			  struct ctl_error *error)
{
	struct single *p = single_new(kind);
	int err;

	if (!p)
		return ctl_error_set(error, -ENOMEM, NULL, NULL, "out of memory");
	p->who = call->ctl->who;
	p->done = answer;
	p->arg = call;
	err = parse(call, p, error);
	if (!err)
		err = check(call->ctl->c, p, error);
	if (err < 0) {
		single_free(p);
		return err;
	}
	*out = p;
	return 0;
}

static void submit(struct ctl_call *call, struct single *p)
{
	int err = single_submit(call->ctl->c, p);

	if (err < 0) {
		single_free(p);
		ctl_call_database_error(call, err);
	}
}

void ctl_remove(struct ctl_call *call)
{
	struct ctl_error error;
	struct single *p;

	if (single_request(call, SINGLE_REMOVE, &p, &error) < 0)
		ctl_call_error(call, &error);
	else
		submit(call, p);
}

void ctl_restore(struct ctl_call *call)
{
	struct ctl_error error;
	struct single *p;
	int64_t version;
	int err = ctl_count(&call->line, "version", INT64_MAX, &version, &error);

	if (!err)
		err = single_request(call, SINGLE_RESTORE, &p, &error);
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	p->version = version;
	submit(call, p);
}

static int prepare_content(struct core *c, struct put *put)
{
	struct single *p = put->p;
	int err;

	if (put->size <= BLOB_INLINE_MAX) {
		p->content->data = malloc((size_t)put->size + 1);
		return p->content->data ? 0 : -ENOMEM;
	}
	err = blob_id_new(&p->staged_id);
	if (!err)
		err = staging_create(c->store, &p->staged_id, &put->fd);
	if (!err)
		p->staged = true;
	return err;
}

static int put_new(struct ctl_call *call, int64_t size, struct put **out, struct ctl_error *error)
{
	struct put *put = calloc(1, sizeof(*put));
	int err;

	if (!put)
		return ctl_error_set(error, -ENOMEM, NULL, NULL, "out of memory");
	err = single_request(call, SINGLE_PUT, &put->p, error);
	if (err < 0) {
		free(put);
		return err;
	}
	put->call = call;
	put->size = size;
	put->fd = -1;
	put->err = prepare_content(call->ctl->c, put);
	*out = put;
	return 0;
}

static struct put *put_of(struct ctl_payload *payload)
{
	return (struct put *)(void *)payload;
}

static uint64_t put_wants(const struct ctl_payload *payload)
{
	const struct put *p = (const struct put *)(const void *)payload;

	return (uint64_t)(p->size - p->got);
}

static void put_feed(struct ctl_payload *payload, const void *data, size_t len)
{
	struct put *p = put_of(payload);

	if (p->p && !p->err && p->fd >= 0)
		p->err = io_pwrite_all(p->fd, data, len, p->got);
	else if (p->p && !p->err)
		memcpy((char *)p->p->content->data + p->got, data, len);
	p->got += (int64_t)len;
}

static void put_release(struct put *p)
{
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static void drop_publish(struct core *c, struct single *p)
{
	if (p->staged)
		staging_remove(c->store, &p->staged_id);
	single_free(p);
}

static int finish_inline(struct single *p, int64_t size)
{
	p->content->size = size;
	p->content->empty = size == 0;
	hash_buf(p->content->data, (size_t)size, &p->content->hash);
	return blob_id_new(&p->content->id);
}

static void put_complete(struct ctl_payload *payload)
{
	struct put *put = put_of(payload);
	struct ctl_call *call = put->call;
	struct single *p = put->p;
	int err = put->err;

	if (p && !err && !p->staged)
		err = finish_inline(p, put->size);
	put_release(put); /* its descriptor is closed before sealing */
	if (!p) {
		ctl_call_done(call);
		return;
	}
	if (err < 0) {
		drop_publish(call->ctl->c, p);
		ctl_call_database_error(call, err);
		return;
	}
	submit(call, p);
}

static void put_drop(struct ctl_payload *payload)
{
	struct put *put = put_of(payload);
	struct ctl_call *call = put->call;

	if (put->p)
		drop_publish(call->ctl->c, put->p);
	ctl_call_forget(call);
	put_release(put);
}

static const struct ctl_payload_ops payload_ops = {
	.wants = put_wants,
	.feed = put_feed,
	.complete = put_complete,
	.drop = put_drop,
};

/*
 * The call stays open while the payload comes in, but does not keep the conversation busy: the
 * payload is what is waited for.
 */
static void wait_for_payload(struct ctl *ctl, struct put *put)
{
	lock_take(&ctl->lock);
	put->payload.ops = &payload_ops;
	ctl->put = &put->payload;
	ctl->busy = false;
	lock_drop(&ctl->lock);
}

/*
 * 0 and *out, or what the conversation does with the bytes after the line: skip them, or nothing
 * more.
 */
static int refused_size(struct ctl_call *call, int64_t *out)
{
	struct ctl_error ignored;
	struct ctl *ctl = call->ctl;
	int64_t size;
	int err = call->line.verb && ctl_line_get(&call->line, "size") ?
			  ctl_count(&call->line, "size", INT64_MAX, &size, &ignored) :
			  -EINVAL;

	if (!err && size <= PUT_MAX) {
		*out = size;
		return 0;
	}
	lock_take(&ctl->lock);
	if (err < 0)
		ctl->dead = true;
	else
		ctl->skip = (uint64_t)size;
	lock_drop(&ctl->lock);
	return -EINVAL;
}

void ctl_put_refuse(struct ctl_call *call, const struct ctl_error *error)
{
	int64_t size;
	struct put *put = refused_size(call, &size) == 0 ? calloc(1, sizeof(*put)) : NULL;

	if (!put) {
		ctl_call_error(call, error);
		return;
	}
	reply_error(&call->reply, error);
	*put = (struct put){ .call = call, .size = size, .fd = -1 };
	wait_for_payload(call->ctl, put);
}

void ctl_put(struct ctl_call *call)
{
	struct ctl_error error;
	struct put *put = NULL;
	int64_t size;
	int err = ctl_count(&call->line, "size", INT64_MAX, &size, &error);

	if (!err && size > PUT_MAX)
		err = ctl_error_set(&error, -EMSGSIZE, "size", ctl_line_get(&call->line, "size"),
				    "put takes at most 67108864 bytes; open a session for more");
	if (!err)
		err = put_new(call, size, &put, &error);
	if (err < 0 || !put)
		ctl_put_refuse(call, &error);
	else
		wait_for_payload(call->ctl, put);
}
