/* SPDX-License-Identifier: MIT */
/* gc in the daemon: at most one, on a thread of its own. For this layer only. */
#ifndef FENCE_CORE_UPKEEP_GC_SERVICE_H
#define FENCE_CORE_UPKEEP_GC_SERVICE_H

#include "store/gc/gc.h"

struct core;

/* Owned by gc once it has started; its paths are, too. */
struct gc_request {
	struct gc_options opt; /* path: owned, each of them */
	/* Whoever asked has gone away: it ends early. No lock held. */
	bool (*is_cancelled)(void *arg);
	/* Once, from another thread. */
	void (*done)(void *arg, int err, const struct gc_report *report, const struct errmsg *msg);
	void *arg;
};

/* -ENOMEM. */
int gc_service_init(struct core *c);
void gc_service_fini(struct core *c);
/* Takes @r on success. -EALREADY: one is running.  -ESHUTDOWN. */
int gc_start(struct core *c, struct gc_request *r);
void gc_request_free(struct gc_request *r);
/* Whether one is running, how far it is and since when. */
bool gc_look(struct core *c, struct gc_progress *out, int64_t *out_started);

#endif
