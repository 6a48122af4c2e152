/* SPDX-License-Identifier: MIT */
/*
 * Fences (P1). highest(p) = maximum over the rows of p and all its ancestors. Tokens are 0 …
 * 2^63-1; -1 = no row.
 * Readers may use any connection; fence_claim, fence_reset, fence_set_seq only inside a transaction
 * of the writer.
 */
#ifndef FENCE_STORE_FENCE_FENCE_H
#define FENCE_STORE_FENCE_FENCE_H

#include "store/fence/refusal.h"

struct db;

struct fence_row {
	char path[FENCE_PATH_MAX + 1];
	int64_t token;	 /* -1: none */
	int64_t updated; /* ns */
	int64_t seq;	 /* last accepted sequence number under this token, -1 none */
	char owner[OWNER_MAX + 1];
};

/* The row that gives highest(path); out->token -1 when there is none. 0 or -errno. */
int fence_highest(struct db *db, const char *path, struct fence_row *out);
/* Highest row strictly beneath @path whose token is > @above: 1 and *out, or 0, or -errno. */
int fence_beneath(struct db *db, const char *path, int64_t above, struct fence_row *out);
/* The row of exactly this path. -ENOENT. */
int fence_get(struct db *db, const char *path, struct fence_row *out);

/*
 * Claim @token on @path for @owner: -ESTALE with *out filled when token < highest(path); else the
 * row becomes max(row, token) (a raise resets seq; an equal token by another owner keeps the row's
 * owner) and up to 1,000 redundant rows beneath (token <= T, no seq under an equal token, no live
 * lease) are dropped.
 */
int fence_claim(struct db *db, const char *path, int64_t token, const char *owner, int64_t now_ns,
		struct refusal *out);
/*
 * (token, seq) must exceed the last accepted pair of @path, which then becomes it. -ESTALE with
 * *out. The row must exist.
 */
int fence_advance_seq(struct db *db, const char *path, int64_t token, int64_t seq,
		      struct refusal *out);
/*
 * Replace the fence of @path by @token, upwards or downwards; rows beneath that are higher are
 * lowered to it too. *out_old: the previous highest(path). An ancestor's row still counts: the
 * caller reports highest(path) afterwards.
 */
int fence_reset(struct db *db, const char *path, int64_t token, const char *owner, int64_t now_ns,
		int64_t *out_old);

#endif
