/* SPDX-License-Identifier: MIT */
/*
 * What happened, in order: written in the transaction in which it happened, so it is told once and
 * in the order of the facts. The newest EVENT_KEEP stay. Writers inside a transaction only.
 */
#ifndef FENCE_STORE_TREE_EVENT_H
#define FENCE_STORE_TREE_EVENT_H

#include "store/fence/refusal.h"
#include "wire/event_kind.h"

#define EVENT_KEEP 200000

struct db;

struct event {
	int64_t id, at;	  /* set by event_add */
	int64_t revision; /* made by it, or current when it happened */
	enum event_kind kind;
	char path[FENCE_PATH_MAX + 1];
	int64_t token;
	uint32_t uid;
	char owner[OWNER_MAX + 1];
	int64_t highest; /* refuse, lose: what stood against it; reset: what it replaced; else -1 */
	char other[OWNER_MAX + 1]; /* refuse, lose: by whom */
	char detail[32]; /* refuse: stage and errno name ("commit ESTALE"); claim: "open", "put" or "" */
	int64_t n;	 /* commit: names changed; grant: ttl in ns */
};

int event_add(struct db *db, struct event *e);
/* The first with id > @after. -ENOENT. */
int event_next(struct db *db, int64_t after, struct event *out);
/*
 * The id of the commit that made @revision, or of the last one before: what came after it, refusals
 * and leases at that very revision included, is not missed from there on, unless *out_missed (some
 * of it was dropped).
 */
int event_since(struct db *db, int64_t revision, int64_t *out_id, bool *out_missed);
/* Lowest and highest id; 0, 0 when there is none. */
int event_bounds(struct db *db, int64_t *out_first, int64_t *out_last);

#endif
