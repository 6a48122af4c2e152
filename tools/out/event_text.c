/* SPDX-License-Identifier: MIT */
/* See event_text.h. Layer: tools. */
#include "out/event_text.h"

#include "out/cell_width.h"
#include "out/display.h"
#include "parse/when.h"
#include "wire/event_kind.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int64_t event_time(const struct reply *r)
{
	const char *at = reply_get(r, "at");
	int64_t ns;

	return at && when_parse(at, 0, &ns) == 0 ? ns : 0;
}

struct unit {
	int64_t seconds;
	const char *name;
};

static void two_units(struct buf *out, int64_t seconds, struct unit large, struct unit small)
{
	buf_printf(out, "%" PRId64 " %s", seconds / large.seconds, large.name);
	if (seconds % large.seconds / small.seconds)
		buf_printf(out, " %" PRId64 " %s", seconds % large.seconds / small.seconds,
			   small.name);
}

void event_duration(struct buf *out, int64_t ns)
{
	static const struct unit units[] = {
		{ 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" }
	};
	int64_t seconds = ns / SECOND, hundredths = ns % SECOND / (SECOND / 100);

	for (int i = 0; i < 3; i++)
		if (seconds >= units[i].seconds) {
			two_units(out, seconds, units[i], units[i + 1]);
			return;
		}
	if (seconds >= 10 || !hundredths)
		buf_printf(out, "%" PRId64 " s", seconds);
	else
		buf_printf(out, "%" PRId64 ".%0*" PRId64 " s", seconds, hundredths % 10 ? 2 : 1,
			   hundredths % 10 ? hundredths : hundredths / 10);
}

static const char *get(const struct reply *r, const char *key)
{
	const char *value = reply_get(r, key);

	return value ? value : "";
}

/* "job-a (41)" */
static void add_who(struct buf *out, const char *owner, const char *token, size_t name_max)
{
	auto_buf struct buf shown = { 0 };

	if (*owner) {
		display_name(&shown, owner);
		cell_cut(out, shown.s, name_max);
		buf_char(out, ' ');
	}
	buf_printf(out, "(%s)", token);
}

static void add_other(struct buf *out, const char *before, const struct reply *r, size_t name_max)
{
	if (!*get(r, "highest"))
		return;
	buf_str(out, before);
	add_who(out, get(r, "held_by"), get(r, "highest"), name_max);
}

/* The stage and the errno's name: two fields in a line of events, one in a record. */
static void refusal_parts(const struct reply *r, struct buf *stage, struct buf *why)
{
	const char *detail = get(r, "detail");
	size_t len = strcspn(detail, " ");

	if (*get(r, "stage")) {
		buf_str(stage, get(r, "stage"));
		buf_str(why, get(r, "why"));
	} else {
		buf_add(stage, detail, len);
		buf_str(why, detail + len + (detail[len] == ' '));
	}
}

static void add_refusal(struct buf *out, const struct reply *r, size_t name_max)
{
	auto_buf struct buf stage = { 0 };
	auto_buf struct buf why = { 0 };
	bool stale;

	refusal_parts(r, &stage, &why);
	stale = strcmp(buf_text(&why), "ESTALE") == 0;
	buf_str(out, stale ? " is refused" : " fails");
	if (stage.len)
		buf_printf(out, " at %s", stage.s);
	if (stale)
		add_other(out, ": overtaken by ", r, name_max);
	else
		buf_printf(out, ": %s", buf_text(&why));
}

static void add_commit(struct buf *out, const struct reply *r)
{
	const char *changed = get(r, "changed");

	buf_printf(out, " commits revision %s", get(r, "revision"));
	if (*changed)
		buf_printf(out, ", %s %s", changed,
			   strcmp(changed, "1") == 0 ? "change" : "changes");
}

static void add_grant(struct buf *out, const struct reply *r)
{
	int64_t ttl;

	buf_str(out, " is granted the lease");
	if (when_parse(get(r, "ttl"), 0, &ttl) == 0) {
		buf_str(out, " for ");
		event_duration(out, ttl);
	}
}

static void add_reset(struct buf *out, const struct reply *r)
{
	buf_printf(out, " resets the fence to %s", get(r, "token"));
	if (*get(r, "highest"))
		buf_printf(out, ", it was %s", get(r, "highest"));
}

static void add_claim(struct buf *out, const struct reply *r)
{
	const char *by = *get(r, "by") ? get(r, "by") : get(r, "detail");

	buf_str(out, strcmp(by, "open") == 0 ? " opens a session" : " claims it");
}

void event_text(struct buf *out, const struct reply *r, size_t name_max)
{
	const char *event = get(r, "event");

	add_who(out, get(r, "owner"), get(r, "token"), name_max);
	switch (event_kind_parse(event)) {
	case EVENT_COMMIT:
		add_commit(out, r);
		break;
	case EVENT_REFUSE:
		add_refusal(out, r, name_max);
		break;
	case EVENT_CLAIM:
		add_claim(out, r);
		break;
	case EVENT_GRANT:
		add_grant(out, r);
		break;
	case EVENT_RELEASE:
		buf_str(out, " releases the lease");
		break;
	case EVENT_EXPIRE:
		buf_str(out, " let the lease expire");
		break;
	case EVENT_LOSE:
		buf_str(out, " loses the lease");
		add_other(out, " to ", r, name_max);
		break;
	case EVENT_RESET:
		add_reset(out, r);
		break;
	case EVENT_UNKNOWN: /* of a newer daemon */
		buf_printf(out, " %s", event);
		break;
	}
}
