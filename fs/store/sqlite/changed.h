/* SPDX-License-Identifier: MIT */
/*
 * What a transaction changed, row by row, for those who must be told of it once it is durable:
 * names to drop from the kernel's caches, sessions and leases that were overtaken, events to
 * announce. Layer: store, room sqlite.
 *
 * Whoever writes such a row says so here, in the same call; whoever runs the transaction listens
 * (db_watch), takes back what a savepoint took back, and hands the list on. So what follows from a
 * row does not depend on who wrote it, nor on which request made him.
 */
#ifndef FENCE_STORE_SQLITE_CHANGED_H
#define FENCE_STORE_SQLITE_CHANGED_H

#include <stddef.h>
#include <stdint.h>

struct db;

enum changed_kind {
	CHANGED_REVISION, /* number: the revision that was made */
	CHANGED_NAME,  /* number: directory, text: the name; another entry is behind it, or none */
	CHANGED_DIR,   /* number: directory; its own attributes */
	CHANGED_PATHS, /* some directory was moved or removed */
	CHANGED_FENCE, /* text: path, number: token, owner, at: it was raised or reset */
	CHANGED_LEASE, /* text: path; granted, ended or given another time */
	CHANGED_EVENT  /* one more in the table */
};

struct changed_row {
	enum changed_kind kind;
	int64_t number;
	int64_t at;	   /* wall clock, ns */
	const char *text;  /* of the list, as is: */
	const char *owner; /* "" for kinds without */
};

struct changed; /* a list of them; not locked */

struct changed *changed_new(void);
void changed_free(struct changed *l); /* may be NULL */
/* From now on the changes of @db go to @l; NULL: to nobody. */
void db_watch(struct db *db, struct changed *l);

/* How many there are; as a mark to go back to when a savepoint is undone. */
size_t changed_count(const struct changed *l);
void changed_back_to(struct changed *l, size_t mark);
/* Row @i, until the list is changed. */
struct changed_row changed_at(const struct changed *l, size_t i);

/* For those who write rows; nothing happens if nobody listens. -ENOMEM. */
int changed_add(struct db *db, struct changed_row row);

#endif
