/* SPDX-License-Identifier: MIT */
/*
 * What was refused, and where its data is (P9). Writers inside a transaction only. Layer: store,
 * room tree.
 */
#ifndef FENCE_STORE_TREE_REJECT_H
#define FENCE_STORE_TREE_REJECT_H

#include "base/path.h"
#include "store/blob/blob.h"
#include "store/fence/owner.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

struct reject {
	int64_t id, at;
	char path[FENCE_PATH_MAX + 1];	    /* the path whose write was refused */
	char held_path[FENCE_PATH_MAX + 1]; /* where the fence that refused it stands */
	int64_t token, highest;
	char held_by[OWNER_MAX + 1];
	char owner[OWNER_MAX + 1]; /* who was refused */
	char op[OWNER_MAX + 1];
	char session[33];
	char stage[16]; /* claim, open, write, commit, abort, put, remove, reset */
	char why[16];	/* errno name */
	uint32_t uid;	/* of the refused */
	bool has_blob;
	struct blob_id blob;
	int64_t size;
};
/*
 * id and at are set here. Rows without a blob are bounded: the newest 10,000 stay. Rows with one go
 * with their blob (gc).
 */
int reject_add(struct db *db, struct reject *r);
/* The first row with id > @after. -ENOENT at the end. */
int reject_next(struct db *db, int64_t after, struct reject *out);
/* The last with id < @before. -ENOENT. */
int reject_before(struct db *db, int64_t before, struct reject *out);
int reject_get(struct db *db, int64_t id, struct reject *out);
/* 1 and the newest reject row with this op on this claimed path, for outcome; 0: there is none. */
int reject_by_op(struct db *db, const char *path, const char *op, struct reject *out);

#endif
