/* SPDX-License-Identifier: MIT */
/* See refuse.h. Core layer. */
#include "core/publish/refuse.h"

#include "wire/errname.h"
#include "base/io.h"
#include "core/access/permission.h"
#include "core/session/session_impl.h"
#include "store/tree/event.h"
#include "store/tree/reject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_text(char *out, size_t room, const char *s)
{
	size_t len = s ? strnlen(s, room - 1) : 0;

	if (len)
		memcpy(out, s, len);
	out[len] = '\0';
}

static void fill(struct reject *r, const struct refused_write *w)
{
	*r = (struct reject){
		.token = w->token,
		.highest = w->why->highest,
		.uid = w->uid,
	};
	put_text(r->path, sizeof(r->path), w->why->path[0] ? w->why->path : w->path);
	put_text(r->held_path, sizeof(r->held_path), w->why->set_path);
	put_text(r->held_by, sizeof(r->held_by), w->why->set_by);
	put_text(r->owner, sizeof(r->owner), w->owner);
	put_text(r->op, sizeof(r->op), w->op);
	put_text(r->session, sizeof(r->session), w->session);
	put_text(r->stage, sizeof(r->stage), w->stage);
	put_text(r->why, sizeof(r->why), errname(w->why->err));
}

static int record_event(struct db *db, const struct refused_write *w)
{
	bool reset = strcmp(w->stage, "reset") == 0;
	struct event e = { .kind = reset ? EVENT_RESET : EVENT_REFUSE,
			   .token = w->token,
			   .uid = w->uid,
			   .highest = w->why->highest };

	put_text(e.path, sizeof(e.path), w->why->path[0] ? w->why->path : w->path);
	put_text(e.owner, sizeof(e.owner), w->owner);
	put_text(e.other, sizeof(e.other), w->why->set_by);
	if (!reset)
		snprintf(e.detail, sizeof(e.detail), "%s %s", w->stage, errname(w->why->err));
	return event_add(db, &e);
}

static int add_plain(struct db *db, const struct refused_write *w)
{
	struct reject *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	fill(r, w);
	err = reject_add(db, r);
	free(r);
	return err;
}

int refuse_record_plain(struct db *db, const struct refused_write *w)
{
	int err = add_plain(db, w);

	return err ? err : record_event(db, w);
}

/*
 * Whoever may write a file and not read it must not get it back through a refused session, where it
 * began as a copy (P8): such content is for root.
 */
static bool may_have(const struct refused_write *w, const struct change *ch)
{
	return !w->who || w->who->uid == ch->uid ||
	       (permission_bits(w->who, ch->mode, ch->uid, ch->gid) & 04);
}

static int record_blob(struct db *db, const struct refused_write *w, const struct sealed *sealed,
		       const struct change *ch, struct reject *r)
{
	int err = sealed_record(db, sealed);

	if (!err && !sealed->empty)
		err = garbage_mark(db, &sealed->id, io_now_ns());
	if (err < 0)
		return err;
	fill(r, w);
	put_text(r->path, sizeof(r->path), ch->path);
	r->uid = may_have(w, ch) ? w->uid : 0;
	r->has_blob = !sealed->empty;
	r->blob = sealed->id;
	r->size = sealed->size;
	return reject_add(db, r);
}

/* The changes by the blob they name, to find a sealed file's. */
static int cmp_blob(const void *a, const void *b)
{
	const struct change *const *x = a, *const *y = b;

	return memcmp(&(*x)->blob, &(*y)->blob, sizeof((*x)->blob));
}

struct by_blob {
	const struct change **v;
	size_t n;
};

static int index_list(const struct change_list *list, struct by_blob *out)
{
	out->v = calloc(list->n + 1, sizeof(*out->v));
	if (!out->v)
		return -ENOMEM;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].has_blob)
			out->v[out->n++] = &list->v[i];
	qsort(out->v, out->n, sizeof(*out->v), cmp_blob);
	return 0;
}

static const struct change *find_change(const struct by_blob *index, const struct sealed *sealed)
{
	struct change key = { .blob = sealed->id };
	const struct change *k = &key, **found;

	found = bsearch(&k, index->v, index->n, sizeof(*index->v), cmp_blob);
	return found ? *found : NULL;
}

int refuse_record(struct db *db, const struct refused_write *w, const struct sealed_set *sealed,
		  const struct change_list *list)
{
	struct by_blob index = { 0 };
	struct reject *r = malloc(sizeof(*r));
	size_t rows = 0;
	int err = r ? index_list(list, &index) : -ENOMEM;

	for (size_t i = 0; !err && i < sealed->n; i++) {
		const struct change *ch = sealed->v[i].empty ? NULL :
							       find_change(&index, &sealed->v[i]);

		if (!ch)
			continue; /* empty, or unchanged: nothing to recover */
		err = record_blob(db, w, &sealed->v[i], ch, r);
		rows++;
	}
	free(index.v);
	free(r);
	if (!err && rows == 0)
		err = add_plain(db, w);
	return err ? err : record_event(db, w);
}
