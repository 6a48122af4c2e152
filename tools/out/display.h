/* SPDX-License-Identifier: MIT */
/* Names, times and sizes as people read them. What goes to a terminal passes through here. */
#ifndef FENCE_TOOLS_OUT_DISPLAY_H
#define FENCE_TOOLS_OUT_DISPLAY_H

#include "parse/buf.h"

#include <stdint.h>

/*
 * Control characters, bytes that are not UTF-8, and characters that reorder text are escaped, as is
 * the backslash.
 */
void display_name(struct buf *out, const char *s);
/* Columns that display_name()'s result takes on a terminal, one for each character. */
size_t display_width(const char *shown);

/*
 * @at: "seconds.nanoseconds" since the epoch, as the protocol writes it; what does not parse is
 * shown as it is.
 */
void display_time(struct buf *out, const char *at); /* 2026-11-30 11:02:03 +0100 */
void display_utc(struct buf *out, const char *at);  /* 2026-11-30T10:02:03.123456789Z */

void display_size(struct buf *out, uint64_t bytes); /* 999, 1.2 KiB, 34 MiB */

#endif
