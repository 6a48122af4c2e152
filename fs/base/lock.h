/* SPDX-License-Identifier: MIT */
/*
 * Locks that know their rank: lock_rank.h has the table, and the rule. Layer: base.
 */
#ifndef FENCE_BASE_LOCK_H
#define FENCE_BASE_LOCK_H

#include "base/lock_rank.h"

#include <pthread.h>

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
/* As lock_assert_held(): for reading or writing; for writing. */
void rwlock_assert_held(const struct rwlock *l);
void rwlock_assert_written(const struct rwlock *l);

#endif
