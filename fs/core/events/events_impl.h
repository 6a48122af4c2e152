/* SPDX-License-Identifier: MIT */
/* The readers of events, for the files of this layer only. */
#ifndef FENCE_CORE_EVENTS_EVENTS_IMPL_H
#define FENCE_CORE_EVENTS_EVENTS_IMPL_H

#include <stddef.h>

struct core;
struct event;

/* -ENOMEM. */
int event_hub_init(struct core *c);
void event_hub_fini(struct core *c);
/*
 * Something became durable and visible: readers are looked after in the pool, never on the
 * committer's thread.
 */
void events_kick(struct core *c);
/* The service ends: those that wait get the end of the file. */
void events_end(struct core *c);

/* One line with LF, malloc'd (event_json.c). */
int event_json(const struct event *e, char **out, size_t *out_len);
int event_json_missed(long long first_revision, char **out, size_t *out_len);

#endif
