/* SPDX-License-Identifier: MIT */
/* Replies that wait to be read, and the end of the daemon. For this layer only. */
#ifndef FENCE_CORE_LOOP_OWED_H
#define FENCE_CORE_LOOP_OWED_H

#include "base/lock.h"

#include <stdbool.h>

struct core;

struct owed {
	struct lock lock; /* guards: */
	pthread_cond_t none;
	int conversations; /* with something to read */
	bool is_cut_off;   /* they cannot read it any more */
};

void owed_init(struct owed *o);
void owed_fini(struct owed *o);
/*
 * A conversation has now, or has no longer, something to read: @owes, where *was (the
 * conversation's own, guarded by its lock, which is held) says what it was before.
 */
void owed_note(struct owed *o, bool *was, bool owes);
/*
 * Whoever has been told by his write that it is done comes back at once to read the reply. Until
 * all have, or for a moment: some never read.
 */
void owed_wait(struct owed *o);
/* Nobody can come back: whoever waits need not, nor will. */
void owed_cut_off(struct owed *o);

#endif
