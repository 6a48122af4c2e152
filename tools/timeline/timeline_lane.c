/* SPDX-License-Identifier: MIT */
/* Lanes: how long each is on the picture, and in which column. See timeline.h. */
#include "timeline/timeline_row.h"

#include <stdlib.h>
#include <string.h>

static void find_spans(struct timeline *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		struct timeline_event *e = &t->events[i];
		struct timeline_lane *lane = &t->lanes[e->lane];

		if (lane->first < 0)
			lane->first = (int)i;
		lane->last = (int)i;
		/* Who refuses another is to be seen beside it. */
		if (e->other >= 0 && t->lanes[e->other].first >= 0)
			t->lanes[e->other].last = (int)i;
		else
			e->other = -1;
	}
	for (size_t i = 0; t->live_token && i < t->n_lanes; i++) {
		struct timeline_lane *lane = &t->lanes[i];

		lane->is_live = lane->first >= 0 && strcmp(lane->token, t->live_token) == 0 &&
				strcmp(lane->owner, t->live_owner) == 0;
		if (lane->is_live)
			lane->last = (int)t->n_events;
	}
}

/* The first column that is free from @event on; the last one is shared when all are taken. */
static int free_column(const int busy_until[TIMELINE_COLUMNS], int event)
{
	for (int c = 0; c < TIMELINE_COLUMNS - 1; c++)
		if (busy_until[c] < event)
			return c;
	return TIMELINE_COLUMNS - 1;
}

void timeline_arrange(struct timeline *t)
{
	int busy_until[TIMELINE_COLUMNS];

	find_spans(t);
	for (int c = 0; c < TIMELINE_COLUMNS; c++)
		busy_until[c] = -1;
	for (size_t i = 0; i < t->n_events; i++) {
		struct timeline_lane *lane = &t->lanes[t->events[i].lane];

		if (lane->column >= 0)
			continue;
		lane->column = free_column(busy_until, (int)i);
		busy_until[lane->column] = lane->last;
		if (lane->column >= t->n_columns)
			t->n_columns = lane->column + 1;
	}
}

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->n_events; i++) {
		free(t->events[i].path);
		free(t->events[i].text);
	}
	for (size_t i = 0; i < t->n_lanes; i++) {
		free(t->lanes[i].owner);
		free(t->lanes[i].token);
	}
	for (size_t i = 0; i < t->n_rows; i++)
		free(t->rows[i].text);
	free(t->events);
	free(t->lanes);
	free(t->rows);
	free(t->present);
	free(t->live_token);
	free(t->live_owner);
	*t = (struct timeline){ 0 };
}
