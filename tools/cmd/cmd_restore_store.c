/* SPDX-License-Identifier: MIT */
/* fence restore-store: make a store of a backup, with all fences it held. Layer: tools. */
#include "cmd/cmd.h"

#include "out/backup_report.h"
#include "base/cleanup.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "wire/seconds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_json(struct backup_report *r, const struct restore_result *b, const char *path)
{
	char number[24];

	json_key(&r->json, "store");
	json_string(&r->json, path);
	json_key(&r->json, "uuid");
	json_string(&r->json, b->uuid);
	json_key(&r->json, "restored_from");
	json_string(&r->json, b->uuid_before);
	backup_report_number(r, "revision", b->copied.revision);
	backup_report_number(r, "at", b->copied.at);
	backup_report_number(r, "blobs", b->copied.blobs);
	backup_report_number(r, "bytes", b->copied.bytes);
	snprintf(number, sizeof(number), "%" PRId64, b->token_before);
	json_key(&r->json, "token_before");
	json_string(&r->json, number);
	snprintf(number, sizeof(number), "%" PRId64, b->token_after);
	json_key(&r->json, "token_after");
	json_string(&r->json, number);
	backup_report_number(r, "leases", b->leases);
	backup_report_number(r, "sessions", b->sessions);
	json_close(&r->json, '}');
	json_print(&r->json);
}

/* What an operator must know: what may have gone back, and what has not. */
static void print_text(const struct restore_result *b, const char *path)
{
	auto_buf struct buf at = { 0 };
	char seconds[SECONDS_ROOM];

	seconds_format(seconds, b->copied.at, 9);
	display_time(&at, seconds);
	printf("%s is the store as of revision %" PRId64 ", made %s.\n"
	       "What has gone back: whatever was committed after that, and fences that were raised "
	       "after that\n"
	       "without a later claim. Jobs that were told \"ok\" since then have to publish again.\n"
	       "What has not: tokens that this store issues begin above %" PRId64
	       ", higher than any that was\n"
	       "issued before (the counter of the backup was %" PRId64
	       "). A job that takes a lease now shuts\n"
	       "out all that held one before. Tokens from elsewhere are not known here: claim the "
	       "paths they are\n"
	       "used on with the newest ones before old writers can come back.\n"
	       "%" PRId64 " leases and %" PRId64
	       " sessions are gone. The store has a new UUID, %s; the one before was\n"
	       "%s. Never serve both.\n",
	       path, b->copied.revision, at.s, b->token_after, b->token_before, b->leases,
	       b->sessions, b->uuid, b->uuid_before);
}

static int run(const struct args *a)
{
	const char *src = a->rest[0], *path = a->rest[1];
	struct backup_report report;
	struct backup_options opt;
	struct restore_result result;
	struct errmsg err = { "" };
	int r, code = EXIT_OK;

	backup_report_begin(&report, a, &opt);
	r = backup_restore(src, path, &opt, &result, &err);
	backup_report_end(&report);
	if (r == -EINTR) {
		report_hint("interrupted; %s is not a store yet, and the same command continues",
			    path);
		code = EXIT_FAILED;
	} else if (r) {
		report_error(a, path, r, "%s", *err.s ? err.s : strerror(-r));
		code = r == -EMEDIUMTYPE ? EXIT_NOT_FENCEFS :
		       r == -EUCLEAN	 ? EXIT_DAMAGE :
					   EXIT_FAILED;
	} else if (args_has(a, "json")) {
		print_json(&report, &result, path);
	} else {
		print_text(&result, path);
	}
	if (!r && result.copied.lost) {
		report_hint("%" PRId64
			    " blobs are damaged or missing in the backup: fence fsck names the "
			    "versions that need them",
			    result.copied.lost);
		code = EXIT_DAMAGE;
	}
	json_fini(&report.json);
	return code;
}

static const char *const usage[] = { "[--link] [--json] BACKUP STORE", NULL };
static const struct option_spec options[] = {
	{ "link", 0, NULL, "hard links instead of copies, on one file system" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 20, 0 };

const struct verb verb_restore_store = {
	.name = "restore-store",
	.summary = "Make a store from a backup, with all fences it held",
	.usage = usage,
	.about = "BACKUP is a directory made by fence backup; STORE is made, or is empty, or\n"
		 "was left by an interrupted restore. All blobs are compared with their hashes.\n"
		 "Leases and sessions of the backup are dropped. The token counter is raised by\n"
		 "2^32, so that tokens issued from now on are above all that the lost store can\n"
		 "have issued since the backup. Prints what may have gone back.",
	.examples = "fence restore-store /backup/shared /srv/store",
	.options = options,
	.exits = exits,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
