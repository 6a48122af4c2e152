/* SPDX-License-Identifier: MIT */
/*
 * Staged files become immutable content (P5). For this layer only. Pool threads; nothing is held.
 */
#ifndef FENCE_CORE_PUBLISH_SEAL_H
#define FENCE_CORE_PUBLISH_SEAL_H

#include "store/blob/blob.h"

#include <stdbool.h>
#include <stddef.h>

struct core;
struct db;
struct pins;
struct session;
struct snode;

/* One file's content, sealed: what the database is to be told. */
struct sealed {
	struct snode *node; /* borrowed from the session; NULL for a put */
	bool empty;	    /* no content, no blob */
	bool moved;	    /* a file in blobs/ now; else inline in data */
	bool copied;	    /* of a copy: the staging file stays where it is */
	bool recorded;	    /* its blob row was written ahead of the commit */
	struct pins *pins;  /* borrowed; it is pinned there until sealed_fini(). NULL: it is not */
	struct blob_id id;
	struct blob_hash hash;
	int64_t size, mtime; /* mtime in ns, of the staged file */
	void *data;	     /* owned; inline content until it is recorded */
};

struct sealed_set {
	struct sealed *v; /* owned */
	size_t n;
	struct blob_dirs dirs; /* to be fsynced before the commit that names them */
};

/*
 * Seal staging file @id. @writers: somebody may still be writing it through the kernel (see
 * seal.c); @check_lease: ask the kernel too. On failure nothing has moved.
 */
int seal_file(struct core *c, const struct blob_id *id, bool writers, bool check_lease,
	      struct sealed *out, struct blob_dirs *dirs);
/*
 * All linked staged files of @s, which is COMMITTING or ENDED, durable at return. On failure those
 * sealed so far stay in *out. Before that, of a COMMITTING one, what was stored in mapped pages and
 * not yet written back.
 */
int seal_session(struct core *c, struct session *s, struct sealed_set *out);
/*
 * The commit did not happen and the session goes on: moved files are the nodes' content now, copies
 * go.
 */
void seal_revert(struct core *c, struct session *s, struct sealed_set *set);
/* Nobody will ever refer to it: its files go. */
void seal_discard(struct core *c, struct sealed_set *set);
void sealed_set_fini(struct sealed_set *set);
/* One that is in no set. */
void sealed_fini(struct sealed *s);
/* Keep gc away from it: its row is about to be written ahead of what refers to it. -ENOMEM. */
int sealed_pin(struct core *c, struct sealed *s);

/* Write the blob row (within a transaction). Nothing to do for empty or recorded ones. */
int sealed_record(struct db *db, const struct sealed *s);

#endif
