/* SPDX-License-Identifier: MIT */
/* fence rejects: list what was refused, and recover its data. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "client/list.h"
#include "client/reject_save.h"
#include "out/report.h"

#include <stdio.h>
#include <string.h>

static void add_named(struct buf *out, const char *before, const char *value)
{
	if (!value)
		return;
	buf_str(out, before);
	display_name(out, value);
}

/* "token 41 of job-a refused at commit (ESTALE): 42 stands on reports, set by job-b" */
static void add_story(struct buf *out, const struct reply *r)
{
	const char *path = reply_get(r, "path");
	const char *held = reply_get(r, "held_path");

	add_named(out, "token ", reply_get(r, "token"));
	add_named(out, " of ", reply_get(r, "owner"));
	add_named(out, " refused at ", reply_get(r, "stage"));
	add_named(out, ": ", reply_get(r, "why"));
	if (!reply_get(r, "highest"))
		return;
	add_named(out, ", ", reply_get(r, "highest"));
	if (held && (!path || strcmp(held, path) != 0))
		add_named(out, " was set on ", held);
	else
		buf_str(out, " was set");
	add_named(out, " by ", reply_get(r, "held_by"));
}

struct people {
	const char *mount;
	int n;
};

static void print_reject(void *arg, const struct reply *r)
{
	struct people *to = arg;
	auto_buf struct buf out = { 0 };
	const char *data = reply_get(r, "data");
	const char *size = reply_get(r, "size");

	add_named(&out, "", reply_get(r, "id"));
	buf_str(&out, "  ");
	display_time(&out, reply_get(r, "at") ? reply_get(r, "at") : "-");
	add_named(&out, "  ", reply_get(r, "path"));
	buf_str(&out, "\n   ");
	add_story(&out, r);
	if (data) {
		buf_printf(&out, "\n   %s bytes kept in %s/", size ? size : "?",
			   strcmp(to->mount, "/") == 0 ? "" : to->mount);
		display_name(&out, data);
	}
	puts(out.s);
	to->n++;
}

static int list(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	const char *path = a->n ? a->rest[0] : NULL;
	struct list_query q = {
		.args = a, .ctl = &c, .target = &t, .kind = "reject", .by_path = path != NULL
	};
	struct people people = { .n = 0 };
	int n;
	int code = client_open(a, path, &t, &c);

	if (code)
		return code;
	if (args_has(a, "json"))
		return list_print_json(&q, &n);
	people.mount = t.mount;
	return list_each(&q, print_reject, &people);
}

static int run(const struct args *a)
{
	if (!args_has(a, "save")) {
		if (args_has(a, "force"))
			return report_usage(a, "--force belongs to --save");
		return list(a);
	}
	if (a->n != 1)
		return report_usage(a, "--save needs the FILE to write, or - for standard output");
	if (args_has(a, "json"))
		return report_usage(a, "--save writes the content as it is, not JSON");
	return reject_save(a, args_get(a, "save"), a->rest[0]);
}

static const char *const usage[] = {
	"[-m DIR] [--json] [PATH]",
	"[-m DIR] [--force] --save ID FILE|-",
	NULL,
};
static const struct option_spec options[] = {
	{ "save", 's', "ID", "write what was refused under this ID to FILE" },
	{ "force", 'f', NULL, "overwrite FILE" },
	OPTION_MOUNT,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_rejects = {
	.name = "rejects",
	.summary = "List what was refused, and recover its data",
	.usage = usage,
	.about = "Shows who was refused, with which token against which, at which stage, and\n"
		 "where the data is. Only root and the user who was refused can read the data.\n"
		 "With PATH, only what was refused at or beneath it.",
	.examples = "fence rejects /mnt/shared/reports\n"
		    "fence rejects --save 7 recovered.csv",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
