/* SPDX-License-Identifier: MIT */
/* The rows of the picture of a path's past, and what is said of them. Layer: tools. */
#ifndef FENCE_TOOLS_TIMELINE_TIMELINE_ROW_H
#define FENCE_TOOLS_TIMELINE_TIMELINE_ROW_H

#include "timeline/timeline.h"

#define TIMELINE_COLUMNS 12

enum timeline_row_kind { ROW_EVENT, ROW_GAP, ROW_DAY, ROW_MORE, ROW_NOW };

struct timeline_row {
	enum timeline_row_kind kind;
	int64_t at;
	const struct timeline_event *event; /* of ROW_EVENT; borrowed */
	char *text;			    /* owned; NULL for ROW_EVENT */
	int mark, other;		    /* columns; -1: none */
	enum timeline_state after[TIMELINE_COLUMNS];
};

/* After timeline_arrange(). */
void timeline_make_rows(struct timeline *t);

/* "committed", for the legend. */
const char *timeline_kind_name(enum timeline_kind kind);
const char *timeline_state_name(enum timeline_state state);
/* Which marks and lines the rows use. */
void timeline_used(const struct timeline *t, bool kinds[TIMELINE_KINDS], bool states[STATES]);
/* Local time: "11:02:03.120", "Monday, 2026-11-30, times in +0100". */
void timeline_clock(int64_t at, char out[16]);
void timeline_day(int64_t at, char *out, size_t room);

#endif
