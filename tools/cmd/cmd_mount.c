/* SPDX-License-Identifier: MIT */
/* Runs the daemon's program, which returns when the mount answers. */
#include "cmd/cmd.h"

#include "base/cleanup.h"
#include "parse/buf.h"
#include "client/daemon_program.h"
#include "out/exit_code.h"
#include "parse/fstab_line.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The mount table shows the store as the daemon is given it, and whoever reads it there is in
 * another directory.
 */
static char *absolute(const char *store)
{
	auto_free char *cwd = NULL;
	struct buf out = { 0 };

	if (store[0] != '/')
		cwd = getcwd(NULL, 0);
	if (!cwd)
		return str_copy(store);
	buf_printf(&out, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, store);
	return out.s;
}

static int print_fstab(const struct args *a)
{
	auto_buf struct buf line = { 0 };

	if (args_has(a, "foreground"))
		return report_usage(
			a, "--print-fstab mounts nothing, so it does not go with --foreground");
	fstab_line(&line, a->rest[0], a->rest[1], args_get(a, "options"));
	puts(line.s);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_free char *store = absolute(a->rest[0]);
	auto_free char *program = daemon_program_find();
	const char *options = args_get(a, "options");
	const char *argv[8];
	int n = 0;

	if (args_has(a, "print-fstab"))
		return print_fstab(a);
	if (!program)
		return report_error(a, NULL, -ENOENT,
				    DAEMON_PROGRAM " is neither beside fence nor in PATH");
	argv[n++] = DAEMON_PROGRAM;
	if (args_has(a, "foreground"))
		argv[n++] = "-f";
	if (options) {
		argv[n++] = "-o";
		argv[n++] = options;
	}
	argv[n++] = store;
	argv[n++] = a->rest[1];
	argv[n] = NULL;
	execv(program, (char *const *)(void *)argv);
	return report_errno(a, program, -errno);
}

static const char *const usage[] = { "[-f] [-o OPTIONS] STORE MOUNTPOINT",
				     "--print-fstab [-o OPTIONS] STORE MOUNTPOINT", NULL };
static const struct option_spec options[] = {
	{ "options", 'o', "OPTIONS", "mount options, separated by commas" },
	{ "foreground", 'f', NULL, "stay in the foreground and log to stderr" },
	{ "print-fstab", 0, NULL, "mount nothing; print the line for /etc/fstab" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_mount = {
	.name = "mount",
	.summary = "Mount a store",
	.usage = usage,
	.about = "Starts the daemon, and returns when the mount answers. fencefs --help lists\n"
		 "the mount options.",
	.examples = "fence mount /srv/store /mnt/shared\n"
		    "fence mount -o passthrough=off /srv/store /mnt/shared\n"
		    "fence mount --print-fstab /srv/store /mnt/shared >>/etc/fstab",
	.options = options,
	.exits = exits,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
