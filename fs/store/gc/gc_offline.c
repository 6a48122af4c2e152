/* SPDX-License-Identifier: MIT */
/* gc of a store that nobody serves: its writer is ours, and nothing is pinned. Layer: store. */
#include "store/sqlite/db.h"
#include "store/gc/gc.h"
#include "store/store.h"
#include "store/sqlite/txn.h"

#include <errno.h>

struct offline {
	struct gc_env env; /* what gc sees; its arg is this */
	struct store *s;
	const struct gc_env *base;
};

static int offline_write(void *arg, gc_write_fn fn, void *fn_arg)
{
	struct offline *o = arg;
	struct db *db = store_writer(o->s);
	int err = store_is_broken(o->s) ? -EIO : txn_begin(db);

	if (err)
		return err;
	err = fn(db, fn_arg);
	if (err) {
		txn_rollback(db);
		return err;
	}
	err = txn_commit(db);
	if (err && err != -ENOSPC && err != -EDQUOT)
		store_set_broken(o->s);
	if (!err)
		(void)store_checkpoint(o->s, false);
	return err;
}

static bool never_pinned(void *arg, const struct blob_id *id)
{
	(void)arg;
	(void)id;
	return false;
}

static void offline_checkpoint(void *arg)
{
	struct offline *o = arg;

	(void)store_checkpoint(o->s, true);
}

static void offline_progress(void *arg, const struct gc_progress *p)
{
	struct offline *o = arg;

	if (o->base->progress)
		o->base->progress(o->base->arg, p);
}

static bool offline_stop(void *arg)
{
	struct offline *o = arg;

	return o->base->should_stop && o->base->should_stop(o->base->arg);
}

int gc_run_offline(struct store *s, const struct gc_env *base, const struct gc_options *opt,
		   struct gc_report *report, struct errmsg *err)
{
	struct offline o = { .s = s, .base = base };

	o.env = (struct gc_env){
		.arg = &o,
		.write = offline_write,
		.is_pinned = never_pinned,
		.checkpoint = offline_checkpoint,
		.progress = offline_progress,
		.should_stop = offline_stop,
		.is_offline = true,
	};
	/* The daemon's cache of the writer would be most of this tool's memory. */
	(void)db_exec(store_writer(s), "PRAGMA cache_size = -16384");
	return gc_run(s, &o.env, opt, report, err);
}
