/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include "client.h"
#include "list.h"

static const struct table_column columns[] = {
	{ "token", "TOKEN", 1 }, { "owner", "HOLDER", 0 },    { "remaining", "REMAINING", 1 },
	{ "ttl", "TTL", 1 },	 { "waiters", "WAITING", 1 }, { "path", "PATH", 0 },
	{ NULL, NULL, 0 },
};

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	const char *path = a->n ? a->rest[0] : NULL;
	struct list_query q = {
		.args = a, .ctl = &c, .target = &t, .kind = "lease", .by_path = path != NULL
	};
	int n;
	int code = client_open(a, path, &t, &c);

	if (code)
		return code;
	return args_has(a, "json") ? list_print_json(&q, &n) : list_print_table(&q, columns, &n);
}

static const char *const usage[] = { "[--json] [-m DIR] [PATH]", NULL };
static const struct option_spec options[] = { OPTION_MOUNT, OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_leases = {
	.name = "leases",
	.summary = "List who holds what, for how long, and how many wait",
	.usage = usage,
	.about =
		"Times are seconds. With PATH, the leases on it and beneath it. Without, those of the mount that\n"
		"the working directory is in, or of the only mount there is.",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
