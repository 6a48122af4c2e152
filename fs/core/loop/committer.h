/* SPDX-License-Identifier: MIT */
/*
 * The one thread that writes the database. Whatever is queued while one fsync runs goes into the
 * next transaction together, each job in its own savepoint: a refused one is undone alone.
 *
 * A job that promises nothing to anybody is deferred: a transaction of such jobs alone does not
 * wait for the disk. A crash of the machine may lose it, but only together with all that follows
 * (the WAL is written in order, and the next fsync covers it), so what survives is always a state
 * that was. A crash of the daemon loses nothing.
 */
#ifndef FENCE_CORE_LOOP_COMMITTER_H
#define FENCE_CORE_LOOP_COMMITTER_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct db;
struct job;
struct metrics;
struct notifier;
struct store;

struct job_ops {
	/*
	 * In a savepoint: 0 keeps what it wrote, -errno undoes it. May run again (the transaction
	 * was lost to a full disk): it must set all its results anew.
	 */
	int (*apply)(struct job *j, struct db *db);
	/* May be NULL. After an undone apply, in a savepoint of its own: write down why. */
	int (*record)(struct job *j, struct db *db);
	/*
	 * May be NULL. The transaction is durable; committer thread, before anything is answered.
	 */
	void (*durable)(struct job *j);
	/*
	 * May be NULL. Notifier thread, before the new revision is visible: have kernel caches drop
	 * the changed names.
	 */
	void (*drop)(struct job *j);
	/* May be NULL. Notifier thread, after the new revision became visible. */
	void (*visible)(struct job *j);
	/* Last call; j->err says how it ended, durably. Frees the job. */
	void (*done)(struct job *j);
};

struct job {
	const struct job_ops *ops;
	struct job *next;
	int err;
	int64_t revision; /* set by apply when it made one; else 0 */
	bool moved_dirs;  /* set by apply */
	bool is_deferred; /* set before committer_submit: it may reach the disk with the next transaction */
	bool needs_sync; /* set by apply of a deferred one: this time it may not */
};

struct committer {
	struct store *store;	   /* borrowed, as are: */
	struct notifier *notifier; /* which gets what is durable */
	struct metrics *metrics;
	struct lock lock;
	pthread_cond_t wake;
	struct job *head, **tail; /* guarded by lock */
	bool stop;
	pthread_t thread;
	atomic_uint_fast64_t submitted; /* jobs, ever */
	atomic_bool checkpoint;		/* wanted after the next batch, however small the WAL */
};

int committer_start(struct committer *m, struct store *store, struct notifier *n,
		    struct metrics *metrics);
/* Runs what is queued, then ends. */
void committer_stop(struct committer *m);
/* Takes the job; its done() is called exactly once, always from another thread. */
void committer_submit(struct committer *m, struct job *j);
/* Have the WAL moved into the database as far as readers allow, soon. */
void committer_checkpoint(struct committer *m);

#endif
