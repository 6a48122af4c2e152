/* SPDX-License-Identifier: MIT */
/*
 * Ranked locks, and the table of all locks of the daemon.
 *
 * A thread may take a lock only if its rank is greater than that of every lock it holds (debug
 * builds assert it with a thread-local mask, one bit a rank; two locks of one rank are never held
 * together). Rank, what it guards, and what may not happen while it is held:
 *
 * LOCK_CTL       one conversation: its buffers, its parked requests
 *                no fuse reply, SQLite, file I/O
 * LOCK_SESSIONS  the table of sessions, claims against them, flags of overtaking
 *                no fuse reply, SQLite, file I/O
 * LOCK_SESSION   one session: overlay, state (rwlock)
 *                no fuse reply, notification
 * LOCK_INODES    the kernel-facing inode table
 *                nothing but table work
 * LOCK_QUEUE     queues of committer, sealers, notifier
 *                nothing but list work
 * LOCK_READERS   the pool of read-only connections
 *                nothing but list work, and reading what an idle one has counted
 * LOCK_PINS      the table of content that gc leaves alone
 *                nothing but table work
 * LOCK_LOG       nothing yet
 */
#ifndef FENCE_BASE_LOCK_H
#define FENCE_BASE_LOCK_H

#include <pthread.h>

enum lock_rank {
	LOCK_CTL,
	LOCK_SESSIONS,
	LOCK_SESSION,
	LOCK_INODES,
	LOCK_QUEUE,
	LOCK_READERS,
	LOCK_PINS,
	LOCK_LOG,
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

struct rwlock {
	pthread_rwlock_t rw;
	enum lock_rank rank;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_fini(struct lock *l);
void lock_take(struct lock *l);
void lock_drop(struct lock *l);
/* Wait on @cond with @l held; returns with @l held. */
void lock_wait(struct lock *l, pthread_cond_t *cond);
/*
 * The same until CLOCK_MONOTONIC @deadline_ns; -ETIMEDOUT. @cond must come from lock_cond_init().
 */
int lock_wait_until(struct lock *l, pthread_cond_t *cond, long long deadline_ns);
void lock_cond_init(pthread_cond_t *cond);
/* Debug builds: abort unless this thread holds a lock of the rank of @l. */
void lock_assert_held(const struct lock *l);

void rwlock_init(struct rwlock *l, enum lock_rank rank);
void rwlock_fini(struct rwlock *l);
void rwlock_read(struct rwlock *l);
void rwlock_write(struct rwlock *l);
void rwlock_drop(struct rwlock *l);

#endif
