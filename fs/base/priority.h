/* SPDX-License-Identifier: MIT */
/* Threads that only use what nobody else wants. */
#ifndef FENCE_BASE_PRIORITY_H
#define FENCE_BASE_PRIORITY_H

/*
 * The calling thread gets the lowest priority, of processor and disk; where that is not to be had
 * it runs all the same. It must not hold a lock for which others wait: it may have to wait for long
 * before it can let go of it.
 */
void priority_lower(void);

#endif
