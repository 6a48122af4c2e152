/* SPDX-License-Identifier: MIT */
/* One sentence for a person, beside the -errno that a function returns. */
#ifndef FENCE_BASE_ERRMSG_H
#define FENCE_BASE_ERRMSG_H

struct errmsg {
	char s[1024];
};

/*
 * Format into @m (truncated, always terminated; NULL is fine) and return @err, so that a caller can
 * `return errmsg_set(m, -EX, ...)`.
 */
int errmsg_set(struct errmsg *m, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
