/* SPDX-License-Identifier: MIT */
/* fence df: say what takes up the space of a store. Layer: tools. */
#include "cmd/cmd.h"

#include "base/cleanup.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/json.h"
#include "out/report.h"
#include "store/gc/usage.h"
#include "client/store_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *name, *what;
	const struct usage_part *part;
};

static void print_json(const struct row *rows, const struct usage *u, const char *store)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	json_key(&j, "store");
	json_string(&j, store);
	for (const struct row *r = rows; r->name; r++) {
		json_key(&j, r->name);
		json_open(&j, '{');
		json_key(&j, "count");
		json_number(&j, r->part->n);
		json_key(&j, "bytes");
		json_number(&j, r->part->bytes);
		json_close(&j, '}');
	}
	json_key(&j, "free");
	json_number(&j, u->free_bytes);
	json_key(&j, "total");
	json_number(&j, u->total_bytes);
	json_close(&j, '}');
	json_print(&j);
}

static void print_text(const struct row *rows, const struct usage *u)
{
	auto_buf struct buf available = { 0 };

	for (const struct row *r = rows; r->name; r++) {
		auto_buf struct buf size = { 0 };

		display_size(&size, (uint64_t)r->part->bytes);
		printf("%-9s %10s  %8" PRId64 "  %s\n", r->name, size.s, r->part->n, r->what);
	}
	display_size(&available, (uint64_t)u->free_bytes);
	printf("%-9s %10s            of the file system\n", "free", available.s);
}

static int run(const struct args *a)
{
	auto_store_target struct store_target t = { 0 };
	struct usage u;
	const struct row rows[] = {
		{ "live", "blobs of current versions", &u.live },
		{ "history", "blobs of past versions only", &u.history },
		{ "orphans", "blobs that no version refers to; fence gc removes them", &u.orphans },
		{ "staging", "files of open sessions", &u.staging },
		{ "database", "files; small blobs are in there", &u.database },
		{ NULL, NULL, NULL },
	};
	int code = store_target_open(a, a->rest[0], &t), r;

	if (code)
		return code;
	r = usage_read(t.s, &u);
	if (r)
		return report_error(a, t.path, r, "%s", strerror(-r));
	if (args_has(a, "json"))
		print_json(rows, &u, t.path);
	else
		print_text(rows, &u);
	return EXIT_OK;
}

static const char *const usage[] = { "[--json] STORE|MOUNT", NULL };
static const struct option_spec options[] = { OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 20, 0 };

const struct verb verb_df = {
	.name = "df",
	.summary = "Show what takes up the space of a store",
	.usage = usage,
	.about = "Blobs that several versions share are counted once. Only root and the user\n"
		 "who serves the store may read its directory.",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
