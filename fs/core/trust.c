// SPDX-License-Identifier: MIT
/* See trust.h, and the verb `damaged`, by which fence fsck tells a running daemon. Core layer. */
#include "core/trust.h"

#include "base/io.h"
#include "base/log.h"
#include "core/ctl_impl.h"
#include "store/damaged.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int trust_init(struct core *c)
{
	struct db *db;
	int res = store_reader_get(c->store, &db);

	if (res < 0)
		return res;
	res = damaged_any(db);
	store_reader_put(c->store, db);
	if (res < 0)
		return res;
	atomic_store(&c->has_damage, res > 0);
	return 0;
}

static bool is_what_was_sealed(const struct blob_info *info)
{
	struct blob_hash hash;

	if (!info->data)
		return true;
	hash_buf(info->data, (size_t)info->size, &hash);
	return memcmp(hash.b, info->hash.b, sizeof(hash.b)) == 0;
}

int trust_blob(struct core *c, struct db *db, const struct blob_info *info)
{
	int marked = atomic_load(&c->has_damage) ? damaged_is_marked(db, &info->id) : 0;

	if (marked < 0)
		return marked;
	if (!marked && is_what_was_sealed(info))
		return 0;
	log_error("blob %s is damaged and not handed out: run fence fsck --data",
		  blob_hex(info->id.b).s);
	return -EIO;
}

struct mark {
	struct job job; /* first */
	struct ctl_call *call;
	struct blob_id blob;
	bool good;
};

static struct mark *mark_of(struct job *j)
{
	return (struct mark *)(void *)j;
}

static int mark_apply(struct core *c, struct db *db, struct job *j)
{
	struct mark *m = mark_of(j);
	struct blob_info info;
	int err = blob_get(db, &m->blob, false, &info);

	(void)c;
	if (err && err != -EUCLEAN)
		return err;
	return m->good ? damaged_unmark(db, &m->blob) : damaged_mark(db, &m->blob, io_now_ns());
}

static void mark_durable(struct core *c, struct job *j)
{
	if (!j->err && !mark_of(j)->good)
		atomic_store(&c->has_damage, true);
}

static void mark_done(struct core *c, struct job *j)
{
	struct mark *m = mark_of(j);
	struct ctl_call *call = m->call;

	if (j->err == -ENOENT) {
		ctl_call_fail(call, ENOENT, "blob", blob_hex(m->blob.b).s, "no such content");
	} else if (j->err) {
		ctl_call_database_error(call, j->err);
	} else {
		log_warning("blob %s was found %s by uid %u", blob_hex(m->blob.b).s,
			    m->good ? "good again" : "damaged", call->ctl->who.uid);
		reply_ok(&call->reply);
		ctl_call_done(call);
	}
	free(m);
	core_busy_end(c);
}

static const struct job_ops mark_job = { .apply = mark_apply,
					 .durable = mark_durable,
					 .done = mark_done };

static int parse(struct ctl_call *call, struct mark *m, struct ctl_error *error)
{
	const char *hex = ctl_line_get(&call->line, "blob");
	uint32_t uid = call->ctl->who.uid;

	if (uid != 0 && uid != geteuid())
		return ctl_error_set(error, EPERM, NULL, NULL,
				     "only who serves the store may mark its content");
	if (blob_hex_parse(hex, m->blob.b) < 0)
		return ctl_error_set(error, EINVAL, "blob", hex, "blob= is 32 hex digits");
	return ctl_flag(&call->line, "good", &m->good, error);
}

void ctl_damaged(struct ctl_call *call)
{
	struct mark *m = calloc(1, sizeof(*m));
	struct core *c = call->ctl->c;
	struct ctl_error error;
	int err = m ? parse(call, m, &error) :
		      ctl_error_set(&error, ENOMEM, NULL, NULL, "out of memory");

	if (!err && (err = core_busy_begin(c)) < 0)
		ctl_error_set(&error, err, NULL, NULL, "the file system is being unmounted");
	if (err < 0) {
		free(m);
		ctl_call_error(call, &error);
		return;
	}
	m->call = call;
	m->job.ops = &mark_job;
	committer_submit(c, &m->job);
}
