/* SPDX-License-Identifier: MIT */
/* See busy.h. Layer: core, room loop. */
#include "core/loop/busy.h"

#include <errno.h>

void busy_init(struct busy *b)
{
	*b = (struct busy){ .count = 0 };
	lock_init(&b->lock, LOCK_BUSY);
	lock_cond_init(&b->none);
}

void busy_fini(struct busy *b)
{
	pthread_cond_destroy(&b->none);
	lock_fini(&b->lock);
}

int busy_begin(struct busy *b)
{
	int err = 0;

	lock_take(&b->lock);
	if (b->closing && !(b->ending && pthread_equal(b->closer, pthread_self())))
		err = -ESHUTDOWN;
	if (!err)
		b->count++;
	lock_drop(&b->lock);
	return err;
}

void busy_end(struct busy *b)
{
	lock_take(&b->lock);
	if (--b->count == 0)
		pthread_cond_broadcast(&b->none);
	lock_drop(&b->lock);
}

bool busy_close(struct busy *b)
{
	bool again;

	lock_take(&b->lock);
	again = b->closing;
	b->closing = true;
	lock_drop(&b->lock);
	return again;
}

bool busy_is_closing(struct busy *b)
{
	bool closing;

	lock_take(&b->lock);
	closing = b->closing;
	lock_drop(&b->lock);
	return closing;
}

void busy_set_ending(struct busy *b, bool ending)
{
	lock_take(&b->lock);
	b->ending = ending;
	b->closer = pthread_self();
	lock_drop(&b->lock);
}

void busy_wait_none(struct busy *b)
{
	lock_take(&b->lock);
	while (b->count)
		lock_wait(&b->lock, &b->none);
	lock_drop(&b->lock);
}

int busy_count(struct busy *b)
{
	int n;

	lock_take(&b->lock);
	n = b->count;
	lock_drop(&b->lock);
	return n;
}
