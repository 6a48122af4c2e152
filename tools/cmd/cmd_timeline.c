/* SPDX-License-Identifier: MIT */
/* fence timeline: draw who held a path when, and who was refused. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "client/list.h"
#include "wire/number.h"
#include "out/report.h"
#include "timeline/timeline_draw.h"
#include "parse/when.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define WIDTH_MIN     40
#define WIDTH_MAX     400

static int screen_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = WIDTH_DEFAULT;

	if (!isatty(STDOUT_FILENO))
		return WIDTH_DEFAULT;
	if (columns && atoi(columns) > 0)
		width = atoi(columns);
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width > WIDTH_MAX ? WIDTH_MAX : width;
}

static int choose_style(const struct args *a, struct timeline_style *out)
{
	const char *when = args_get(a, "color");

	out->width = screen_width();
	setlocale(LC_CTYPE, "");
	out->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	if (!when || strcmp(when, "auto") == 0)
		out->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	else if (strcmp(when, "always") == 0)
		out->color = true;
	else if (strcmp(when, "never") != 0)
		return report_usage(a, "\"%s\" is not one of auto, always and never", when);
	return EXIT_OK;
}

static int choose_since(const struct args *a, struct timeline *t)
{
	const char *since = args_get(a, "since");

	t->now = when_now();
	t->since_revision = -1;
	if (!since)
		return EXIT_OK;
	if (number_is_token(since)) {
		t->since_revision = strtoll(since, NULL, 10);
		return EXIT_OK;
	}
	if (when_parse(since, t->now, &t->since) < 0)
		return report_usage(a, "\"%s\" is neither a revision nor a time: %s", since,
				    WHEN_FORMS);
	return EXIT_OK;
}

static int write_svg(const struct args *a, const struct timeline *t, const char *name)
{
	FILE *to;
	int err = 0;

	if (strcmp(name, "-") == 0) {
		timeline_write_svg(t, stdout);
		return EXIT_OK;
	}
	to = fopen(name, "we");
	if (!to)
		return report_error(a, name, -errno, "%s", strerror(errno));
	timeline_write_svg(t, to);
	if (fflush(to) != 0)
		err = -errno;
	if (fclose(to) != 0 && !err)
		err = -errno;
	return err ? report_error(a, name, err, "%s", strerror(-err)) : EXIT_OK;
}

static int draw(const struct args *a, const struct target *target, struct ctl_client *c,
		struct timeline *t, const struct timeline_style *style)
{
	int code = timeline_load(a, target, c, t);

	if (code)
		return code;
	if (!t->n_events && !t->left_out)
		return report_error(a, a->rest[0], -ENOENT, "nothing is recorded for this path");
	timeline_arrange(t);
	timeline_make_rows(t);
	if (args_has(a, "svg"))
		return write_svg(a, t, args_get(a, "svg"));
	timeline_print(t, style);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_target struct target target = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_timeline struct timeline t = { 0 };
	struct timeline_style style = { 0 };
	int code = choose_style(a, &style);

	if (code == EXIT_OK)
		code = choose_since(a, &t);
	if (code == EXIT_OK)
		code = client_open(a, a->rest[0], &target, &c);
	if (code == EXIT_OK)
		code = draw(a, &target, &c, &t, &style);
	return code;
}

static const char *const usage[] = { "[--since WHEN] [--color WHEN] [--svg FILE] PATH", NULL };
static const struct option_spec options[] = {
	{ "since", 's', "WHEN",
	  "only what happened after this revision, or since this time (\"10m ago\"); default: "
	  "the last 400 events" },
	{ "svg", 0, "FILE", "write a picture to FILE, or - for standard output" },
	{ "color", 0, "WHEN", "auto (the default: if it is a terminal), always or never" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_timeline = {
	.name = "timeline",
	.summary = "Draw who held a path when, and who was refused",
	.usage = usage,
	.about = "Time runs downwards, and each owner with its token has a lane that shows how\n"
		 "long it held the lease, what it committed, and where it was refused by whom.\n"
		 "Shown is what happened at the path, beneath it or on a directory above it.\n"
		 "Long gaps are shortened, and say how long they were.",
	.examples = "fence timeline /mnt/shared/reports\n"
		    "fence timeline --since \"2h ago\" --svg incident.svg /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
