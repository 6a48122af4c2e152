/* SPDX-License-Identifier: MIT */
/* fence init: make a new, empty store. Layer: tools. */
#include "cmd/cmd.h"

#include "out/exit_code.h"
#include "out/json.h"
#include "out/report.h"
#include "store/store.h"
#include "store/store_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_made(const struct args *a, const char *path)
{
	auto_json struct json j = { 0 };

	if (args_has(a, "json")) {
		json_open(&j, '{');
		json_key(&j, "store");
		json_string(&j, path);
		json_close(&j, '}');
		json_print(&j);
	} else if (args_has(a, "verbose")) {
		printf("made the store %s; now mount it: fence mount %s MOUNTPOINT\n", path, path);
	}
}

static int run(const struct args *a)
{
	const char *path = a->rest[0];
	struct errmsg err = { "" };
	int r = store_create(path, &err);

	if (r < 0) {
		/*
		 * None of them is about a fence; what errno became which sentence is the store's
		 * business.
		 */
		report_error(a, NULL, r, "%s", *err.s ? err.s : strerror(-r));
		return EXIT_FAILED;
	}
	print_made(a, path);
	return EXIT_OK;
}

static const char *const usage[] = { "[-v] [--json] STORE", NULL };
static const struct option_spec options[] = { OPTION_VERBOSE, OPTION_JSON, OPTION_END };
static const int exits[] = { 0 };

const struct verb verb_init = {
	.name = "init",
	.summary = "Make a new, empty store",
	.usage = usage,
	.about = "STORE is a directory on a local file system. It is made if it is missing; if\n"
		 "it exists, it must be empty. The root of the new tree belongs to you and has\n"
		 "mode 0755, so other users need a directory of their own before they can\n"
		 "publish: see PERMISSIONS in fencefs(8).",
	.examples = "fence init /srv/store",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
