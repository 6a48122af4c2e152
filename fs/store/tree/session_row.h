/* SPDX-License-Identifier: MIT */
/*
 * Sessions as the database remembers them: who opened one, and how it ended. Writers inside a
 * transaction only. Layer: store, room tree.
 */
#ifndef FENCE_STORE_TREE_SESSION_ROW_H
#define FENCE_STORE_TREE_SESSION_ROW_H

#include "base/path.h"
#include "store/fence/owner.h"

#include <stdint.h>

struct db;

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

#endif
