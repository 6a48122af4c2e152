/* SPDX-License-Identifier: MIT */
/*
 * fence diff: runs diff(1) on .fence/versions and .fence/at. It answers as diff does: 0 the same, 1
 * different, 2 trouble, which is also what any failure of its own is, so that 1 says one thing
 * only.
 */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/report.h"
#include "client/version_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TROUBLE	  2
#define WORDS_MAX 20
#define TREES	  ".fence/at/"

struct side {
	struct version_arg arg;	    /* owned */
	struct target target;	    /* owned */
	struct ctl_client ctl;	    /* owned */
	struct version_place place; /* owned */
	struct buf label;	    /* owned */
};

#define SIDE_NONE                        \
	{                                \
		.ctl = CTL_CLIENT_CLOSED \
	}

static void side_fini(struct side *s)
{
	version_arg_fini(&s->arg);
	target_fini(&s->target);
	ctl_client_close(&s->ctl);
	version_place_fini(&s->place);
	buf_fini(&s->label);
}

#define auto_side __attribute__((cleanup(side_fini)))

/* s->arg is parsed. */
static int find_side(const struct args *a, struct side *s)
{
	int code = client_open(a, s->arg.path.s, &s->target, &s->ctl);

	if (code == EXIT_OK)
		code = version_arg_find(a, &s->arg, &s->target, &s->ctl, &s->place);
	if (code != EXIT_OK)
		return code;
	display_name(&s->label, s->target.path);
	if (s->arg.kind != VERSION_LIVE)
		buf_printf(&s->label, "@%s%s", s->arg.kind == VERSION_REVISION ? "r" : "",
			   s->arg.number);
	return EXIT_OK;
}

/* The child: in the mount point, so that the names in its output are short. */
static _Noreturn void exec_diff(const char *mount, const char *const *words)
{
	if (chdir(mount) < 0) {
		fprintf(stderr, "fence: diff %s: %s\n", mount, strerror(errno));
		_exit(TROUBLE);
	}
	execvp(words[0], (char *const *)(void *)(size_t)words);
	fprintf(stderr, "fence: diff: cannot run diff: %s\n", strerror(errno));
	_exit(TROUBLE);
}

static int run_diff(const char *mount, const char *const *words)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exec_diff(mount, words);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return TROUBLE;
	if (pid < 0)
		return TROUBLE;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGPIPE ? EXIT_FAILED : TROUBLE;
	return WEXITSTATUS(status) <= 1 ? WEXITSTATUS(status) : TROUBLE;
}

/*
 * The directory where diff runs, and the names of what it compares there: for trees of revisions it
 * prints them, so they are short: "41/reports/a.csv".
 */
static void name_sides(const struct side *from, const struct side *to, struct buf *top,
		       struct buf *one, struct buf *other)
{
	const char *a = from->place.name.s, *b = to->place.name.s;
	const char *mount = from->target.mount;
	bool same_mount = strcmp(mount, to->target.mount) == 0;
	bool revisions = same_mount && strncmp(a, TREES, strlen(TREES)) == 0 &&
			 strncmp(b, TREES, strlen(TREES)) == 0;

	buf_printf(top, "%s/%s", strcmp(mount, "/") == 0 ? "" : mount, revisions ? TREES : "");
	buf_str(one, revisions ? a + strlen(TREES) : a);
	if (!same_mount)
		buf_printf(other, "%s/", to->target.mount);
	buf_str(other, revisions ? b + strlen(TREES) : b);
}

/*
 * A directory as it is now is its newest revision, so that it stays what it is while diff reads it.
 */
static int pin_live(const struct args *a, struct side *s)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *revision;
	int code;

	if (s->arg.kind != VERSION_LIVE || !s->place.is_dir || s->target.session[0])
		return EXIT_OK;
	line_begin(&req, "at");
	code = client_call(a, s->arg.given, &s->ctl, &req, &r);
	if (code)
		return code;
	revision = reply_get(&r, "revision");
	buf_clear(&s->place.name);
	buf_printf(&s->place.name, TREES "%s", revision ? revision : "0");
	if (strcmp(s->target.path, ".") != 0)
		buf_printf(&s->place.name, "/%s", s->target.path);
	return EXIT_OK;
}

static int compare(const struct args *a, const struct side *from, const struct side *to)
{
	const char *words[WORDS_MAX] = { "diff", "--no-dereference", "-U" };
	const char *context = args_get(a, "unified");
	auto_buf struct buf top = { 0 };
	auto_buf struct buf one = { 0 };
	auto_buf struct buf other = { 0 };
	int n = 3;

	words[n++] = context ? context : "3";
	if (args_has(a, "brief"))
		words[n++] = "-q";
	if (from->place.is_dir && to->place.is_dir) {
		words[n++] = "-rN";
	} else {
		words[n++] = "--label";
		words[n++] = from->label.s;
		words[n++] = "--label";
		words[n++] = to->label.s;
	}
	name_sides(from, to, &top, &one, &other);
	words[n++] = "--";
	words[n++] = one.s;
	words[n] = other.s;
	return run_diff(top.s, words);
}

static int check(const struct args *a, const struct side *from, const struct side *to)
{
	const char *context = args_get(a, "unified");

	if (context && (!*context || strspn(context, "0123456789") != strlen(context)))
		return report_usage(a, "\"%s\" is not a number of lines", context);
	if (from->arg.kind == VERSION_LIVE && to->arg.kind == VERSION_LIVE)
		return report_usage(a, "at least one version is needed: PATH@N or PATH@rN");
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_side struct side from = SIDE_NONE;
	auto_side struct side to = SIDE_NONE;
	int code;

	version_arg_parse(a->rest[0], &from.arg);
	if (a->n > 1)
		version_arg_parse(a->rest[1], &to.arg);
	else
		version_arg_parse("", &to.arg);
	if (a->n < 2) { /* with what is there now */
		to.arg.given = from.arg.path.s;
		buf_str(&to.arg.path, from.arg.path.s);
	}
	code = check(a, &from, &to);
	if (code == EXIT_OK)
		code = find_side(a, &from);
	if (code == EXIT_OK)
		code = find_side(a, &to);
	if (code == EXIT_OK)
		code = pin_live(a, &from);
	if (code == EXIT_OK)
		code = pin_live(a, &to);
	if (code == EXIT_OK)
		return compare(a, &from, &to);
	return code == EXIT_FAILED ? TROUBLE : code;
}

static const char *const usage[] = { "[-q] [-U N] PATH@A [PATH@B]", NULL };
static const struct option_spec options[] = {
	{ "brief", 'q', NULL, "only say whether they differ, and which files do" },
	{ "unified", 'U', "N", "lines of context (default: 3)" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_diff = {
	.name = "diff",
	.summary = "Compare versions of a file or directory",
	.usage = usage,
	.about = "Runs diff(1) on two versions, or on one version and what is there now.\n"
		 "Versions are written as for fence cat: PATH@N, or PATH@rN for the tree of\n"
		 "revision N, which is the one to use for a directory, since a directory's own\n"
		 "versions count only changes of its mode and owner. The exit status is that of\n"
		 "diff: 0 no difference, 1 different, 2 failed.",
	.examples = "fence diff /mnt/shared/reports/a.csv@1 /mnt/shared/reports/a.csv@2\n"
		    "fence diff /mnt/shared/reports@r41",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 2,
	.run = run,
};
