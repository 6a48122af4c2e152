/* SPDX-License-Identifier: MIT */
/* See owed.h. Core layer. */
#include "core/loop/owed.h"

#include "base/log.h"

#include <errno.h>
#include <time.h>

#define WAIT_NS 5000000000LL

void owed_init(struct owed *o)
{
	lock_init(&o->lock, LOCK_OWED);
	lock_cond_init(&o->none);
	o->conversations = 0;
	o->is_cut_off = false;
}

void owed_fini(struct owed *o)
{
	pthread_cond_destroy(&o->none);
	lock_fini(&o->lock);
}

void owed_note(struct owed *o, bool *was, bool owes)
{
	if (owes == *was)
		return;
	*was = owes;
	lock_take(&o->lock);
	o->conversations += owes ? 1 : -1;
	if (o->conversations == 0)
		pthread_cond_signal(&o->none);
	lock_drop(&o->lock);
}

void owed_cut_off(struct owed *o)
{
	lock_take(&o->lock);
	o->is_cut_off = true;
	pthread_cond_signal(&o->none);
	lock_drop(&o->lock);
}

void owed_wait(struct owed *o)
{
	struct timespec now;
	long long until;
	int left = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec * 1000000000LL + now.tv_nsec + WAIT_NS;
	lock_take(&o->lock);
	while (!left && o->conversations && !o->is_cut_off)
		if (lock_wait_until(&o->lock, &o->none, until) == -ETIMEDOUT)
			left = o->conversations;
	lock_drop(&o->lock);
	if (left)
		log_info("conversations that have not read their replies: %d", left);
}
