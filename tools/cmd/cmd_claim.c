/* SPDX-License-Identifier: MIT */
/* fence claim: shut every lower token out of a path and of all beneath it. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/field.h"
#include "client/identity.h"
#include "out/exit_code.h"

#include <stdio.h>

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };
	auto_reply struct reply r = { 0 };
	const char *token = identity_token(a);
	int code;

	if (!token)
		return EXIT_USAGE;
	code = client_open(a, a->rest[0], &t, &c);
	if (code)
		return code;
	identity_owner(a, &owner);
	line_begin(&req, "claim");
	client_add_path(&req, &t);
	line_field(&req, "token", token);
	line_field(&req, "owner", owner.s);
	code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else if (args_has(a, "verbose"))
		printf("claimed with token %s\n", token);
	return EXIT_OK;
}

static const char *const usage[] = { "[-t N] [-o NAME] [-v] [--json] PATH", NULL };
static const struct option_spec options[] = { OPTION_TOKEN, OPTION_OWNER, OPTION_VERBOSE,
					      OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 13, 15, 0 };

const struct verb verb_claim = {
	.name = "claim",
	.summary = "Shut lower tokens out of a path and everything beneath it",
	.usage = usage,
	.about = "For a new owner that wants to shut the old one out before it writes anything\n"
		 "itself. PATH need not exist. When this returns, the claim is durable, and\n"
		 "nothing takes it back.",
	.examples = "fence claim --token 42 /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
