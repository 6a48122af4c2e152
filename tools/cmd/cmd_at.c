/* SPDX-License-Identifier: MIT */
/* fence at: print the revision of the tree at a time. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "out/report.h"
#include "parse/when.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int add_time(const struct args *a, struct line *req)
{
	const char *time = args_get(a, "time");
	int64_t at = 0;

	if (!time)
		return EXIT_OK;
	if (when_parse(time, when_now(), &at) < 0)
		return report_usage(a, "\"%s\" is not a time: %s", time, WHEN_FORMS);
	if (at < 0)
		return report_usage(a, "\"%s\" is before 1970", time);
	line_seconds(req, "time", at, 9);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *revision;
	int code;

	line_begin(&req, "at");
	code = add_time(a, &req);
	if (code == EXIT_OK)
		code = client_open(a, a->rest[0], &t, &c);
	if (code == EXIT_OK)
		code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	revision = reply_get(&r, "revision");
	if (!revision)
		return report_errno(a, a->rest[0], -EPROTO);
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else
		puts(revision);
	return EXIT_OK;
}

static const char *const usage[] = { "[--json] [-T WHEN] MOUNT", NULL };
static const struct option_spec options[] = {
	{ "time", 'T', "WHEN",
	  "such as 2026-11-30T11:02:03Z, \"2026-11-30 11:02\" and 11:02 (local time), \"10m ago\","
	  " or seconds since 1970; default: now" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_at = {
	.name = "at",
	.summary = "Print the revision of the tree at a time",
	.usage = usage,
	.about = "MOUNT is any path in the mount. The whole tree as it was at that time is in\n"
		 "MOUNT/.fence/at/REVISION/.",
	.examples = "fence at /mnt/shared --time \"10m ago\"\n"
		    "ls /mnt/shared/.fence/at/$(fence at /mnt/shared)/",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
