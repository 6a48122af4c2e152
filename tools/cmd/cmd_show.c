/* SPDX-License-Identifier: MIT */
/* fence show: show a path's version, token and fence. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/display.h"
#include "out/field.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void print_line(const char *title, const char *text)
{
	printf("%-9s %s\n", title, text);
}

static void print_field(const struct reply *r, const char *key)
{
	auto_buf struct buf text = { 0 };
	const char *value = reply_get(r, key);

	if (!value)
		return;
	field_display(&text, key, value);
	print_line(key, buf_text(&text));
}

static void print_size(const struct reply *r)
{
	const char *size = reply_get(r, "size");
	auto_buf struct buf text = { 0 };
	auto_buf struct buf rough = { 0 };

	if (!size)
		return;
	field_display(&rough, "size", size);
	buf_str(&text, size);
	if (strcmp(rough.s, size) != 0)
		buf_printf(&text, " (%s)", rough.s);
	print_line("size", text.s);
}

/* Who shuts out what: "42, set by job-b at 2026-11-30 11:02:03 +0100". */
static void print_fence(const struct reply *r)
{
	const char *highest = reply_get(r, "highest");
	const char *path = reply_get(r, "path");
	const char *held = reply_get(r, "held_path");
	const char *by = reply_get(r, "set_by");
	const char *at = reply_get(r, "set_at");
	auto_buf struct buf text = { 0 };

	if (!highest) {
		print_line("fence", "none: any token can claim this path");
		return;
	}
	buf_str(&text, highest);
	buf_str(&text, ", set");
	if (held && (!path || strcmp(held, path) != 0)) {
		buf_str(&text, " on ");
		display_name(&text, held);
	}
	if (by) {
		buf_str(&text, " by ");
		display_name(&text, by);
	}
	if (at) {
		buf_str(&text, " at ");
		display_time(&text, at);
	}
	print_line("fence", text.s);
}

static void print_rest(const struct reply *r)
{
	static const char *const shown[] = { "path",   "kind",	    "version", "revision",
					     "token",  "size",	    "highest", "set_by",
					     "set_at", "held_path", NULL };

	for (int i = 0; i < r->n; i++) {
		bool known = false;

		for (const char *const *s = shown; *s; s++)
			known |= strcmp(*s, r->fields[i].key) == 0;
		if (!known)
			print_field(r, r->fields[i].key);
	}
}

static void print_people(const struct reply *r)
{
	print_field(r, "path");
	print_field(r, "kind");
	print_field(r, "version");
	print_field(r, "revision");
	print_field(r, "token");
	print_size(r);
	print_fence(r);
	print_rest(r);
}

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	int code = client_open(a, a->rest[0], &t, &c);

	if (code)
		return code;
	line_begin(&req, "stat");
	line_field(&req, "path", t.path);
	code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else
		print_people(&r);
	return 0;
}

static const char *const usage[] = { "[--json] PATH", NULL };
static const struct option_spec options[] = { OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_show = {
	.name = "show",
	.summary = "Show the version, token and fence of a path",
	.usage = usage,
	.about = "PATH need not exist: a fence outlives what it guards.",
	.examples = "fence show /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
