/* SPDX-License-Identifier: MIT */
/*
 * The picture of a path's past that `fence timeline` draws: time runs down, each ownership (a token
 * and its owner) has a lane. What is drawn is decided here, once: rows, and what stands in each
 * lane of each row (timeline_row.h). timeline_text.c and timeline_svg.c only put it on a screen or
 * into a file. Layer: tools.
 */
#ifndef FENCE_TOOLS_TIMELINE_TIMELINE_H
#define FENCE_TOOLS_TIMELINE_TIMELINE_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "client/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timeline_kind {
	TIMELINE_COMMIT,
	TIMELINE_ELSEWHERE, /* a commit that was made above the path and did not change it */
	TIMELINE_REFUSE,
	TIMELINE_CLAIM,
	TIMELINE_GRANT,
	TIMELINE_RELEASE,
	TIMELINE_EXPIRE,
	TIMELINE_LOSE,
	TIMELINE_RESET,
	TIMELINE_KINDS,
};

/* What a lane shows below an event. */
enum timeline_state {
	STATE_NONE,
	STATE_LEASE,	 /* holds a lease */
	STATE_CLAIM,	 /* its token is the highest; no lease */
	STATE_LAPSED,	 /* its lease has ended, nobody has taken over */
	STATE_OVERTAKEN, /* a newer owner has come, and it was seen again later */
	STATES,
};

struct timeline_event {
	enum timeline_kind kind;
	int64_t id, at; /* ns since the epoch */
	int64_t revision;
	char *path; /* owned */
	char *text; /* owned; a sentence, escaped */
	int lane;
	int other; /* lane of who refused or took over; -1 */
};

struct timeline_lane {
	char *owner, *token; /* owned */
	char *path;	     /* borrowed from its latest event */
	int first, last;     /* events; it keeps its column from first to last */
	int column;
	bool is_live; /* holds a lease now: its column goes on to the end */
	enum timeline_state state;
};

struct timeline {
	const char *path; /* borrowed */
	int64_t now;
	int64_t since;		/* ns since the epoch; 0: not by time */
	int64_t since_revision; /* -1: not by revision */
	size_t left_out;	/* earlier events that are not shown */
	struct timeline_event *events;
	size_t n_events;
	struct timeline_lane *lanes;
	size_t n_lanes;
	struct timeline_row *rows; /* timeline_row.h */
	size_t n_rows;
	int n_columns;
	char *present;	  /* owned; who holds it now, a sentence */
	char *live_token; /* owned; of the lease held now, or NULL */
	char *live_owner; /* owned */
};

/* Events and present of t->path over @c. 0, or the exit code. */
int timeline_load(const struct args *a, const struct target *target, struct ctl_client *c,
		  struct timeline *t);
void timeline_arrange(struct timeline *t);
void timeline_fini(struct timeline *t);

#define auto_timeline __attribute__((cleanup(timeline_fini)))

#endif
