/* SPDX-License-Identifier: MIT */
/*
 * Which versions of one name are kept. The rules are those of restic's `forget`, with a version of
 * a name in the place of a snapshot; a version is kept if any rule keeps it.
 */
#ifndef FENCE_STORE_GC_RETENTION_H
#define FENCE_STORE_GC_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum retain {
	RETAIN_LAST,
	RETAIN_HOURLY,
	RETAIN_DAILY,
	RETAIN_WEEKLY,
	RETAIN_MONTHLY,
	RETAIN_YEARLY,
	RETAIN_KINDS
};

struct retention {
	/*
	 * LAST: the newest N versions. The others: for the last N hours (days, weeks, …) in which a
	 * version was made, the newest one made in it. 0: no such rule.
	 */
	int64_t count[RETAIN_KINDS];
	int64_t within; /* ns; what was current at any time in this long; 0: no such rule */
};

struct retention_version {
	int64_t at;    /* when it was made, ns */
	int64_t until; /* when it was replaced or removed, ns; INT64_MAX: it is current */
	bool keep;     /* set by retention_apply() */
};

static inline bool retention_is_empty(const struct retention *r)
{
	for (int i = 0; i < RETAIN_KINDS; i++)
		if (r->count[i])
			return false;
	return r->within == 0;
}

/*
 * All @n versions of a name, newest first. @now: what `within` counts back from. Hours, days, weeks
 * (ISO 8601), months and years are those of local time.
 */
void retention_apply(const struct retention *r, int64_t now, struct retention_version *v, size_t n);

#endif
