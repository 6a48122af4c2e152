/* SPDX-License-Identifier: MIT */
/* fence log: list the versions of a path, newest first. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "client/list.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct table_column columns[] = {
	{ "version", "VERSION", 1 }, { "revision", "REVISION", 1 }, { "at", "TIME", 0 },
	{ "kind", "KIND", 0 },	     { "size", "SIZE", 1 },	    { "token", "TOKEN", 1 },
	{ "owner", "OWNER", 0 },     { "hash", "HASH", 0 },	    { NULL, NULL, 0 },
};

struct log {
	struct table table; /* owned */
	char removed[32];   /* the revision that removed the newest version; "": it is there */
	int n;
};

static void add_version(void *arg, const struct reply *r)
{
	struct log *log = arg;
	const char *current = reply_get(r, "current");
	const char *until = reply_get(r, "until");

	if (!log->n++ && current && strcmp(current, "0") == 0 && until)
		snprintf(log->removed, sizeof(log->removed), "%s", until);
	table_add(&log->table, r);
}

static int print_people(const struct list_query *q, int *out_n)
{
	struct log log = { .n = 0 };
	int code;

	table_init(&log.table, columns);
	code = list_each(q, add_version, &log);
	if (*log.removed)
		printf("(gone since revision %s)\n", log.removed);
	table_print(&log.table);
	table_fini(&log.table);
	*out_n = log.n;
	return code;
}

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	struct list_query q = {
		.args = a, .ctl = &c, .target = &t, .kind = "version", .by_path = true
	};
	int n = 0;
	int code = client_open(a, a->rest[0], &t, &c);

	if (code)
		return code;
	code = args_has(a, "json") ? list_print_json(&q, &n) : print_people(&q, &n);
	if (code == EXIT_OK && n == 0)
		return report_error(a, a->rest[0], -ENOENT, "never had a version");
	return code;
}

static const char *const usage[] = { "[--json] PATH", NULL };
static const struct option_spec options[] = { OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_log = {
	.name = "log",
	.summary = "List the versions of a path, newest first",
	.usage = usage,
	.about = "PATH need not exist any more. The versions of a directory are changes of its\n"
		 "mode, owner or attributes; fence timeline shows what happened beneath it.\n"
		 "HASH is the XXH3-128 of the content.",
	.examples = "fence log /mnt/shared/reports/a.csv",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
