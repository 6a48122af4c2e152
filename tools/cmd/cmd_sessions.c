/* SPDX-License-Identifier: MIT */
/* fence sessions: list the open sessions. Layer: tools. */
#include "cmd/cmd.h"

#include "client/list.h"

static const struct table_column columns[] = {
	{ "id", "SESSION", 0 },	 { "state", "STATE", 0 },   { "token", "TOKEN", 1 },
	{ "owner", "OWNER", 0 }, { "opened", "OPENED", 0 }, { "staged", "STAGED", 1 },
	{ "path", "PATH", 0 },	 { NULL, NULL, 0 },
};

static int run(const struct args *a)
{
	return list_run(a, "session", columns);
}

static const char *const usage[] = { "[--json] [-m DIR] [PATH]", NULL };
static const struct option_spec options[] = { OPTION_MOUNT, OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_sessions = {
	.name = "sessions",
	.summary = "List the open sessions",
	.usage = usage,
	.about = "With PATH, those that claim it or something beneath it. Without PATH, those\n"
		 "of the mount that the working directory is in, or of the only mount there is.",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
