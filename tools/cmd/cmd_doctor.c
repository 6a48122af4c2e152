/* SPDX-License-Identifier: MIT */
#include "cmd/verbs.h"

#include "doctor/doctor.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "client/store_target.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const state_names[] = { "ok", "note", "missing" };

static void add_json(struct json *j, enum doctor_state state, const char *check, const char *remedy,
		     const char *text)
{
	json_line(j);
	json_open(j, '{');
	json_key(j, "check");
	json_string(j, check);
	json_key(j, "state");
	json_string(j, state_names[state]);
	json_key(j, "text");
	json_string(j, text);
	json_key(j, "remedy");
	json_string(j, remedy);
	json_close(j, '}');
}

void doctor_say(struct doctor *d, enum doctor_state state, const char *check, const char *remedy,
		const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->is_missing = d->is_missing || state == DOCTOR_MISSING;
	if (d->as_json)
		add_json(&d->json, state, check, remedy, text);
	else
		printf("%-7s  %-11s  %s%s%s\n", state_names[state], check, text,
		       remedy ? "; remedy: " : "", remedy ? remedy : "");
}

bool doctor_is_at_least(const char *version, int major, int minor)
{
	int has_major = 0, has_minor = 0;

	if (sscanf(version, "%9d.%9d", &has_major, &has_minor) < 1)
		return false;
	return has_major > major || (has_major == major && has_minor >= minor);
}

bool doctor_read(const char *path, char *out, int room)
{
	FILE *f = fopen(path, "re");
	bool is_read = f && fgets(out, room, f);

	if (is_read)
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	return is_read;
}

static void check_all(struct doctor *d, const struct store_target *t)
{
	doctor_fuse(d);
	doctor_user(d);
	doctor_limits(d);
	if (t->path)
		doctor_store(d, t->path);
	if (t->mount)
		doctor_mount(d, t->mount);
}

static int run(const struct args *a)
{
	auto_store_target struct store_target t = { 0 };
	struct doctor d = { .as_json = args_has(a, "json"), .is_root = geteuid() == 0 };
	int code = a->n ? store_target_find(a, a->rest[0], &t) : EXIT_OK;

	if (code)
		return code;
	json_open(&d.json, '{');
	json_key(&d.json, "store");
	json_string(&d.json, t.path);
	json_key(&d.json, "mount");
	json_string(&d.json, t.mount);
	json_key(&d.json, "checks");
	json_open(&d.json, '[');
	check_all(&d, &t);
	json_close(&d.json, ']');
	json_key(&d.json, "ok");
	json_bool(&d.json, !d.is_missing);
	json_close(&d.json, '}');
	if (d.as_json)
		json_print(&d.json);
	json_fini(&d.json);
	return d.is_missing ? EXIT_FAILED : EXIT_OK;
}

static const char *const usage[] = { "[--json] [STORE|MOUNT]", NULL };
static const struct option_spec options[] = { OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 0 };

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "Check this machine, and say what to do about what it lacks",
	.usage = usage,
	.about = "For a store or a mount, also what its file system offers, and who serves it.\n"
		 "Changes nothing. The exit status is 1 if something is missing that is needed.",
	.examples = "fence doctor\n"
		    "fence doctor /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 0,
	.max_args = 1,
	.run = run,
};
