/* SPDX-License-Identifier: MIT */
/* How many columns of a terminal text takes, wide and combining characters included. */
#ifndef FENCE_TOOLS_OUT_CELL_WIDTH_H
#define FENCE_TOOLS_OUT_CELL_WIDTH_H

#include "parse/buf.h"

#include <stddef.h>

/* @shown: what display_name() made. */
size_t cell_width(const char *shown);
/* Append @shown, or as much of it as leaves room for "…" within @columns (at least 1). */
void cell_cut(struct buf *out, const char *shown, size_t columns);
/*
 * Length in bytes of the longest part of @shown that fits into @columns, ending at a space if it
 * can.
 */
size_t cell_line(const char *shown, size_t columns);

#endif
