/* SPDX-License-Identifier: MIT */
/* What the picture is made of: the events of a path, who holds it now. See timeline.h. */
#include "timeline/timeline_row.h"

#include "client/client.h"
#include "out/display.h"
#include "out/event_text.h"
#include "client/list.h"
#include "parse/when.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX	 400 /* without --since */
#define NAME_MAX_COLUMNS 28

struct loading {
	struct timeline *t;
	size_t room;
	int64_t *revisions; /* owned; those that changed the path itself */
	size_t n_revisions;
	bool is_dir;
};

static const char *const kind_words[TIMELINE_KINDS] = {
	[TIMELINE_COMMIT] = "commit", [TIMELINE_REFUSE] = "refuse",   [TIMELINE_CLAIM] = "claim",
	[TIMELINE_GRANT] = "grant",   [TIMELINE_RELEASE] = "release", [TIMELINE_EXPIRE] = "expire",
	[TIMELINE_LOSE] = "lose",     [TIMELINE_RESET] = "reset",
};

static int kind_of(const char *word)
{
	for (int i = 0; i < TIMELINE_KINDS; i++)
		if (kind_words[i] && word && strcmp(kind_words[i], word) == 0)
			return i;
	return -1;
}

static void *grown(void *array, size_t n, size_t size)
{
	void *p = (n & (n - 1)) == 0 ? reallocarray(array, n ? 2 * n : 1, size) : array;

	if (!p)
		abort();
	return p;
}

static int64_t number(const struct reply *r, const char *key)
{
	const char *value = reply_get(r, key);

	return value ? strtoll(value, NULL, 10) : 0;
}

static const char *word(const struct reply *r, const char *key)
{
	const char *value = reply_get(r, key);

	return value ? value : "";
}

static int lane_of(struct timeline *t, const char *owner, const char *token)
{
	struct timeline_lane *lane;

	/* Mostly one of the latest. */
	for (size_t i = t->n_lanes; i-- > 0;)
		if (strcmp(t->lanes[i].token, token) == 0 && strcmp(t->lanes[i].owner, owner) == 0)
			return (int)i;
	t->lanes = grown(t->lanes, t->n_lanes, sizeof(*t->lanes));
	lane = &t->lanes[t->n_lanes];
	*lane = (struct timeline_lane){
		.owner = str_copy(owner), .token = str_copy(token), .first = -1, .column = -1
	};
	return (int)t->n_lanes++;
}

/* Of somebody who is named as the one who came after: only if it has a lane already. */
static int known_lane(const struct timeline *t, const char *owner, const char *token)
{
	for (size_t i = t->n_lanes; i-- > 0;)
		if (strcmp(t->lanes[i].token, token) == 0 && strcmp(t->lanes[i].owner, owner) == 0)
			return (int)i;
	return -1;
}

static void keep_one(struct loading *l, const struct reply *r, const char *key)
{
	if (!reply_get(r, key))
		return;
	l->revisions = grown(l->revisions, l->n_revisions, sizeof(*l->revisions));
	l->revisions[l->n_revisions++] = number(r, key);
}

static void keep_revision(void *arg, const struct reply *r)
{
	struct loading *l = arg;

	if (!l->n_revisions && reply_get(r, "kind"))
		l->is_dir = strcmp(reply_get(r, "kind"), "dir") == 0;
	keep_one(l, r, "revision");
	keep_one(l, r, "from");
	keep_one(l, r, "until");
}

/* A commit above a path that is no directory tells only by its revision whether it changed it. */
static bool is_elsewhere(const struct loading *l, const struct timeline_event *e)
{
	if (l->is_dir || strcmp(e->path, l->t->path) == 0)
		return false;
	for (size_t i = 0; i < l->n_revisions; i++)
		if (l->revisions[i] == e->revision)
			return false;
	return true;
}

static void add_text(const struct loading *l, struct timeline_event *e, const struct reply *r)
{
	struct buf text = { 0 };

	event_text(&text, r, NAME_MAX_COLUMNS);
	if (strcmp(e->path, l->t->path) != 0) {
		buf_str(&text, ", on ");
		display_name(&text, strcmp(e->path, ".") == 0 ? "the whole mount" : e->path);
	}
	if (e->kind == TIMELINE_ELSEWHERE)
		buf_str(&text, ", not this path");
	e->text = text.s;
}

static bool is_wanted(const struct timeline *t, int kind, int64_t at, int64_t revision)
{
	/* What happened at a revision happened after it was made. */
	return at >= t->since && revision >= t->since_revision + (kind == TIMELINE_COMMIT);
}

static void keep_event(void *arg, const struct reply *r)
{
	struct loading *l = arg;
	struct timeline *t = l->t;
	int kind = kind_of(reply_get(r, "event"));
	struct timeline_event e = { .at = event_time(r), .other = -1 };

	e.id = number(r, "id");
	e.revision = number(r, "revision");
	if (kind < 0)
		return;
	if (!is_wanted(t, kind, e.at, e.revision)) {
		t->left_out++;
		return;
	}
	e.kind = (enum timeline_kind)kind;
	e.path = str_copy(word(r, "path"));
	if (e.kind == TIMELINE_COMMIT && is_elsewhere(l, &e))
		e.kind = TIMELINE_ELSEWHERE;
	add_text(l, &e, r);
	e.lane = lane_of(t, word(r, "owner"), word(r, "token"));
	if (e.kind == TIMELINE_REFUSE || e.kind == TIMELINE_LOSE)
		e.other = known_lane(t, word(r, "held_by"), word(r, "highest"));
	t->events = grown(t->events, t->n_events, sizeof(*t->events));
	t->events[t->n_events++] = e;
}

/* "job-b (42) holds the lease, for another 12 s" */
static void add_present(struct timeline *t, const struct reply *r)
{
	auto_buf struct buf name = { 0 };
	struct buf text = { 0 };
	int64_t left;

	if (reply_get(r, "lease_owner")) {
		t->live_owner = str_copy(word(r, "lease_owner"));
		t->live_token = str_copy(word(r, "lease_token"));
		display_name(&name, t->live_owner);
		buf_printf(&text, "%s (%s) holds the lease", name.s, t->live_token);
		if (reply_get(r, "lease_path")) {
			buf_str(&text, " on ");
			display_name(&text, word(r, "lease_path"));
		}
		if (when_parse(word(r, "remaining"), 0, &left) == 0) {
			buf_str(&text, ", ");
			event_duration(&text, left);
			buf_str(&text, " left");
		}
	} else if (reply_get(r, "highest")) {
		display_name(&name, word(r, "set_by"));
		buf_printf(&text, "no lease; %s is the highest token", word(r, "highest"));
		if (name.len)
			buf_printf(&text, ", of %s", name.s);
	} else {
		buf_str(&text, "no lease, and no token was ever seen");
	}
	t->present = text.s;
}

static int load_present(const struct args *a, struct ctl_client *c, struct timeline *t)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	int code;

	line_begin(&req, "stat");
	line_field(&req, "path", t->path);
	code = client_call(a, a->rest[0], c, &req, &r);
	if (code == 0)
		add_present(t, &r);
	return code;
}

static void drop_oldest(struct timeline *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(t->events[i].path);
		free(t->events[i].text);
	}
	t->n_events -= n;
	t->left_out += n;
	memmove(t->events, t->events + n, t->n_events * sizeof(*t->events));
}

int timeline_load(const struct args *a, const struct target *target, struct ctl_client *c,
		  struct timeline *t)
{
	struct loading l = { .t = t };
	struct list_query q = {
		.args = a, .ctl = c, .target = target, .kind = "version", .by_path = true
	};
	int code;

	t->path = target->path;
	code = list_each(&q, keep_revision, &l);
	q.kind = "event";
	if (code == 0)
		code = list_each(&q, keep_event, &l);
	free(l.revisions);
	if (code == 0)
		code = load_present(a, c, t);
	if (t->since == 0 && t->since_revision < 0 && t->n_events > SHOWN_MAX)
		drop_oldest(t, t->n_events - SHOWN_MAX);
	return code;
}
