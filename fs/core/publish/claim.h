/* SPDX-License-Identifier: MIT */
/*
 * Raising a fence on somebody's behalf: open, claim, acquire and put all do it here. Layer: core,
 * room publish. In a transaction of the committer; what follows from it is effects.h.
 */
#ifndef FENCE_CORE_PUBLISH_CLAIM_H
#define FENCE_CORE_PUBLISH_CLAIM_H

#include "core/access/caller.h"
#include "store/fence/refusal.h"

struct db;

struct claim {
	const char *path, *owner; /* borrowed */
	int64_t token;
	const struct caller *who; /* borrowed; who asks */
	/* May @who do at @path what he claims it for, as it is now? 0, -EACCES, -errno. */
	int (*allowed)(struct db *db, const struct caller *who, const char *path);
	/* For the record of events: "open", "" for a claim by itself; NULL: no line of its own. */
	const char *how;
	int64_t at;	     /* out: wall clock, ns */
	struct refusal *why; /* out; borrowed */
};

/*
 * The token is judged first (P1), then permission as it is now (P8): what was allowed when it was
 * asked for may not be any more. 0, or -errno: a refusal when why->err is set.
 */
int claim_raise(struct claim *m, struct db *db);
/* The usual @allowed: write permission on what is there, or on the directory it would be made in. */
int claim_to_write(struct db *db, const struct caller *who, const char *path);
/* To remove a name: permission on its directory. */
int claim_to_remove(struct db *db, const struct caller *who, const char *path);
/* After the savepoint was undone: a line among the refusals (P9). @stage: the request's name. */
int claim_record_refusal(const struct claim *m, struct db *db, const char *stage);

#endif
