/* SPDX-License-Identifier: MIT */
/* fence open: open a session on a path and print its directory. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "client/identity.h"
#include "out/json.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const passed[] = { "ttl", "parents", "exclusive", NULL };

static void make_request(const struct args *a, const struct target *t, const char *token,
			 struct line *req)
{
	auto_buf struct buf owner = { 0 };

	identity_owner(a, &owner);
	line_begin(req, "open");
	client_add_path(req, t);
	line_field(req, "token", token);
	line_field(req, "owner", owner.s);
	line_field(req, "keep", "1");
	client_add_options(req, a, passed);
}

static void print_json(const char *id, const char *dir, const char *path, const char *token)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	json_key(&j, "id");
	json_string(&j, id);
	json_key(&j, "dir");
	json_string(&j, dir);
	json_key(&j, "path");
	json_string(&j, path);
	json_key(&j, "token");
	json_string(&j, token);
	json_close(&j, '}');
	json_print(&j);
}

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_buf struct buf dir = { 0 }, path = { 0 };
	auto_reply struct reply r = { 0 };
	const char *token = identity_token(a);
	int code;

	if (!token)
		return EXIT_USAGE;
	code = client_open(a, a->rest[0], &t, &c);
	if (code)
		return code;
	make_request(a, &t, token, &req);
	code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	if (!reply_get(&r, "session") || !reply_get(&r, "dir"))
		return report_errno(a, a->rest[0], -EPROTO);
	buf_printf(&dir, "%s/%s", strcmp(t.mount, "/") == 0 ? "" : t.mount, reply_get(&r, "dir"));
	buf_printf(&path, "%s/%s", dir.s, strcmp(t.path, ".") == 0 ? "" : t.path);
	if (args_has(a, "json"))
		print_json(reply_get(&r, "session"), dir.s, path.s, token);
	else
		puts(dir.s);
	return EXIT_OK;
}

static const char *const usage[] = { "[OPTION]... PATH", NULL };
static const struct option_spec options[] = {
	OPTION_TOKEN,
	OPTION_OWNER,
	{ "ttl", 0, "TIME", "how long the session lasts, such as 90s, 30m, 1h; default: 1h" },
	OPTION_PARENTS,
	{ "exclusive", 0, NULL,
	  "older sessions of the same token on PATH are refused from now on" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 13, 15, 0 };

const struct verb verb_open = {
	.name = "open",
	.summary = "Open a session on a path and print its directory",
	.usage = usage,
	.about = "The directory shows the whole tree; in it, any program can change PATH and\n"
		 "everything beneath it. Nobody sees the changes until they are committed, all\n"
		 "at once. Opening a session claims PATH: lower tokens are refused from then\n"
		 "on. A PATH that ends in / and does not exist is a directory to be made. The\n"
		 "session stays until fence commit, fence abort or the end of --ttl.",
	.examples = "dir=$(fence open --token 42 /mnt/shared/reports)\n"
		    "cp -a out/. \"$dir/reports/\"\n"
		    "fence commit \"$dir\"",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
