/* SPDX-License-Identifier: MIT */
/* fence run: run a job under the lease of a path, and publish what it made. Layer: tools. */
#include "cmd/cmd.h"

#include "out/exit_code.h"
#include "out/report.h"
#include "run/run_job.h"
#include "run/run_options.h"
#include "run/run_program.h"
#include "run/run_session.h"

#include <errno.h>
#include <string.h>

/* Before the lease is asked for: a job that cannot start need not wait, nor shut others out. */
static int find_program(const struct run_options *o, struct buf *out)
{
	int err = run_program_find(o->command[0], out);

	if (err == 0)
		return EXIT_OK;
	report_error(o->args, o->command[0], err, "%s", strerror(-err));
	return err == -ENOENT ? EXIT_RUN_NOT_FOUND : EXIT_RUN_CANNOT;
}

static int run_with(const struct run_options *o)
{
	auto_run_session struct run_session s = RUN_SESSION_NONE;
	auto_buf struct buf program = { 0 };
	int code = find_program(o, &program);

	if (code)
		return code;
	code = run_session_open(o, &s);
	if ((code == EXIT_HELD || code == EXIT_TIMED_OUT) && o->held_code >= 0)
		return o->held_code;
	if (code)
		return code;
	code = run_session_enter(&s);
	return code ? code : run_job(&s, program.s);
}

static int run(const struct args *a)
{
	struct run_options o;
	int code = run_options_parse(a, &o);

	if (code)
		return code;
	code = run_with(&o);
	run_options_fini(&o);
	return code;
}

static const char *const usage[] = { "[OPTION]... PATH -- CMD [ARG]...", NULL };
static const int exits[] = { 11, 12, 13, 14, 15, 16, 125, 126, 127, 0 };

const struct verb verb_run = {
	.name = "run",
	.summary = "Run a job under the lease on a path, and publish what it made",
	.usage = usage,
	.about = "Takes the lease on PATH (and waits for it without limit, unless --wait or\n"
		 "--no-wait is given), opens a session, and runs CMD in the session's view of\n"
		 "PATH, or of the directory that PATH is in. The lease is kept while CMD runs.\n"
		 "If CMD exits with 0, its changes are published, all at once; otherwise\n"
		 "nothing is, and its exit status is returned (128+N if signal N ended it). CMD\n"
		 "itself is looked up from where fence was called.\n"
		 "\n"
		 "A PATH that does not exist is a file to be written or, if it ends in /, a\n"
		 "directory to be made. CMD gets FENCE_PATH, the absolute path to write,\n"
		 "FENCE_DIR, the view it is in, FENCE_TOKEN, FENCE_SESSION and FENCE_OWNER.\n"
		 "Signals are passed on to it. If the lease is lost, CMD is sent SIGTERM, then\n"
		 "SIGKILL after --kill-after; a CMD that is stopped for longer than --ttl loses\n"
		 "it, too. With --token, or FENCE_TOKEN from another lock service, no lease is\n"
		 "taken.",
	.examples =
		"fence run --wait 10m /mnt/shared/reports -- ./nightly.sh\n"
		"fence run --no-wait -E 0 /mnt/shared/index.db -- sh -c 'build >\"$FENCE_PATH\"'\n"
		"fence run --token 42 --parents /mnt/shared/a/b/ -- cp -a /srv/out/. .",
	.options = run_option_table,
	.exits = exits,
	.min_args = 2,
	.max_args = -1,
	.run = run,
};
