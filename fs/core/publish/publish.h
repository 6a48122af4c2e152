/* SPDX-License-Identifier: MIT */
/*
 * The one way to publish: a session's commit, put, remove and restore differ in where their changes
 * come from (struct publish_source), and in nothing else. Layer: core, room publish.
 *
 *   begin       any thread: it counts as busy until it is answered
 *   seal        pool: content is hashed, durable and in its place (source->seal)
 *   judge       committer, in the transaction: what may refuse it, the list of changes
 *               (source->judge)
 *   change      there, too: blob rows, fences and preconditions, pointers (change_commit), quota
 *   record      there, too: the event; or, after a refusal, orphans and reject rows (P9)
 *   end         notifier, when the effects have taken place: what becomes of the content, the
 *               answer (source->end)
 *
 * A crash before the transaction leaves staged files (emptied at the next start) or files in blobs/
 * that no row names (gc). After it, all that the rows name was fsynced before (P2).
 */
#ifndef FENCE_CORE_PUBLISH_PUBLISH_H
#define FENCE_CORE_PUBLISH_PUBLISH_H

#include "core/access/caller.h"
#include "core/loop/job.h"
#include "core/loop/pool.h"
#include "core/meter/metrics_impl.h"
#include "core/publish/change_list.h"
#include "core/publish/seal.h"
#include "store/tree/change.h"
#include "store/tree/session_row.h"

struct core;
struct publish;

struct publish_source {
	const char *stage;     /* the request's name, for the record of refusals */
	bool is_counted;       /* as an attempt to publish */
	enum commit_verb verb; /* counted as */
	/* Pool thread; NULL: nothing to seal. -errno: it ends without a transaction. */
	int (*seal)(struct publish *p);
	/*
	 * 0: go on with p->list, and p->denied if permission is gone (which is said only if nothing
	 * else stands against it). 1: done, there is nothing to change. -EALREADY: an earlier
	 * outcome is in p->result. -errno: a refusal when p->result.refusal.err is set. May run
	 * again.
	 */
	int (*judge)(struct publish *p, struct db *db);
	/* NULL, or: in the transaction that decided the outcome. */
	int (*settle)(struct publish *p, struct db *db, enum session_outcome outcome);
	/* Notifier: content that is not needed goes; answers and frees. @err: -errno, the refusal's too. */
	void (*end)(struct publish *p, int err);
};

/* Part of what a source keeps of a request. Pointers are borrowed from there. */
struct publish {
	struct job job;	  /* first */
	struct work work; /* in the pool */
	struct core *c;
	const struct publish_source *source;
	const char *path, *owner; /* what was claimed, by whom */
	const char *op;		  /* NULL: none */
	const char *session;	  /* hex id; NULL: of no session */
	const struct caller *who;
	int64_t token;
	int64_t seq; /* -1: none */
	bool once;
	const struct expect *expects;
	size_t n_expects;
	const struct change_list *kept; /* what a refusal keeps the content of (P9) */

	struct sealed_set sealed; /* owned, as is: */
	struct change_list list;
	const char *denied; /* a path, set by judge; NULL: all is permitted */
	int64_t now;	    /* of the attempt; wall clock, ns */
	struct commit_result result;
	int64_t begun; /* CLOCK_BOOTTIME, ns */
	int err;       /* before the transaction */
};

/* Counts as busy from here on. -ESHUTDOWN. */
int publish_begin(struct publish *p, struct core *c);
/* Not gone on with: busy no more. */
void publish_cancel(struct publish *p);
/* source->end is called once, from the notifier's thread. */
void publish_submit(struct publish *p);
/* The lists; the rest is the source's. */
void publish_fini(struct publish *p);

#endif
