/* SPDX-License-Identifier: MIT */
/* What happened, durably: revisions, sessions, refusals. Writers inside a transaction only. */
#ifndef FENCE_STORE_TREE_RECORD_H
#define FENCE_STORE_TREE_RECORD_H

#include "store/fence/refusal.h"

struct db;

/* The newest revision in this connection's snapshot; 0 in a new store. */
int revision_current(struct db *db, int64_t *out);

struct revision {
	int64_t revision, at, token, changed;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	char op[OWNER_MAX + 1];
	char session[33];
};
int revision_get(struct db *db, int64_t revision, struct revision *out);
/*
 * The newest revision up to @newest that was made at or before @at (wall clock, ns). -ENOENT: there
 * was no store then.
 */
int revision_at_time(struct db *db, int64_t at, int64_t newest, int64_t *out);
/* The commit with op key @op whose claimed path was @path. -ENOENT. */
int revision_by_op(struct db *db, const char *path, const char *op, struct revision *out);

enum session_outcome {
	SESSION_OPEN,
	SESSION_COMMITTED,
	SESSION_REFUSED,
	SESSION_ABORTED,
	SESSION_UNKNOWN
};

struct session_row {
	char id[33];
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	int64_t token, opened; /* ns */
	uint32_t uid;
	enum session_outcome outcome;
	int64_t revision; /* of a committed one, else 0 */
};
int session_row_add(struct db *db, const struct session_row *row);
int session_row_end(struct db *db, const char *id, enum session_outcome outcome, int64_t revision);
/* -ENOENT. */
int session_row_get(struct db *db, const char *id, struct session_row *out);
/*
 * All rows still open become aborted (the daemon starts: their sessions are gone). Also drops ended
 * rows beyond the newest 100,000.
 */
int session_rows_abort_open(struct db *db);

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

int setting_get(struct db *db, const char *name, int64_t *out); /* -ENOENT */
int setting_set(struct db *db, const char *name, int64_t value);

#endif
