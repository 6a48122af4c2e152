/* SPDX-License-Identifier: MIT */
/*
 * What fence backup and fence restore-store have in common: progress, interruption, lost content.
 */
#ifndef FENCE_TOOLS_OUT_BACKUP_REPORT_H
#define FENCE_TOOLS_OUT_BACKUP_REPORT_H

#include "parse/args.h"
#include "out/json.h"
#include "out/progress.h"
#include "store/backup/backup.h"

struct backup_report {
	const struct args *args;
	struct progress progress;
	struct json json; /* with --json: open, in an array of lost content */
};

/*
 * Also catches SIGINT and SIGTERM, which end the copying between two pieces. @opt is set up for it.
 */
void backup_report_begin(struct backup_report *r, const struct args *a, struct backup_options *opt);
/* After the copying: the progress line goes, and the array ends. */
void backup_report_end(struct backup_report *r);
void backup_report_number(struct backup_report *r, const char *key, int64_t n);

#endif
