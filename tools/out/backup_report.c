/* SPDX-License-Identifier: MIT */
/* See backup_report.h. Layer: tools. */
#include "out/backup_report.h"

#include "out/display.h"
#include "out/report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int show(void *arg, int64_t done, int64_t total)
{
	struct backup_report *r = arg;

	if (total > 0 && (uint64_t)done > r->progress.done) {
		r->progress.total = (uint64_t)total;
		progress_add(&r->progress, (uint64_t)done - r->progress.done);
	}
	return stop ? -EINTR : 0;
}

static void lost(void *arg, const char *path, int64_t version, const struct blob_id *id,
		 const char *why)
{
	struct backup_report *r = arg;

	if (args_has(r->args, "json")) {
		json_line(&r->json);
		json_open(&r->json, '{');
		json_key(&r->json, "path");
		json_string(&r->json, path);
		json_key(&r->json, "version");
		json_number(&r->json, version);
		json_key(&r->json, "blob");
		json_string(&r->json, blob_hex(id->b).s);
		json_key(&r->json, "why");
		json_string(&r->json, why);
		json_close(&r->json, '}');
		return;
	}
	if (path[0])
		report_hint("%s@%" PRId64 " is not in it: blob %s: %s", path, version,
			    blob_hex(id->b).s, why);
	else
		report_hint("blob %s is not in it: %s", blob_hex(id->b).s, why);
}

void backup_report_begin(struct backup_report *r, const struct args *a, struct backup_options *opt)
{
	struct sigaction sa = { .sa_handler = on_signal };

	*r = (struct backup_report){ .args = a };
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	progress_init(&r->progress, a->verb->name, 0);
	json_open(&r->json, '{');
	json_key(&r->json, "lost");
	json_open(&r->json, '[');
	*opt = (struct backup_options){
		.link = args_has(a, "link"),
		.progress = show,
		.lost = lost,
		.arg = r,
	};
}

void backup_report_end(struct backup_report *r)
{
	progress_fini(&r->progress);
	json_close(&r->json, ']');
}

void backup_report_number(struct backup_report *r, const char *key, int64_t n)
{
	json_key(&r->json, key);
	json_number(&r->json, n);
}
