/* SPDX-License-Identifier: MIT */
/* Transactions of the writing connection. One savepoint a request, one commit a batch. */
#ifndef FENCE_STORE_SQLITE_TXN_H
#define FENCE_STORE_SQLITE_TXN_H

#include <stdbool.h>

struct db;

/*
 * Whether the transactions from here on are on the disk when txn_commit() returns (they are unless
 * this was called). Those that are not get there with the next one that is, in their order. Not
 * within a transaction.
 */
int txn_set_sync(struct db *db, bool sync);
int txn_begin(struct db *db);
/*
 * Durable when 0 (see txn_set_sync). Any error: nothing of it is known to be durable; the caller
 * turns the store sticky read-only. -ENOSPC, -EDQUOT: rolled back, safe to go on.
 */
int txn_commit(struct db *db);
void txn_rollback(struct db *db);
/* Whether a transaction is open and not lost (after a full disk, say, SQLite ends it by itself). */
bool txn_is_active(const struct db *db);

/*
 * A savepoint ends with txn_release() (its changes become part of the transaction) or
 * txn_rollback_to() (they are undone). When either fails, the whole transaction is lost: roll it
 * back.
 */
int txn_savepoint(struct db *db);
int txn_release(struct db *db);
int txn_rollback_to(struct db *db);

/* Several reads from one snapshot. Nests; within a transaction of the writer it does nothing. */
int txn_read_begin(struct db *db);
void txn_read_end(struct db *db);

#endif
