/* SPDX-License-Identifier: MIT */
/*
 * The sentence that goes with an error, formatted into its caller's buffer. Layer: base.
 */
#include "base/errmsg.h"

#include <stdarg.h>
#include <stdio.h>

int errmsg_set(struct errmsg *m, int err, const char *fmt, ...)
{
	va_list ap;

	if (!m)
		return err;
	va_start(ap, fmt);
	vsnprintf(m->s, sizeof(m->s), fmt, ap);
	va_end(ap);
	return err;
}
