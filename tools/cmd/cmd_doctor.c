/* SPDX-License-Identifier: MIT */
/* fence doctor: say what this machine offers, and what to do about what it lacks. Layer: tools. */
#include "cmd/cmd.h"

#include "doctor/doctor.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "client/store_target.h"

#include <unistd.h>

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
