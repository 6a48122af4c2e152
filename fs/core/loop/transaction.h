/* SPDX-License-Identifier: MIT */
/* Several jobs in one transaction of the database. Layer: core, room loop; committer thread. */
#ifndef FENCE_CORE_LOOP_TRANSACTION_H
#define FENCE_CORE_LOOP_TRANSACTION_H

struct changed;
struct job;
struct store;

/*
 * Each job in a savepoint of its own: a refused one is undone alone, and j->err says so. 0: it is
 * durable (P2), and @rows is what it changed. -EREMOTEIO: the outcome is unknown, the store is
 * read-only from now on. Otherwise nothing of it was kept.
 */
int transaction_run(struct store *store, struct job *jobs, struct changed *rows);

#endif
