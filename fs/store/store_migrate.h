/* SPDX-License-Identifier: MIT */
/*
 * A store of an older format becomes one of this program's, when it is opened for serving or owning.
 * Layer: store.
 *
 * Two numbers say what format a store has: the line in STORE/format (F), which is read before
 * anything else is touched, and user_version of the database (V). A program that knows up to N
 * refuses a store where either is above N, in words. So a store is taken from n to n + 1 like this:
 *
 *   1. one transaction changes the tables and raises V (P2, P3: it is durable, or it did not happen)
 *   2. format.new is written and synced
 *   3. it is renamed to `format`, and the directory is synced
 *
 * and then from n + 1 on, until V is N. Cut off at any point, the next program finds:
 *
 *   before 1 is durable   F = n, V = n: as it was; the older program serves it, the newer starts anew
 *   before 3 is durable   F = n, V = n + 1: the older program refuses (V); a newer one has nothing to
 *                         do to the tables, and does 2 and 3. A format.new left by 2 is written over
 *   after it              F = V = n + 1: the next step, or done
 *
 * The database is first, so that a step that fails (a full disk) leaves a store that the older
 * program can still serve. F > V is an older meta.db that somebody has put back: it is migrated from
 * V on, and F is right already. Who only reads (STORE_READ) changes nothing: it refuses a store where
 * F or V is below N, and says what to do.
 */
#ifndef FENCE_STORE_STORE_MIGRATE_H
#define FENCE_STORE_STORE_MIGRATE_H

#include "base/errmsg.h"
#include "store/layout.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct migrations;

struct store_upgrade {
	int root;	  /* the store's directory; borrowed, as are: */
	const char *path; /* for messages */
	struct db *db;
	const struct store_format *format; /* as it was read */
	const struct migrations *steps;
};

/* What must be done, on the writer, whose WAL is settled. -EPROTONOSUPPORT: the database is newer. */
int store_migrate(const struct store_upgrade *u, struct errmsg *err);
/* For who only reads. -EPROTONOSUPPORT: it is newer, or older. */
int store_migrate_is_done(const struct store_upgrade *u, struct errmsg *err);

#endif
