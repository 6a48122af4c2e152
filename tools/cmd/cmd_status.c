/* SPDX-License-Identifier: MIT */
/*
 * fence status: a screen for people, and a line for monitors. The latter is made from
 * .fence/metrics: what is wrong is a sample fencefs_problem there, with the value 1.
 */
#include "cmd/cmd.h"

#include "out/display.h"
#include "wire/duration.h"
#include "out/exit_code.h"
#include "out/json.h"
#include "out/metric_lines.h"
#include "client/probe.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum health { HEALTH_OK, HEALTH_WARNING, HEALTH_CRITICAL };

static const char *const health_words[] = { "OK", "WARNING", "CRITICAL" };
static const char *const health_names[] = { "ok", "warning", "critical" };

/* As --check ends; see `about` below. */
static int code_of(enum health health, int err)
{
	if (err == -ETIMEDOUT)
		return EXIT_TIMED_OUT;
	if (err < 0)
		return EXIT_NOT_FENCEFS;
	if (health == HEALTH_CRITICAL)
		return EXIT_DAMAGE;
	return health == HEALTH_WARNING ? EXIT_FAILED : EXIT_OK;
}

struct problem {
	char name[64];
	enum health severity;
};

/* The next problem in *@at, which moves behind it. */
static bool next_problem(const char **at, struct problem *out)
{
	struct metric_line line;
	char severity[32];

	while (metric_line_next(*at, &line)) {
		*at = line.after;
		if (strncmp(line.name, "fencefs_problem{", 16) != 0 ||
		    strcmp(line.value, "1") != 0 ||
		    !metric_line_label(&line, "problem", out->name, sizeof(out->name)) ||
		    !metric_line_label(&line, "severity", severity, sizeof(severity)))
			continue;
		out->severity = strcmp(severity, "warning") == 0 ? HEALTH_WARNING : HEALTH_CRITICAL;
		return true;
	}
	return false;
}

static enum health health_of(const char *text)
{
	enum health worst = HEALTH_OK;
	struct problem p;

	while (next_problem(&text, &p))
		if (p.severity > worst)
			worst = p.severity;
	return worst;
}

static const struct {
	const char *metric, *name, *unit;
} shown[] = {
	{ "fencefs_revision", "revision", "c" }, { "fencefs_sessions", "sessions", "" },
	{ "fencefs_leases", "leases", "" },	 { "fencefs_lease_waiters", "waiting", "" },
	{ "fencefs_wal_bytes", "wal", "B" },	 { "fencefs_filesystem_free_bytes", "free", "B" },
};

#define N_SHOWN (sizeof(shown) / sizeof(shown[0]))

static void add_problems(struct buf *out, const char *text)
{
	const char *sep = "";
	struct problem p;

	while (next_problem(&text, &p)) {
		for (char *c = p.name; *c; c++)
			if (*c == '_')
				*c = ' ';
		buf_printf(out, "%s%s", sep, p.name);
		sep = ", ";
	}
}

/* One line: what it is, of which mount, why; behind the bar numbers that a monitor may draw. */
static void print_line(const struct probe *p, enum health health, int err)
{
	auto_buf struct buf mount = { 0 }, why = { 0 };
	struct metric_line room;

	display_name(&mount, p->mount ? p->mount : "");
	if (err < 0)
		display_name(&why, p->err.s);
	else
		add_problems(&why, p->text.s);
	printf("FENCEFS %s: %s%s%s", health_words[health], mount.s ? mount.s : "",
	       mount.s && why.len ? ": " : "", buf_text(&why));
	for (size_t i = 0; !err && i < N_SHOWN; i++)
		printf("%s%s=%s%s", i ? " " : " | ", shown[i].name,
		       metric_lines_value(p->text.s, shown[i].metric, &room), shown[i].unit);
	printf("\n");
}

static void add_problem_json(struct json *j, const struct problem *p)
{
	json_open(j, '{');
	json_key(j, "problem");
	json_string(j, p->name);
	json_key(j, "severity");
	json_string(j, health_names[p->severity]);
	json_close(j, '}');
}

static void add_metrics_json(struct json *j, const char *text)
{
	struct metric_line line;

	json_open(j, '{');
	while (metric_line_next(text, &line)) {
		json_line(j);
		json_key(j, line.name);
		json_raw(j, line.value);
		text = line.after;
	}
	json_close(j, '}');
}

static void print_json(const struct probe *p, enum health health, int err)
{
	auto_json struct json j = { 0 };
	const char *text = buf_text(&p->text);
	struct problem problem;

	json_open(&j, '{');
	json_key(&j, "mount");
	json_string(&j, p->mount);
	json_key(&j, "health");
	json_string(&j, health_names[health]);
	json_key(&j, "error");
	json_string(&j, err < 0 ? p->err.s : NULL);
	json_key(&j, "problems");
	json_open(&j, '[');
	while (!err && next_problem(&text, &problem))
		add_problem_json(&j, &problem);
	json_close(&j, ']');
	json_key(&j, "metrics");
	add_metrics_json(&j, err < 0 ? "" : buf_text(&p->text));
	json_close(&j, '}');
	json_print(&j);
}

static int run(const struct args *a)
{
	bool check = args_has(a, "check"), as_json = args_has(a, "json");
	const char *given = a->n ? a->rest[0] : NULL;
	const char *limit = args_get(a, "timeout");
	auto_probe struct probe p = { .mount = NULL };
	int64_t timeout = PROBE_TIMEOUT_NS;
	enum health health;
	int r;

	if (limit && (duration_parse(limit, &timeout) < 0 || timeout == 0))
		return report_usage(a, "\"%s\" is not a time such as 5s", limit);
	r = probe_read(given, check || as_json ? "metrics" : "status", timeout, &p);
	health = r < 0 ? HEALTH_CRITICAL : health_of(buf_text(&p.text));
	if (as_json)
		print_json(&p, health, r);
	else if (check)
		print_line(&p, health, r);
	else if (r == 0)
		fputs(buf_text(&p.text), stdout);
	if (check)
		return code_of(health, r);
	if (r == 0)
		return EXIT_OK;
	report_error(a, given ? given : p.mount, r, "%s", p.err.s);
	return code_of(health, r);
}

static const char *const usage[] = { "[--check] [--json] [--timeout TIME] [MOUNT]", NULL };
static const struct option_spec options[] = {
	{ "check", 0, NULL, "print one line for a monitor, and set the exit status" },
	OPTION_JSON,
	{ "timeout", 0, "TIME", "how long the mount may take to answer; default: 10s" },
	OPTION_END,
};
static const int exits[] = { 10, 12, 20, 0 };

const struct verb verb_status = {
	.name = "status",
	.summary = "Show how a mount is doing, and what needs attention",
	.usage = usage,
	.about = "Without options, prints MOUNT/.fence/status. With --check, the exit status is\n"
		 "0 if all is well; 1 if everything works but something needs attention\n"
		 "(WARNING); and if it is CRITICAL, 20 if the store is damaged, read-only or\n"
		 "out of space, 10 if nothing is mounted there or the daemon is gone, and 12 if\n"
		 "there was no answer in time.",
	.examples = "fence status /mnt/shared\n"
		    "fence status --check --timeout 5s /mnt/shared",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
