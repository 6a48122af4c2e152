/* SPDX-License-Identifier: MIT */
/*
 * Rows: one for each event, so that none hides another. Between them, the scale: a gap that is long
 * for this picture gets a row that says how long it was, however long; many events alike, one after
 * the other, become three rows. See timeline.h.
 */
#include "timeline/timeline_row.h"

#include "out/event_text.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GAPS_MAX 16 /* at least a sixteenth of the whole time is a gap worth a row */
#define RUN_MIN	 5

static struct timeline_row *add_row(struct timeline *t, enum timeline_row_kind kind, int64_t at)
{
	struct timeline_row *row;

	if ((t->n_rows & (t->n_rows - 1)) == 0) {
		t->rows = reallocarray(t->rows, t->n_rows ? 2 * t->n_rows : 1, sizeof(*t->rows));
		if (!t->rows)
			abort();
	}
	row = &t->rows[t->n_rows++];
	*row = (struct timeline_row){ .kind = kind, .at = at, .mark = -1, .other = -1 };
	return row;
}

static void copy_states(const struct timeline *t, size_t event, struct timeline_row *row)
{
	for (size_t i = 0; i < t->n_lanes; i++) {
		const struct timeline_lane *lane = &t->lanes[i];

		if (lane->column < 0 || lane->column == TIMELINE_COLUMNS - 1 ||
		    lane->first > (int)event || lane->last <= (int)event)
			continue;
		row->after[lane->column] = lane->state;
	}
}

/*
 * Lower tokens at or beneath @path have been overtaken. One with a lease loses it by an event of
 * its own.
 */
static void overtake(struct timeline *t, const struct timeline_event *e)
{
	int64_t token = strtoll(t->lanes[e->lane].token, NULL, 10);

	for (size_t i = 0; i < t->n_lanes; i++) {
		struct timeline_lane *lane = &t->lanes[i];

		if ((lane->state == STATE_CLAIM || lane->state == STATE_LAPSED) &&
		    strtoll(lane->token, NULL, 10) < token && path_is_within(lane->path, e->path))
			lane->state = STATE_OVERTAKEN;
	}
}

static void apply(struct timeline *t, struct timeline_event *e)
{
	struct timeline_lane *lane = &t->lanes[e->lane];

	lane->path = e->path;
	switch (e->kind) {
	case TIMELINE_GRANT:
		overtake(t, e);
		lane->state = STATE_LEASE;
		break;
	case TIMELINE_CLAIM:
	case TIMELINE_COMMIT:
	case TIMELINE_ELSEWHERE:
	case TIMELINE_RESET:
		overtake(t, e);
		if (lane->state == STATE_NONE)
			lane->state = STATE_CLAIM;
		break;
	case TIMELINE_RELEASE:
	case TIMELINE_EXPIRE:
		lane->state = STATE_LAPSED;
		break;
	case TIMELINE_LOSE:
		lane->state = STATE_OVERTAKEN;
		break;
	case TIMELINE_REFUSE:
		if (lane->state == STATE_NONE || lane->state == STATE_LAPSED)
			lane->state = STATE_OVERTAKEN;
		break;
	case TIMELINE_KINDS:
		break;
	}
}

static bool same_day(int64_t a, int64_t b)
{
	time_t one = (time_t)(a / SECOND), other = (time_t)(b / SECOND);
	struct tm x, y;

	return localtime_r(&one, &x) && localtime_r(&other, &y) && x.tm_year == y.tm_year &&
	       x.tm_yday == y.tm_yday;
}

/* What lies between the row before and a row at @at that comes before event number @event. */
static void add_between(struct timeline *t, size_t event, int64_t at)
{
	struct timeline_row *row;
	int64_t before, span;

	if (!t->n_rows)
		return;
	before = t->rows[t->n_rows - 1].at;
	span = t->now - t->events[0].at;
	if (at - before >= SECOND && at - before >= span / GAPS_MAX) {
		struct buf text = { 0 };

		event_duration(&text, at - before);
		row = add_row(t, ROW_GAP, before);
		row->text = text.s;
		copy_states(t, event - 1, row);
	}
	if (!same_day(before, at)) {
		char day[64];

		timeline_day(at, day, sizeof(day));
		row = add_row(t, ROW_DAY, at);
		row->text = str_copy(day);
		copy_states(t, event - 1, row);
	}
}

static void add_event(struct timeline *t, size_t i)
{
	struct timeline_event *e = &t->events[i];
	struct timeline_row *row;

	add_between(t, i, e->at);
	apply(t, e);
	row = add_row(t, ROW_EVENT, e->at);
	row->event = e;
	row->mark = t->lanes[e->lane].column;
	if (e->other >= 0)
		row->other = t->lanes[e->other].column;
	copy_states(t, i, row);
}

static bool is_alike(const struct timeline_event *a, const struct timeline_event *b)
{
	return a->kind == b->kind && a->lane == b->lane && a->other == b->other;
}

/* How many events from @i on are alike. */
static size_t run_length(const struct timeline *t, size_t i)
{
	size_t n = 1;

	while (i + n < t->n_events && is_alike(&t->events[i], &t->events[i + n]))
		n++;
	return n;
}

/* The events between the first and the last of a run. */
static void add_more(struct timeline *t, size_t from, size_t n)
{
	const struct timeline_event *first = &t->events[from], *last = &t->events[from + n - 1];
	struct timeline_row *row;
	struct buf text = { 0 };

	buf_printf(&text, "… %zu more like this", n);
	if (first->kind == TIMELINE_COMMIT || first->kind == TIMELINE_ELSEWHERE)
		buf_printf(&text, ", up to revision %" PRId64, last->revision);
	row = add_row(t, ROW_MORE, last->at);
	row->text = text.s;
	copy_states(t, from, row);
}

void timeline_make_rows(struct timeline *t)
{
	struct timeline_row *row;

	for (size_t i = 0; i < t->n_events;) {
		size_t n = run_length(t, i);

		add_event(t, i);
		if (n >= RUN_MIN) {
			add_more(t, i + 1, n - 2);
			i += n - 1;
		} else {
			i++;
		}
	}
	if (t->n_events)
		add_between(t, t->n_events, t->now);
	row = add_row(t, ROW_NOW, t->now);
	row->text = str_copy(t->present);
	for (size_t i = 0; i < t->n_lanes; i++)
		if (t->lanes[i].is_live && t->lanes[i].column < TIMELINE_COLUMNS - 1)
			row->after[t->lanes[i].column] = t->lanes[i].state;
}

void timeline_used(const struct timeline *t, bool kinds[TIMELINE_KINDS], bool states[STATES])
{
	memset(kinds, 0, TIMELINE_KINDS * sizeof(*kinds));
	memset(states, 0, STATES * sizeof(*states));
	for (size_t i = 0; i < t->n_rows; i++) {
		if (t->rows[i].event)
			kinds[t->rows[i].event->kind] = true;
		for (int c = 0; c < TIMELINE_COLUMNS; c++)
			states[t->rows[i].after[c]] = true;
	}
	states[STATE_NONE] = false;
}

const char *timeline_kind_name(enum timeline_kind kind)
{
	static const char *const names[TIMELINE_KINDS] = {
		[TIMELINE_COMMIT] = "commit",	    [TIMELINE_ELSEWHERE] = "commit beside it",
		[TIMELINE_REFUSE] = "refused",	    [TIMELINE_CLAIM] = "claim",
		[TIMELINE_GRANT] = "lease granted", [TIMELINE_RELEASE] = "released",
		[TIMELINE_EXPIRE] = "expired",	    [TIMELINE_LOSE] = "lease lost",
		[TIMELINE_RESET] = "fence reset",
	};

	return names[kind];
}

const char *timeline_state_name(enum timeline_state state)
{
	static const char *const names[STATES] = {
		[STATE_NONE] = "",
		[STATE_LEASE] = "holds the lease",
		[STATE_CLAIM] = "has claimed, no lease",
		[STATE_LAPSED] = "lease over, nobody else yet",
		[STATE_OVERTAKEN] = "overtaken",
	};

	return names[state];
}

void timeline_clock(int64_t at, char out[16])
{
	time_t seconds = (time_t)(at / SECOND);
	struct tm tm;
	size_t len = 0;

	if (localtime_r(&seconds, &tm))
		len = strftime(out, 16, "%H:%M:%S", &tm);
	snprintf(out + len, 16 - len, ".%03d", (int)(at % SECOND / 1000000) % 1000);
}

void timeline_day(int64_t at, char *out, size_t room)
{
	time_t seconds = (time_t)(at / SECOND);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(out, room, "%Y-%m-%d, times in %z", &tm))
		out[0] = '\0';
}
