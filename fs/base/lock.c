/* SPDX-License-Identifier: MIT */
/*
 * Locks that know their rank. Debug builds keep, per thread, one bit for each rank that is held and
 * abort on the first lock taken out of order, long before a deadlock shows. Layer: base.
 */
#include "base/lock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef NDEBUG
_Static_assert(LOCK_RANKS <= 32, "a bit for each in the masks");
static _Thread_local unsigned int held;
static _Thread_local unsigned int written; /* of held: rwlocks taken for writing */

static void fail(const char *what, enum lock_rank rank)
{
	fprintf(stderr, "lock order: %s rank %u while holding mask %#x\n", what, (unsigned int)rank,
		held);
	abort();
}

static void note_take(enum lock_rank rank)
{
	if (held >> rank)
		fail("taking", rank);
	held |= 1U << rank;
}

static void note_drop(enum lock_rank rank)
{
	if (!(held & 1U << rank))
		fail("dropping", rank);
	held &= ~(1U << rank);
	written &= held;
}

static void note_held(enum lock_rank rank)
{
	if (!(held & 1U << rank))
		fail("needing", rank);
}

static void note_written(enum lock_rank rank)
{
	written |= 1U << rank;
}

static void note_is_written(enum lock_rank rank)
{
	note_held(rank);
	if (!(written & 1U << rank))
		fail("needing for writing", rank);
}
#else
static void note_take(enum lock_rank rank)
{
	(void)rank;
}

static void note_drop(enum lock_rank rank)
{
	(void)rank;
}

static void note_held(enum lock_rank rank)
{
	(void)rank;
}

static void note_written(enum lock_rank rank)
{
	(void)rank;
}

static void note_is_written(enum lock_rank rank)
{
	(void)rank;
}
#endif

/* A pthread lock call can fail only by misuse, which is a bug of ours and never goes on. */
static void must(int err)
{
	if (err)
		abort();
}

void lock_init(struct lock *l, enum lock_rank rank)
{
	must(pthread_mutex_init(&l->mutex, NULL));
	l->rank = rank;
}

void lock_fini(struct lock *l)
{
	must(pthread_mutex_destroy(&l->mutex));
}

void lock_take(struct lock *l)
{
	note_take(l->rank);
	must(pthread_mutex_lock(&l->mutex));
}

void lock_drop(struct lock *l)
{
	note_drop(l->rank);
	must(pthread_mutex_unlock(&l->mutex));
}

void lock_wait(struct lock *l, pthread_cond_t *cond)
{
	note_held(l->rank);
	must(pthread_cond_wait(cond, &l->mutex));
}

int lock_wait_until(struct lock *l, pthread_cond_t *cond, long long deadline_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / 1000000000LL),
		.tv_nsec = (long)(deadline_ns % 1000000000LL),
	};
	int err;

	note_held(l->rank);
	err = pthread_cond_timedwait(cond, &l->mutex, &ts);
	if (err == ETIMEDOUT)
		return -ETIMEDOUT;
	must(err);
	return 0;
}

void lock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	must(pthread_condattr_init(&attr));
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	must(pthread_cond_init(cond, &attr));
	must(pthread_condattr_destroy(&attr));
}

void lock_assert_held(const struct lock *l)
{
	note_held(l->rank);
}

void rwlock_init(struct rwlock *l, enum lock_rank rank)
{
	pthread_rwlockattr_t attr;

	must(pthread_rwlockattr_init(&attr));
	/* glibc prefers readers: a commit would wait for as long as writes follow each other. */
	must(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
	must(pthread_rwlock_init(&l->rw, &attr));
	must(pthread_rwlockattr_destroy(&attr));
	l->rank = rank;
}

void rwlock_fini(struct rwlock *l)
{
	must(pthread_rwlock_destroy(&l->rw));
}

void rwlock_read(struct rwlock *l)
{
	note_take(l->rank);
	must(pthread_rwlock_rdlock(&l->rw));
}

void rwlock_write(struct rwlock *l)
{
	note_take(l->rank);
	note_written(l->rank);
	must(pthread_rwlock_wrlock(&l->rw));
}

void rwlock_drop(struct rwlock *l)
{
	note_drop(l->rank);
	must(pthread_rwlock_unlock(&l->rw));
}

void rwlock_assert_held(const struct rwlock *l)
{
	note_held(l->rank);
}

void rwlock_assert_written(const struct rwlock *l)
{
	note_is_written(l->rank);
}
