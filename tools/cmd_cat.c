/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include "args.h"
#include "base/cleanup.h"
#include "copy.h"
#include "exit_code.h"
#include "report.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0, the exit code, or -1 when nobody reads our output any more. */
static int print_file(const struct args *a, const char *name)
{
	auto_target struct target t = { 0 };
	struct copy_failure failure = { 0 };
	struct errmsg err;
	auto_fd int fd = -1;
	int r = target_find(name, &t, &err);

	if (r < 0)
		return report_error(a, name, r, "%s", err.s);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		report_error(a, name, errno, "%s", strerror(errno));
		return EXIT_FAILED;
	}
	if (copy_stream(fd, STDOUT_FILENO, NULL, &failure) == 0)
		return EXIT_OK;
	if (!failure.reading && failure.err == EPIPE)
		return -1;
	report_error(a, failure.reading ? name : "standard output", failure.err, "%s",
		     strerror(failure.err));
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

static const char *const usage[] = { "PATH...", NULL };
static const struct option_spec options[] = { OPTION_END };
static const int exits[] = { 3, 10, 0 };

const struct verb verb_cat = {
	.name = "cat",
	.summary = "Print the content of files",
	.usage = usage,
	.about = "What is printed is one version of each file, whatever is committed meanwhile.",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = -1,
	.run = run,
};
