/* SPDX-License-Identifier: MIT */
/* fence put: publish files, or standard input, under a token. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "wire/number.h"
#include "client/put_session.h"
#include "out/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const passed[] = {
	"mode", "parents", "op", "once", "if-version", "if-absent", "if-hash", NULL,
};

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_in_slash(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && s[len - 1] == '/';
}

/* Where one source goes, as cp would have it: into a directory under its own name. */
static int destination(const struct args *a, const char *source, const char *given, struct buf *out)
{
	bool into = ends_in_slash(given) || is_directory(given);

	buf_str(out, given);
	if (!into)
		return EXIT_OK;
	if (!source_base(source))
		return report_usage(a, "%s is a directory: standard input needs a name in it",
				    given);
	buf_printf(out, "%s%s", ends_in_slash(given) ? "" : "/", source_base(source));
	return EXIT_OK;
}

static bool is_missing(const struct target *t)
{
	auto_buf struct buf path = { 0 };
	struct stat st;

	buf_printf(&path, "%s/%s", t->mount, t->path);
	return lstat(path.s, &st) < 0 && errno == ENOENT;
}

static void add_mode(struct line *req, mode_t mode)
{
	char octal[8];

	snprintf(octal, sizeof(octal), "%04o", (unsigned int)mode & 07777);
	line_field(req, "mode", octal);
}

static int put_small(struct client_work *w, const struct source *s, struct reply *out)
{
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };

	identity_owner(w->args, &owner);
	line_begin(&req, "put");
	client_add_path(&req, &w->target);
	line_field(&req, "token", w->token);
	line_number(&req, "size", (int64_t)s->held.len);
	line_field(&req, "owner", owner.s);
	client_add_options(&req, w->args, passed);
	/* Existing files keep the mode they have. */
	if (!args_has(w->args, "mode") && is_missing(&w->target))
		add_mode(&req, s->mode);
	return client_call_with(&(struct client_request){ .args = w->args,
							  .name = w->name,
							  .ctl = &w->ctl,
							  .line = &req,
							  .content = &s->held },
				out);
}

static int put_one(struct client_work *w, const char *name, struct reply *out)
{
	auto_source struct source s = SOURCE_NONE;
	int code = source_open(w->args, name, &s);

	if (code == EXIT_OK)
		code = client_open(w->args, w->name, &w->target, &w->ctl);
	if (code)
		return code;
	return s.is_whole ? put_small(w, &s, out) : put_large(w, &s, out);
}

/* The names in the directory must differ: nobody means to publish one of two files. */
static const char *doubled(char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(source_base(names[i]), source_base(names[j])) == 0)
				return names[i];
	return NULL;
}

static int put_several(struct client_work *w, struct reply *out)
{
	const struct args *a = w->args;
	const char *twice;
	int code;

	if (args_has(a, "if-version") || args_has(a, "if-absent") || args_has(a, "if-hash"))
		return report_usage(a, "a precondition needs a single FILE");
	for (int i = 0; i < a->n - 1; i++)
		if (strcmp(a->rest[i], "-") == 0)
			return report_usage(a, "standard input cannot be one of several files");
	twice = doubled(a->rest, a->n - 1);
	if (twice)
		return report_usage(a, "two files are called %s", source_base(twice));
	if (!is_directory(w->name) && !(ends_in_slash(w->name) && args_has(a, "parents"))) {
		report_error(a, w->name, -ENOTDIR,
			     "is not a directory, and several files need one");
		return EXIT_FAILED;
	}
	code = client_open(a, w->name, &w->target, &w->ctl);
	return code ? code : put_many(w, a->rest, a->n - 1, out);
}

static int check_options(const struct args *a)
{
	const char *mode = args_get(a, "mode");
	const char *version = args_get(a, "if-version");
	int conditions =
		args_has(a, "if-version") + args_has(a, "if-absent") + args_has(a, "if-hash");
	mode_t parsed;

	if (mode && number_parse_mode(mode, &parsed) < 0)
		return report_usage(a, "\"%s\" is not a mode: octal digits such as 0644", mode);
	if (version && !number_is_token(version))
		return report_usage(a, "\"%s\" is not a version: a whole number", version);
	if (conditions > 1)
		return report_usage(a, "only one of --if-version, --if-absent and --if-hash");
	return EXIT_OK;
}

static void print_done(const struct args *a, const struct client_work *w, const struct reply *r)
{
	const char *revision = reply_get(r, "revision");

	if (args_has(a, "json"))
		field_print_reply(w->target.mount, r);
	else if (args_has(a, "verbose"))
		printf("revision %s\n", revision ? revision : "-");
}

static int run(const struct args *a)
{
	auto_work struct client_work w = WORK_NONE;
	auto_buf struct buf name = { 0 };
	auto_reply struct reply r = { 0 };
	int code = check_options(a);

	if (code)
		return code;
	w.args = a;
	w.token = identity_token(a);
	if (!w.token)
		return EXIT_USAGE;
	if (a->n == 2)
		code = destination(a, a->rest[0], a->rest[1], &name);
	else
		buf_str(&name, a->rest[a->n - 1]);
	if (code)
		return code;
	w.name = name.s;
	code = a->n == 2 ? put_one(&w, a->rest[0], &r) : put_several(&w, &r);
	if (code == EXIT_OK)
		print_done(a, &w, &r);
	return code;
}

static const char *const usage[] = { "[OPTION]... FILE|- PATH", "[OPTION]... FILE... DIRECTORY",
				     NULL };
static const struct option_spec options[] = {
	OPTION_TOKEN,
	OPTION_OWNER,
	OPTION_PARENTS,
	{ "mode", 0, "MODE",
	  "permissions, octal; default: those of FILE for a new path, otherwise unchanged" },
	OPTION_OP,
	OPTION_ONCE,
	{ "if-version", 0, "N", "only if the current version of PATH is N" },
	{ "if-absent", 0, NULL, "only if there is nothing at PATH" },
	{ "if-hash", 0, "HASH", "only if the content of PATH has this hash (fence show)" },
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 13, 15, 16, 0 };

const struct verb verb_put = {
	.name = "put",
	.summary = "Publish files, or standard input, under a token",
	.usage = usage,
	.about = "PATH changes to the new content in one step, or not at all if a higher token\n"
		 "has been seen on it or above it (exit status 13). When this returns 0, the\n"
		 "content is durable and visible. Several files go into an existing directory\n"
		 "in one commit, which claims the directory.",
	.examples = "fence put --token 42 a.csv /mnt/shared/reports/\n"
		    "make-report | fence put --token 42 - /mnt/shared/reports/today.txt",
	.options = options,
	.exits = exits,
	.min_args = 2,
	.max_args = -1,
	.run = run,
};
