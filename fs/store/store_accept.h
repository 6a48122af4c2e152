/* SPDX-License-Identifier: MIT */
/*
 * A database whose pages do not match their sums, taken as it is: after another program has written
 * it (sqlite3's .backup or VACUUM know nothing of sums), or for want of anything better.
 */
#ifndef FENCE_STORE_STORE_ACCEPT_H
#define FENCE_STORE_STORE_ACCEPT_H

#include "base/errmsg.h"

#include <limits.h>
#include <stdint.h>

struct store_accepted {
	int64_t pages;	     /* that got a new sum */
	char copy[NAME_MAX]; /* of the database as it was, in STORE/lost+found; "" if it was right */
};

/*
 * The store at @path, which nobody else may have open, is left to be checked. -EBUSY: somebody has
 * it.  -EOPNOTSUPP: its database has no sums.  -EUCLEAN: SQLite cannot read it.
 */
int store_accept_pages(const char *path, struct store_accepted *out, struct errmsg *err);

#endif
