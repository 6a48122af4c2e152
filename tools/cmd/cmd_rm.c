/* SPDX-License-Identifier: MIT */
/* fence rm: remove paths under a token. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "out/report.h"
#include "client/session_client.h"
#include "files/tree_remove.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_directory(const struct target *t)
{
	auto_buf struct buf path = { 0 };
	struct stat st;

	buf_printf(&path, "%s/%s", t->mount, t->path);
	return lstat(path.s, &st) == 0 && S_ISDIR(st.st_mode);
}

static int remove_tree(struct client_work *w, struct reply *out)
{
	auto_buf struct buf path = { 0 }, failed = { 0 };
	int code = work_open(w);
	int r;

	if (code)
		return code;
	work_path(w, &path);
	r = tree_remove(path.s, &failed);
	if (r < 0)
		return work_failed(w, failed.len ? failed.s : path.s, r);
	return work_commit(w, out);
}

static int remove_one(struct client_work *w, struct reply *out)
{
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };
	static const char *const passed[] = { "op", NULL };

	identity_owner(w->args, &owner);
	line_begin(&req, "remove");
	client_add_path(&req, &w->target);
	line_field(&req, "token", w->token);
	line_field(&req, "owner", owner.s);
	client_add_options(&req, w->args, passed);
	return client_call(w->args, w->name, &w->ctl, &req, out);
}

static int remove_path(const struct args *a, const char *token, const char *name)
{
	auto_work struct client_work w = WORK_NONE;
	auto_reply struct reply r = { 0 };
	int code;

	w.args = a;
	w.name = name;
	w.token = token;
	code = client_open(a, name, &w.target, &w.ctl);
	if (code)
		return code;
	if (strcmp(w.target.path, ".") == 0) {
		report_error(a, name, -EBUSY, "the root of the mount cannot be removed");
		return EXIT_FAILED;
	}
	if (args_has(a, "recursive") && is_directory(&w.target))
		code = remove_tree(&w, &r);
	else
		code = remove_one(&w, &r);
	if (code == EXIT_OK && args_has(a, "json"))
		field_print_reply(w.target.mount, &r);
	else if (code == EXIT_OK && args_has(a, "verbose"))
		printf("revision %s\n", reply_get(&r, "revision"));
	return code;
}

static int run(const struct args *a)
{
	const char *token = identity_token(a);
	int failed = 0, code = EXIT_OK;

	if (!token)
		return EXIT_USAGE;
	if (args_has(a, "op") && a->n > 1)
		return report_usage(a, "--op is for a single PATH");
	for (int i = 0; i < a->n; i++) {
		int one = remove_path(a, token, a->rest[i]);

		failed += one != EXIT_OK;
		if (one != EXIT_OK)
			code = one;
	}
	return failed && failed < a->n ? EXIT_PARTLY : code;
}

static const char *const usage[] = { "[-r] [OPTION]... PATH...", NULL };
static const struct option_spec options[] = {
	{ "recursive", 'r', NULL, "remove directories with everything in them" },
	OPTION_TOKEN,
	OPTION_OWNER,
	OPTION_OP,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 3, 10, 13, 15, 0 };

const struct verb verb_rm = {
	.name = "rm",
	.summary = "Remove paths under a token",
	.usage = usage,
	.about = "Each PATH is a commit of its own. A directory must be empty, unless -r is\n"
		 "given. What was removed stays in the history (fence log), and its fence\n"
		 "stays, too.",
	.examples = "fence rm --token 42 /mnt/shared/reports/a.csv\n"
		    "fence rm -r --token 42 /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = -1,
	.run = run,
};
