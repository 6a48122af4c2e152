/* SPDX-License-Identifier: MIT */
/* See single.h. Layer: core, room publish. */
#include "core/publish/single.h"

#include "core/publish/claim.h"
#include "core/service/core_impl.h"
#include "store/store.h"
#include "store/tree/revision.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct single *single_of(struct publish *p)
{
	return (struct single *)(void *)p;
}

struct single *single_new(enum single_kind kind)
{
	struct single *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->kind = kind;
	if (kind != SINGLE_PUT)
		return s;
	s->content = calloc(1, sizeof(*s->content));
	if (!s->content) {
		free(s);
		return NULL;
	}
	s->p.sealed = (struct sealed_set){ .v = s->content, .n = 1 };
	return s;
}

void single_free(struct single *s)
{
	single_drop_changes(s);
	publish_fini(&s->p);
	free(s);
}

/* Nobody but us ever had the staging file of a put open. */
static int single_seal(struct publish *p)
{
	struct single *s = single_of(p);
	int err = seal_file(p->c, &s->staged_id, false, false, s->content, &p->sealed.dirs);

	if (!err)
		err = blob_sync_dirs(p->c->store, &p->sealed.dirs);
	return !err || err == -ENOSPC || err == -EDQUOT ? err : -EIO;
}

/*
 * An op that was done before is answered before anything is looked at: its path may be gone by now.
 */
static int done_before(struct publish *p, struct db *db)
{
	struct revision *rev;
	int err;

	if (!p->op)
		return 0;
	rev = malloc(sizeof(*rev));
	if (!rev)
		return -ENOMEM;
	err = revision_by_op(db, p->path, p->op, rev);
	if (!err) {
		p->result.revision = rev->revision;
		p->result.changed = rev->changed;
		p->result.replayed = true;
	}
	free(rev);
	if (err == -ENOENT)
		return 0;
	return err ? err : -EALREADY;
}

static int single_judge(struct publish *p, struct db *db)
{
	struct single *s = single_of(p);
	struct claim m = { .path = s->path,
			   .owner = s->owner,
			   .token = s->token,
			   .who = &s->who,
			   .allowed = s->kind == SINGLE_REMOVE ? claim_to_remove : claim_to_write,
			   .why = &p->result.refusal };
	int err;

	single_drop_changes(s);
	if (s->content) /* known by now */
		s->only.blob = s->content->id;
	err = done_before(p, db);
	if (!err)
		err = claim_raise(&m, db);
	return err ? err : single_build(s, db);
}

static void single_end(struct publish *p, int err)
{
	struct single *s = single_of(p);
	bool is_refused = p->result.refusal.err != 0;
	bool unused = p->result.replayed || (err && !is_refused && err != -EREMOTEIO);

	if (unused && s->content && s->content->moved)
		blob_remove(p->c->store, &s->content->id);
	if (s->staged && !s->content->moved)
		staging_remove(p->c->store, &s->staged_id);
	s->done(s, err);
}

static const struct publish_source sources[] = {
	[SINGLE_PUT] = { .stage = "put",
			 .is_counted = true,
			 .verb = COMMIT_VERB_PUT,
			 .judge = single_judge,
			 .end = single_end },
	[SINGLE_REMOVE] = { .stage = "remove",
			    .is_counted = true,
			    .verb = COMMIT_VERB_REMOVE,
			    .judge = single_judge,
			    .end = single_end },
	[SINGLE_RESTORE] = { .stage = "restore",
			     .is_counted = true,
			     .verb = COMMIT_VERB_RESTORE,
			     .judge = single_judge,
			     .end = single_end },
};

static const struct publish_source large_put = { .stage = "put",
						 .is_counted = true,
						 .verb = COMMIT_VERB_PUT,
						 .seal = single_seal,
						 .judge = single_judge,
						 .end = single_end };

int single_submit(struct core *c, struct single *s)
{
	struct publish *p = &s->p;
	int err = publish_begin(p, c);

	if (err < 0)
		return err;
	p->source = s->staged ? &large_put : &sources[s->kind];
	p->path = s->path;
	p->owner = s->owner;
	p->op = s->op[0] ? s->op : NULL;
	p->who = &s->who;
	p->token = s->token;
	p->seq = -1;
	p->once = s->once;
	p->expects = &s->expect;
	p->n_expects = s->has_expect;
	if (s->content) {
		s->only = (struct change){ .kind = CHANGE_FILE, .path = s->path, .has_blob = true };
		s->kept = (struct change_list){ .v = &s->only, .n = 1 };
		p->kept = &s->kept;
	}
	publish_submit(p);
	return 0;
}
