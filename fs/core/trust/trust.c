/* SPDX-License-Identifier: MIT */
/* See trust.h. Core layer. */
#include "core/trust/trust.h"

#include "wire/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "core/service/core_impl.h"
#include "core/trust/verify.h"
#include "store/blob/damaged.h"
#include "store/tree/entry.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	return marked || !is_what_was_sealed(info) ? -EBADMSG : 0;
}

bool trust_was_lost(struct core *c, const struct blob_id *id)
{
	return pins_has(&c->regained, id);
}

/* What content is called in a message. */
struct label {
	char s[FENCE_PATH_MAX + 96];
};

/* A path as it is or was last; "" if it cannot be told. */
static void path_of(struct db *db, const struct entry *e, char *out)
{
	char dir[FENCE_PATH_MAX + 1];

	if (entry_path(db, e->dir, e->died ? e->died - 1 : ENTRY_NOW, dir) < 0 ||
	    path_join(dir, e->name, out) < 0)
		*out = '\0';
}

static void label_init(struct label *l, struct db *db, int64_t row, const struct blob_id *id)
{
	struct blob_hex hex = blob_hex(id->b);
	char path[FENCE_PATH_MAX + 1] = "";
	struct entry e;

	if (row > 0 && entry_by_row(db, row, &e) == 0)
		path_of(db, &e, path);
	if (*path)
		snprintf(l->s, sizeof(l->s), "%s, version %" PRId64 " (blob %s)", path, e.seq,
			 hex.s);
	else
		snprintf(l->s, sizeof(l->s), "blob %s", hex.s);
}

struct mark {
	struct job job; /* first */
	struct core *c;
	void (*done)(void *arg, int err); /* NULL: what was found here */
	void *arg;
	struct blob_id blob;
	bool good;
	bool is_news;	    /* it was not marked before */
	struct label label; /* these two: for the log, once it is marked; without a call */
	const char *why;    /* NULL: it has been told */
};

static struct mark *mark_of(struct job *j)
{
	return (struct mark *)(void *)j;
}

static int mark_apply(struct job *j, struct db *db)
{
	struct mark *m = mark_of(j);
	struct core *c = m->c;
	struct blob_info info;
	int err = blob_get(db, &m->blob, false, &info);
	int res;

	if (err && err != -EUCLEAN)
		return err;
	res = damaged_is_marked(db, &m->blob);
	if (res < 0)
		return res;
	m->is_news = !res;
	/* Before any open can see that the mark is gone. */
	if (m->good && res && !pins_has(&c->regained, &m->blob)) {
		err = pins_add(&c->regained, &m->blob);
		if (err < 0)
			return err;
	}
	return m->good ? damaged_unmark(db, &m->blob) : damaged_mark(db, &m->blob, io_now_ns());
}

static void mark_durable(struct job *j)
{
	struct mark *m = mark_of(j);

	if (!j->err && !m->good)
		atomic_store(&m->c->has_damage, true);
}

/* -ENOENT: gc has removed it, or it never was recorded. */
static void tell(const struct mark *m, int err)
{
	if (err && err != -ENOENT)
		log_error("%s is damaged and could not be marked as such: %s", m->label.s,
			  errname(err));
	else if (!err && m->is_news && m->why)
		log_error(
			"%s is damaged: %s; reading it gives EIO from now on, see fence fsck --data",
			m->label.s, m->why);
}

static void mark_done(struct job *j)
{
	struct mark *m = mark_of(j);
	struct core *c = m->c;

	if (m->done)
		m->done(m->arg, j->err);
	else
		tell(m, j->err);
	if (m->why)
		metric_add(&c->metrics.checks[j->err ? CHECK_UNFINISHED : CHECK_DAMAGED], 1);
	free(m);
	busy_end(&c->busy);
}

static const struct job_ops mark_job = { .apply = mark_apply,
					 .durable = mark_durable,
					 .done = mark_done };

static int mark_new(struct core *c, const struct blob_id *id, struct mark **out)
{
	struct mark *m = calloc(1, sizeof(*m));
	int err = m ? busy_begin(&c->busy) : -ENOMEM;

	if (err < 0) {
		free(m);
		return err;
	}
	m->job.ops = &mark_job;
	m->c = c;
	m->blob = *id;
	*out = m;
	return 0;
}

/* If it cannot be done, the next open or read finds it again. */
static void mark_lost(struct core *c, const struct blob_id *id, const struct label *label,
		      const char *why)
{
	struct mark *m;

	if (mark_new(c, id, &m) < 0)
		return;
	m->label = *label;
	m->why = why;
	m->job.is_internal = true;
	committer_submit(&c->committer, &m->job);
}

int trust_mark(struct core *c, const struct blob_id *id, bool good,
	       void (*done)(void *arg, int err), void *arg)
{
	struct mark *m;
	int err = mark_new(c, id, &m);

	if (err < 0)
		return err;
	m->good = good;
	m->done = done;
	m->arg = arg;
	committer_submit(&c->committer, &m->job);
	return 0;
}

void trust_lost(struct core *c, const struct verify_file *f, const char *why)
{
	struct label label;
	struct db *db;

	if (store_reader_get(c->store, &db) < 0)
		return;
	label_init(&label, db, f->row, &f->id);
	store_reader_put(c->store, db);
	mark_lost(c, &f->id, &label, why);
}

int trust_report(struct core *c, struct db *db, int64_t row, const struct blob_id *id, int err)
{
	struct label label;

	if (err != -EBADMSG && err != -EUCLEAN && err != -ELOOP && err != -ENOENT)
		return err;
	label_init(&label, db, row, id);
	if (err == -EBADMSG) {
		log_error("%s is damaged and not handed out: run fence fsck --data", label.s);
		return -EIO;
	}
	log_error("%s is missing or has the wrong size: run fence fsck", label.s);
	mark_lost(c, id, &label, NULL);
	return -EIO;
}
