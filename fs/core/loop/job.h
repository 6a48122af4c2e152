/* SPDX-License-Identifier: MIT */
/*
 * One change of the database, from the committer's queue to its answer. Layer: core, room loop.
 *
 * A job that promises nothing to anybody is deferred: a transaction of such jobs alone does not
 * wait for the disk. A crash of the machine may lose it, but only together with all that follows
 * (the WAL is written in order, and the next fsync covers it), so what survives is always a state
 * that was. A crash of the daemon loses nothing.
 */
#ifndef FENCE_CORE_LOOP_JOB_H
#define FENCE_CORE_LOOP_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct db;
struct job;

struct job_ops {
	/*
	 * In a savepoint: 0 keeps what it wrote, -errno undoes it. May run again (the transaction
	 * was lost to a full disk): it must set all its results anew.
	 */
	int (*apply)(struct job *j, struct db *db);
	/* May be NULL. After an undone apply, in a savepoint of its own: write down why. */
	int (*record)(struct job *j, struct db *db);
	/*
	 * May be NULL. The transaction is durable; committer thread, before the next one: for what
	 * that has to find in memory. What others are told of it comes from the rows that it
	 * changed, not from here.
	 */
	void (*durable)(struct job *j);
	/*
	 * Last call; j->err says how it ended, durably. Frees the job. Notifier thread, when all
	 * that was durable before it is visible and told (notifier.h); of an internal job the
	 * committer's, at once.
	 */
	void (*done)(struct job *j);
};

struct job {
	const struct job_ops *ops;
	struct job *next;
	int err;
	bool is_deferred; /* set before committer_submit: it may reach the disk with the next transaction */
	bool needs_sync;  /* set by apply of a deferred one: this time it may not */
	bool is_internal; /* set before committer_submit: nobody outside is answered by it */
};

#endif
