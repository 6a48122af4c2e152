/* SPDX-License-Identifier: MIT */
/* fence abort: end a session and drop its changes. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/session_arg.h"

#include <stdio.h>

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
	line_begin(&req, "abort");
	line_field(&req, "session", id);
	code = client_call(a, id, &c, &req, &r);
	if (code)
		return code;
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else if (args_has(a, "verbose"))
		printf("session %s ended; nothing was published\n", id);
	return EXIT_OK;
}

static const char *const usage[] = { "[-m DIR] [-v] [--json] [SESSION|DIR]", NULL };
static const struct option_spec options[] = { OPTION_MOUNT, OPTION_VERBOSE, OPTION_JSON,
					      OPTION_END };
static const int exits[] = { 10, 15, 0 };

const struct verb verb_abort = {
	.name = "abort",
	.summary = "End a session and drop its changes",
	.usage = usage,
	.about = "DIR is any path in the session's view. The default is $FENCE_SESSION, or else\n"
		 "the session whose view the working directory is in.",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
