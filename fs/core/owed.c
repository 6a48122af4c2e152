// SPDX-License-Identifier: MIT
/* See owed.h. Core layer. */
#include "core/owed.h"

#include <errno.h>
#include <time.h>

#define WAIT_NS 5000000000LL

void owed_init(struct owed *o)
{
	lock_init(&o->lock, LOCK_QUEUE);
	lock_cond_init(&o->none);
	o->conversations = 0;
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

void owed_wait(struct owed *o)
{
	struct timespec now;
	long long until;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec * 1000000000LL + now.tv_nsec + WAIT_NS;
	lock_take(&o->lock);
	while (o->conversations && lock_wait_until(&o->lock, &o->none, until) != -ETIMEDOUT)
		;
	lock_drop(&o->lock);
}
