/* SPDX-License-Identifier: MIT */
/* fence commit: publish a session's changes, all at once. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/session_arg.h"

#include <stdio.h>

static const char *const passed[] = { "op", "seq", "once", NULL };

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	char id[SESSION_ID_MAX + 1];
	int code = session_arg(a, &t, &c, id);

	if (code)
		return code;
	line_begin(&req, "commit");
	line_field(&req, "session", id);
	client_add_options(&req, a, passed);
	code = client_call(a, id, &c, &req, &r);
	if (code)
		return code;
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else if (args_has(a, "verbose"))
		printf("revision %s, %s changed\n", reply_get(&r, "revision"),
		       reply_get(&r, "changed"));
	return EXIT_OK;
}

static const char *const usage[] = { "[OPTION]... [SESSION|DIR]", NULL };
static const struct option_spec options[] = {
	OPTION_OP,
	{ "seq", 0, "N", "order of one owner's commits: must be higher than the last one" },
	OPTION_ONCE,
	OPTION_MOUNT,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 13, 15, 16, 0 };

const struct verb verb_commit = {
	.name = "commit",
	.summary = "Publish a session's changes, all at once",
	.usage = usage,
	.about = "DIR is any path in the session's view. The default is $FENCE_SESSION, or else\n"
		 "the session whose view the working directory is in. When this returns 0, the\n"
		 "changes are durable and visible; if a newer owner has taken one of the\n"
		 "changed paths, none of them is (exit status 13).",
	.examples = "fence commit \"$dir\"",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
