/* SPDX-License-Identifier: MIT */
/*
 * .fence/events: one JSON line per commit, refusal, claim, and grant, loss, expiry and release of a
 * lease. A reader has its own place in the table of events, so a slow one holds up nobody; what was
 * dropped before it came to it is told as a line of its own.
 */
#ifndef FENCE_CORE_EVENTS_EVENTS_H
#define FENCE_CORE_EVENTS_EVENTS_H

#include "core/access/caller.h"

#include <stdbool.h>
#include <stddef.h>

struct core;
struct event_reader;

/*
 * Begins behind the newest event. Somebody else's events are told only of paths that @who could
 * walk to.
 */
int events_open(struct core *c, const struct caller *who, struct event_reader **out);
/* write(2): "REVISION" or "since=REVISION" and LF: go on behind that revision. -EINVAL. */
int events_seek(struct event_reader *r, const void *buf, size_t len);
/*
 * read(2): whole lines, at most @max bytes (a line that does not fit is -EMSGSIZE); waits until
 * there is one. Completion as in ctl.h.
 */
typedef void (*events_read_fn)(void *arg, int err, const void *data, size_t len);
void events_read(struct event_reader *r, size_t max, events_read_fn done, void *arg);
void events_interrupt(struct event_reader *r, void *arg);
/*
 * Whether a read would not wait. If it would, @wake(@arg) is called once when it no longer does.
 * NULL @wake: only asks.
 */
bool events_poll(struct event_reader *r, void (*wake)(void *arg), void *arg);
/* No read is parked. @wake of a pending poll is called. */
void events_close(struct event_reader *r);

#endif
