/* SPDX-License-Identifier: MIT */
/* What happened, in words: of a line of .fence/events, or of a record of `list kind=event`. */
#ifndef FENCE_TOOLS_OUT_EVENT_TEXT_H
#define FENCE_TOOLS_OUT_EVENT_TEXT_H

#include "parse/buf.h"
#include "wire/reply.h"

#include <stddef.h>
#include <stdint.h>

/*
 * "job-a (41) is refused at commit: job-b (42) came after", without path and time. Names are
 * escaped, and cut to @name_max columns.
 */
void event_text(struct buf *out, const struct reply *r, size_t name_max);
/* Nanoseconds since the epoch; 0 where there is none. */
int64_t event_time(const struct reply *r);
/* A number of seconds for people: 0.25 s, 28 s, 3 min, 2 h 10 min, 5 d. */
void event_duration(struct buf *out, int64_t ns);

#endif
