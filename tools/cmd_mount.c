/* SPDX-License-Identifier: MIT */
/* Runs the daemon's program, which returns when the mount answers. */
#include "verbs.h"

#include "base/cleanup.h"
#include "buf.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "fencefs"
/* A user's PATH often lacks the directories where file system helpers are. */
#define MORE_PATH "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin"

/*
 * Where it may be, seen from the directory of this program: in a build tree, or installed beside
 * it.
 */
static const char *const beside[] = { "/../fs/" PROGRAM, "/" PROGRAM, "/../sbin/" PROGRAM,
				      "/../bin/" PROGRAM };

static char *find_beside(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		struct buf path = { 0 };

		buf_printf(&path, "%s%s", self, beside[i]);
		if (access(path.s, X_OK) == 0)
			return path.s;
		buf_fini(&path);
	}
	return NULL;
}

static char *find_in(const char *dirs)
{
	while (dirs && *dirs) {
		int len = (int)strcspn(dirs, ":");
		struct buf path = { 0 };

		buf_printf(&path, "%.*s/%s", len, dirs, PROGRAM);
		if (len && access(path.s, X_OK) == 0)
			return path.s;
		buf_fini(&path);
		dirs += len;
		dirs += *dirs == ':';
	}
	return NULL;
}

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

static int run(const struct args *a)
{
	auto_free char *store = absolute(a->rest[0]);
	auto_free char *program = find_beside();
	const char *options = args_get(a, "options");
	const char *argv[8];
	int n = 0;

	if (!program)
		program = find_in(getenv("PATH"));
	if (!program)
		program = find_in(MORE_PATH);
	if (!program)
		return report_error(a, NULL, ENOENT,
				    PROGRAM " is neither beside fence nor in PATH");
	argv[n++] = PROGRAM;
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
	return report_errno(a, program, errno);
}

static const char *const usage[] = { "[-f] [-o OPTIONS] STORE MOUNTPOINT", NULL };
static const struct option_spec options[] = {
	{ "options", 'o', "OPTIONS", "mount options, separated by commas" },
	{ "foreground", 'f', NULL, "stay in the foreground and log to stderr" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_mount = {
	.name = "mount",
	.summary = "Mount a store",
	.usage = usage,
	.about =
		"Starts the daemon and returns when the mount answers. What the options are: fencefs --help.",
	.examples = "fence mount /srv/store /mnt/shared\n"
		    "fence mount -o passthrough=off /srv/store /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
