/* SPDX-License-Identifier: MIT */
/* fence metrics: print what a mount counts, as Prometheus reads it. Layer: tools. */
#include "cmd/cmd.h"

#include "wire/duration.h"
#include "out/exit_code.h"
#include "out/metric_lines.h"
#include "client/probe.h"
#include "out/report.h"
#include "parse/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What there is to say of a mount that does not answer; HELP is that of the daemon. */
static void add_down(struct buf *out, const char *mount)
{
	static const char up[] =
		"# HELP fencefs_up Whether the mount answers; if it does not, fence metrics "
		"writes 0.\n"
		"# TYPE fencefs_up gauge\n"
		"fencefs_up 0\n";

	metric_lines_relabel(out, up, "mount", mount);
}

static int write_out(const struct args *a, const struct buf *text)
{
	const char *file = args_get(a, "textfile");
	int r;

	if (!file) {
		fputs(text->s, stdout);
		return EXIT_OK;
	}
	r = text_file_replace(file, text->s, text->len);
	return r < 0 ? report_error(a, file, r, "%s; the old file is unchanged", strerror(-r)) :
		       EXIT_OK;
}

static int run(const struct args *a)
{
	const char *given = a->n ? a->rest[0] : NULL;
	const char *limit = args_get(a, "timeout");
	auto_probe struct probe p = { .mount = NULL };
	auto_buf struct buf out = { 0 };
	int64_t timeout = PROBE_TIMEOUT_NS;
	int r, code;

	if (limit && (duration_parse(limit, &timeout) < 0 || timeout == 0))
		return report_usage(a, "\"%s\" is not a time such as 5s", limit);
	r = probe_read(given, "metrics", timeout, &p);
	if (r < 0 && !p.mount)
		return report_error(a, given, r, "%s", p.err.s);
	if (r < 0)
		add_down(&out, p.mount);
	else
		metric_lines_relabel(&out, p.text.s, "mount", p.mount);
	code = write_out(a, &out);
	if (r < 0)
		code = report_error(a, p.mount, r, "%s", p.err.s);
	return r == -ETIMEDOUT ? EXIT_TIMED_OUT : code;
}

static const char *const usage[] = { "[--textfile FILE] [--timeout TIME] [MOUNT]", NULL };
static const struct option_spec options[] = {
	{ "textfile", 0, "FILE",
	  "write FILE, completely or not at all, instead of standard output" },
	{ "timeout", 0, "TIME", "how long the mount may take to answer; default: 10s" },
	OPTION_END,
};
static const int exits[] = { 10, 12, 0 };

const struct verb verb_metrics = {
	.name = "metrics",
	.summary = "Print the metrics of a mount, for Prometheus",
	.usage = usage,
	.about = "Prints MOUNT/.fence/metrics, with the label mount added to each sample. FILE\n"
		 "is for the textfile collector of a node exporter: one FILE for each mount,\n"
		 "called NAME.prom. If the mount does not answer, or nothing is mounted there,\n"
		 "the text is fencefs_up 0 for this mount, and the exit status is not 0. If\n"
		 "FILE cannot be written, the old one is unchanged.",
	.examples = "fence metrics /mnt/shared\n"
		    "fence metrics --textfile /var/lib/node_exporter/shared.prom /mnt/shared",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
