/* SPDX-License-Identifier: MIT */
/* fence cat: print the content of files. Layer: tools. */
#include "cmd/cmd.h"

#include "base/cleanup.h"
#include "client/client.h"
#include "files/copy.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "client/target.h"
#include "client/version_arg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0 with *out_fd, or the exit code. */
static int open_live(const struct args *a, const struct version_arg *v, int *out_fd)
{
	auto_target struct target t = { 0 };
	struct errmsg err;
	int r = target_find(v->path.s, &t, &err);

	if (r < 0)
		return report_error(a, v->given, r, "%s", err.s);
	*out_fd = open(v->path.s, O_RDONLY | O_CLOEXEC);
	if (*out_fd < 0) {
		report_error(a, v->given, -errno, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int open_past(const struct args *a, const struct version_arg *v, int *out_fd)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_version_place struct version_place place = { 0 };
	auto_buf struct buf path = { 0 };
	int code = client_open(a, v->path.s, &t, &c);

	if (code == EXIT_OK)
		code = version_arg_find(a, v, &t, &c, &place);
	if (code != EXIT_OK)
		return code;
	buf_printf(&path, "%s/%s", strcmp(t.mount, "/") == 0 ? "" : t.mount, place.name.s);
	*out_fd = open(path.s, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*out_fd < 0) {
		/* Where a link pointed to then is not what is there now. */
		report_error(a, v->given, -errno, "%s",
			     errno == ELOOP ? "this is a symbolic link" : strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* 0, the exit code, or -1 when nobody reads our output any more. */
static int print_file(const struct args *a, const char *name)
{
	auto_version_arg struct version_arg v = { 0 };
	struct copy_failure failure = { 0 };
	auto_fd int fd = -1;
	int code;

	version_arg_parse(name, &v);
	code = v.kind == VERSION_LIVE ? open_live(a, &v, &fd) : open_past(a, &v, &fd);
	if (code != EXIT_OK)
		return code;
	if (copy_stream(fd, STDOUT_FILENO, NULL, &failure) == 0)
		return EXIT_OK;
	if (!failure.reading && failure.err == -EPIPE)
		return -1;
	report_error(a, failure.reading ? name : "standard output", failure.err, "%s",
		     strerror(-failure.err));
	return EXIT_FAILED;
}

static int run(const struct args *a)
{
	int failed = 0, code = EXIT_OK;

	for (int i = 0; i < a->n; i++) {
		int one = print_file(a, a->rest[i]);

		if (one < 0)
			return EXIT_FAILED;
		failed += one != EXIT_OK;
		if (one != EXIT_OK)
			code = one;
	}
	return failed && failed < a->n ? EXIT_PARTLY : code;
}

static const char *const usage[] = { "PATH[@N | @rN]...", NULL };
static const struct option_spec options[] = { OPTION_END };
static const int exits[] = { 3, 10, 0 };

const struct verb verb_cat = {
	.name = "cat",
	.summary = "Print the content of files",
	.usage = usage,
	.about = "Prints one version of each file, whatever is committed meanwhile. PATH@N is\n"
		 "version N, as numbered by fence log; PATH@rN is the file in the tree of\n"
		 "revision N. A name that itself ends in @ and a number is written with one\n"
		 "more @: the file a@2 is a@2@, its first version a@2@1.",
	.examples = "fence cat /mnt/shared/reports/today.csv@3",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = -1,
	.run = run,
};
