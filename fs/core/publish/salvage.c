/* SPDX-License-Identifier: MIT */
/* See salvage.h. Core layer. */
#include "core/publish/salvage.h"

#include "core/session/content_impl.h"
#include "core/service/core_impl.h"
#include "core/view/view_impl.h"
#include "core/trust/trust.h"
#include "store/tree/reject.h"

#include <errno.h>
#include <stdlib.h>

static int find(struct db *db, int64_t id, struct reject *r)
{
	int err = reject_get(db, id, r);

	return !err && !r->has_blob ? -ENOENT : err;
}

static void node_of(const struct core *c, const struct reject *r, struct node *out)
{
	*out = (struct node){
		.id = r->id,
		.ino = node_ino(UINT64_MAX - c->live_view->number, ENTRY_FILE, r->id),
		.kind = ENTRY_FILE,
		.mode = 0400,
		.uid = r->uid,
		.size = r->size,
		.mtime = r->at,
		.ctime = r->at,
		.blocks = (r->size + 511) / 512,
		.cacheable = false, /* gc removes it some day */
	};
}

int salvage_lookup(struct core *c, int64_t id, struct node *out)
{
	struct reject *r = malloc(sizeof(*r));
	struct db *db;
	int64_t rev;
	int err = r ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (!err) {
		err = find(db, id, r);
		core_read_end(c, db);
	}
	if (!err)
		node_of(c, r, out);
	free(r);
	return err;
}

/* gc removes the row with the content. */
static int open_kept(struct core *c, struct db *db, struct reject *r, struct content **out)
{
	struct blob_id id = r->blob;
	int err = content_of_blob(c, db, &id, r->size, false, out);

	if (err == -ENOENT && find(db, r->id, r) == -ENOENT)
		return -ENOENT;
	return trust_report(c, db, 0, &id, err);
}

int salvage_open(struct core *c, int64_t id, struct content **out)
{
	struct reject *r = malloc(sizeof(*r));
	struct db *db;
	int64_t rev;
	int err = r ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (!err) {
		err = find(db, id, r);
		if (!err)
			err = open_kept(c, db, r, out);
		core_read_end(c, db);
	}
	free(r);
	return err;
}

int salvage_list(struct core *c, int64_t after, int64_t *out, int max)
{
	struct reject *r = malloc(sizeof(*r));
	struct db *db;
	int64_t rev;
	int n = 0, err = r ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (err < 0) {
		free(r);
		return err;
	}
	while (n < max && !err) {
		err = reject_next(db, after, r);
		if (err)
			break;
		after = r->id;
		if (r->has_blob)
			out[n++] = r->id;
	}
	core_read_end(c, db);
	free(r);
	return err < 0 && err != -ENOENT ? err : n;
}
