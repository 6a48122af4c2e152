/* SPDX-License-Identifier: MIT */
/* fence version: print the version of this tool. Layer: tools. */
#include "cmd/cmd.h"

#include "parse/args.h"
#include "base/version.h"
#include "out/json.h"

#include <stdio.h>

static int run(const struct args *a)
{
	auto_json struct json j = { 0 };

	if (!args_has(a, "json")) {
		printf("fence %s\n", version());
		return 0;
	}
	json_open(&j, '{');
	json_key(&j, "version");
	json_string(&j, version());
	json_close(&j, '}');
	json_print(&j);
	return 0;
}

static const char *const usage[] = { "[--json]", NULL };
static const struct option_spec options[] = { OPTION_JSON, OPTION_END };
static const int exits[] = { 0 };

const struct verb verb_version = {
	.name = "version",
	.summary = "Print the version of this tool",
	.usage = usage,
	.options = options,
	.exits = exits,
	.run = run,
};
