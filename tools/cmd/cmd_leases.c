/* SPDX-License-Identifier: MIT */
/* fence leases: list who holds what, for how long, and how many wait. Layer: tools. */
#include "cmd/cmd.h"

#include "client/list.h"

static const struct table_column columns[] = {
	{ "token", "TOKEN", 1 }, { "owner", "HOLDER", 0 },    { "remaining", "REMAINING", 1 },
	{ "ttl", "TTL", 1 },	 { "waiters", "WAITING", 1 }, { "path", "PATH", 0 },
	{ NULL, NULL, 0 },
};

static int run(const struct args *a)
{
	return list_run(a, "lease", columns);
}

static const char *const usage[] = { "[--json] [-m DIR] [PATH]", NULL };
static const struct option_spec options[] = { OPTION_MOUNT, OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_leases = {
	.name = "leases",
	.summary = "List who holds what, for how long, and how many wait",
	.usage = usage,
	.about = "Times are in seconds. With PATH, the leases on it and beneath it. Without\n"
		 "PATH, those of the mount that the working directory is in, or of the only\n"
		 "mount there is.",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
