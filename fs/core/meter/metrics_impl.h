/* SPDX-License-Identifier: MIT */
/* The counters, for the files of this layer that count. */
#ifndef FENCE_CORE_METER_METRICS_IMPL_H
#define FENCE_CORE_METER_METRICS_IMPL_H

#include "core/meter/metrics.h"

#include <stdbool.h>

#define METRIC_VERBS_MAX  32 /* of the control protocol */
#define METRIC_ERRNOS_MAX 32

enum commit_verb {
	COMMIT_VERB_SESSION,
	COMMIT_VERB_PUT,
	COMMIT_VERB_REMOVE,
	COMMIT_VERB_RESTORE,
	COMMIT_VERBS
};

enum commit_ending {
	COMMIT_COMMITTED,
	COMMIT_REPLAYED, /* its op was done before */
	COMMIT_STALE,
	COMMIT_PRECONDITION,
	COMMIT_DENIED,
	COMMIT_REFUSED, /* for any other reason: what it changes is not there, say */
	COMMIT_NO_SPACE,
	COMMIT_UNKNOWN,
	COMMIT_FAILED,
	COMMIT_ENDINGS
};

enum claim_ending { CLAIM_ACCEPTED, CLAIM_REFUSED, CLAIM_FAILED, CLAIM_ENDINGS };
enum lease_ending { LEASE_RELEASED, LEASE_EXPIRED, LEASE_LOST, LEASE_ENDINGS };
enum session_ending {
	SESSION_END_COMMITTED,
	SESSION_END_REFUSED,
	SESSION_END_ABORTED,
	SESSION_ENDINGS
};
enum check_ending {
	CHECK_GOOD,
	CHECK_DAMAGED,
	CHECK_MEMORY,	  /* the page cache was wrong, the disk is right */
	CHECK_UNFINISHED, /* an error of ours, or the end of the daemon */
	CHECK_LEFT_OUT,	  /* too many were waiting */
	CHECK_ENDINGS
};
enum gc_ending { GC_RUN_OK, GC_RUN_STOPPED, GC_RUN_FAILED, GC_ENDINGS };

struct metrics {
	int64_t started; /* wall clock, ns */
	metric_counter commits[COMMIT_VERBS][COMMIT_ENDINGS];
	metric_counter changed;		/* paths */
	struct histogram commit_time;	/* of all in `commits`, from the request to the answer */
	struct histogram transact_time; /* of the database, all that write */
	metric_counter jobs;		/* that took part in them */
	metric_counter claims[CLAIM_ENDINGS];
	metric_counter leases_granted, leases_renewed, leases_ended[LEASE_ENDINGS];
	metric_counter sessions_opened, sessions_ended[SESSION_ENDINGS];
	metric_counter stale_writes;  /* in sessions that had been overtaken there */
	metric_counter conversations; /* opened */
	_Atomic int64_t open_conversations;
	metric_counter requests[METRIC_VERBS_MAX][2]; /* by verb; answered ok, err */
	metric_counter refusals[METRIC_ERRNOS_MAX];
	metric_counter checks[CHECK_ENDINGS]; /* of verify.h */
	metric_counter gc_runs[GC_ENDINGS], gc_removed, gc_removed_bytes;
	_Atomic int64_t gc_ended; /* wall clock, ns; 0: none yet */
	_Atomic int64_t gc_last;  /* enum gc_ending of that one */
};

void metrics_init(struct metrics *m);
/* @err: 0, or why the commit was refused or failed. @begun: CLOCK_BOOTTIME, ns. */
void metrics_commit(struct metrics *m, enum commit_verb verb, int err, bool replayed,
		    int64_t changed, int64_t begun);
/*
 * A request on ctl was answered. @verb: its number in the table of verbs, -1: none; @err positive.
 */
void metrics_request(struct metrics *m, int verb, int err);
void metrics_refusal(struct metrics *m, int err);
void metrics_gc(struct metrics *m, enum gc_ending how, int64_t removed, int64_t bytes);

/* The name of the @i-th verb of the control protocol, NULL after the last (ctl_verbs.c). */
const char *ctl_verb_name(int i);
/* The errno under which metrics_refusal() counts in place @i, NULL after the last. */
const char *metrics_errno_name(int i);

#endif
