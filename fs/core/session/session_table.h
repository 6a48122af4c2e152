/* SPDX-License-Identifier: MIT */
/* All open sessions by id, and what a claim does to them. */
#ifndef FENCE_CORE_SESSION_SESSION_TABLE_H
#define FENCE_CORE_SESSION_SESSION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct session;

/* -ENOMEM. */
int session_table_init(struct core *c);
/* Drops all. */
void session_table_fini(struct core *c);
unsigned int session_table_count(struct core *c);
/* Takes a reference of its own. */
void session_table_add(struct core *c, struct session *s);
/* Drops it; does nothing if it is not there. */
void session_table_remove(struct core *c, struct session *s);
/* A new reference, or NULL. */
struct session *session_table_get(struct core *c, const char *id);

/* Calls @fn for each open session with the table's lock held: list work only. */
void session_table_each(struct core *c, void (*fn)(struct session *s, void *arg), void *arg);

/* A fence that was raised. */
struct claimed {
	const char *path, *owner;
	int64_t token, at; /* at: wall clock, ns */
};
/* Tell the sessions that it overtakes. */
void session_table_claimed(struct core *c, const struct claimed *by);
/* exclusive=1: @newest replaces the older sessions of its path and token. */
void session_table_supersede(struct core *c, struct session *newest);

#endif
