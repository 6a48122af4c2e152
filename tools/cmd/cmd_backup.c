/* SPDX-License-Identifier: MIT */
/* fence backup: back a store up, mounted or not. Layer: tools. */
#include "cmd/cmd.h"

#include "out/backup_report.h"
#include "base/cleanup.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "client/store_target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_json(struct backup_report *r, const struct backup_result *b, const char *dest)
{
	json_key(&r->json, "backup");
	json_string(&r->json, dest);
	backup_report_number(r, "revision", b->revision);
	backup_report_number(r, "blobs", b->blobs);
	backup_report_number(r, "bytes", b->bytes);
	backup_report_number(r, "new_blobs", b->new_blobs);
	backup_report_number(r, "new_bytes", b->new_bytes);
	backup_report_number(r, "removed", b->removed);
	json_close(&r->json, '}');
	json_print(&r->json);
}

static void print_text(const struct backup_result *b, const char *dest)
{
	auto_buf struct buf fresh = { 0 }, all = { 0 };

	display_size(&fresh, (uint64_t)b->new_bytes);
	display_size(&all, (uint64_t)b->bytes);
	printf("%s holds revision %" PRId64 ": %" PRId64 " blobs (%s), of which %" PRId64
	       " (%s) are new\n",
	       dest, b->revision, b->blobs, all.s, b->new_blobs, fresh.s);
}

static int finish(const struct args *a, struct backup_report *r, const struct backup_result *b,
		  const char *dest)
{
	backup_report_end(r);
	if (args_has(a, "json"))
		print_json(r, b, dest);
	else if (args_has(a, "verbose"))
		print_text(b, dest);
	if (!b->lost)
		return EXIT_OK;
	report_hint("%" PRId64
		    " blobs are damaged or missing in the store, and not in the backup: fence fsck "
		    "--data",
		    b->lost);
	return EXIT_DAMAGE;
}

static int run(const struct args *a)
{
	auto_store_target struct store_target t = { 0 };
	const char *dest = a->rest[1];
	struct backup_report report;
	struct backup_options opt;
	struct backup_result result = { 0 };
	struct errmsg err = { "" };
	int code = store_target_open(a, a->rest[0], &t), r;

	if (code)
		return code;
	backup_report_begin(&report, a, &opt);
	r = backup_make(t.s, dest, &opt, &result, &err);
	if (r == 0) {
		code = finish(a, &report, &result, dest);
	} else {
		backup_report_end(&report);
		code = exit_code_of(r) == EXIT_DAMAGE ? EXIT_DAMAGE : EXIT_FAILED;
		if (r == -EINTR)
			report_hint("interrupted; the backup in %s is still the old one, and what "
				    "was copied will not be copied again",
				    dest);
		else
			report_error(a, dest, r, "%s", *err.s ? err.s : strerror(-r));
	}
	json_fini(&report.json);
	return code;
}

static const char *const usage[] = { "[--link] [-v] [--json] STORE|MOUNT DEST", NULL };
static const struct option_spec options[] = {
	{ "link", 0, NULL, "hard links instead of copies, on one file system" },
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 20, 0 };

const struct verb verb_backup = {
	.name = "backup",
	.summary = "Back a store up, mounted or not",
	.usage = usage,
	.about = "DEST is a directory, which is made or brought up to date: only new blobs are\n"
		 "copied (sharing their blocks if the file system can) and compared with their\n"
		 "hashes. The backup is of one revision, whatever is committed meanwhile, and\n"
		 "DEST is a whole backup at every moment: if this is interrupted, it is still\n"
		 "the old one. Nothing but fence backup should write to DEST.\n"
		 "\n"
		 "With --link, blobs are not copied at all. That guards against removal but not\n"
		 "against damage, since both names lead to the same file.",
	.examples = "fence backup -v /mnt/shared /backup/shared",
	.options = options,
	.exits = exits,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
