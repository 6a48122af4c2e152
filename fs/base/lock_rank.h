/* SPDX-License-Identifier: MIT */
/*
 * The table of all locks of the daemon, in the order of their ranks.
 *
 * A thread may take a lock only if its rank is greater than that of every lock it holds: a debug
 * build aborts otherwise. Two locks of one rank are never held together. Each row says what the
 * lock guards and, behind the bar, the most that may be done while it is held. Under none of them
 * is a request answered or the kernel notified: that calls back in. Layer: base.
 */
#ifndef FENCE_BASE_LOCK_RANK_H
#define FENCE_BASE_LOCK_RANK_H

enum lock_rank {
	/* One conversation: its buffers, its attached sessions, the calls that wait | list work */
	LOCK_CTL,
	/* The table of leases, the queue of waiters | handing jobs to the committer */
	LOCK_LEASES,
	/* The table of sessions by id, what was claimed against them | table work */
	LOCK_SESSIONS,
	/* The readers of events, how far each has read | handing work to the pool */
	LOCK_EVENTS,
	/* The list of snapshots (the tree at a revision) that are open | list work */
	LOCK_SNAPSHOTS,
	/* The numbers of paths below .fence/versions | table work */
	LOCK_VERSIONS,
	/*
	 * One session: state, overlay, preconditions (rwlock) | reading the database, making and
	 * removing staged files; nothing waits for the committer
	 */
	LOCK_SESSION,
	/* The inodes that the kernel knows: the tables, counts of lookups and of uses | table work */
	LOCK_INODES,
	/* The open handles: links and count | list work */
	LOCK_HANDLES,
	/* The committer's queue, its end | list work */
	LOCK_COMMITTER,
	/* The notifier's queue, its end | list work */
	LOCK_NOTIFIER,
	/* The queue of work that reads and writes content, its threads' end | list work */
	LOCK_POOL,
	/* How many writing requests run, whether more are let in | counting */
	LOCK_BUSY,
	/* How many conversations have a reply to be read | counting */
	LOCK_OWED,
	/* Whether the housekeeper is to end | nothing */
	LOCK_HOUSEKEEPER,
	/* Whether gc runs, how far it is | nothing */
	LOCK_GC,
	/* Whether the one job that a thread waits for is done | nothing */
	LOCK_STEP,
	/* The idle connections that read | list work, and reading what an idle one has counted */
	LOCK_READERS,
	/* The names of spare staged files | list work */
	LOCK_SPARES,
	/* The blobs that gc leaves alone | table work */
	LOCK_PINS,
	LOCK_RANKS
};

#endif
