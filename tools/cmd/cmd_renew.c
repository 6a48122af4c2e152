/* SPDX-License-Identifier: MIT */
/* fence renew: give a lease its full time again. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "client/lease_owner.h"

#include <stdio.h>

static int run(const struct args *a)
{
	static const char *const passed[] = { "ttl", NULL };
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };
	auto_reply struct reply r = { 0 };
	const char *token = identity_token(a), *left;
	int code;

	if (!token)
		return EXIT_USAGE;
	code = client_open(a, a->rest[0], &t, &c);
	if (code)
		return code;
	lease_owner(a, &c, &t, token, &owner);
	line_begin(&req, "renew");
	line_field(&req, "path", t.path);
	line_field(&req, "token", token);
	line_field(&req, "owner", owner.s);
	client_add_options(&req, a, passed);
	code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	left = reply_get(&r, "expires_in");
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else if (args_has(a, "verbose"))
		printf("token %s, %s s\n", token, left ? left : "?");
	return EXIT_OK;
}

static const char *const usage[] = { "[-t N] [-o NAME] [--ttl TIME] [-v] [--json] PATH", NULL };
static const struct option_spec options[] = {
	OPTION_TOKEN,
	OPTION_OWNER,
	{ "ttl", 0, "TIME", "new time, from now on; default: as before" },
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END
};
static const int exits[] = { 10, 13, 14, 15, 0 };

const struct verb verb_renew = {
	.name = "renew",
	.summary = "Give a lease its full time again",
	.usage = usage,
	.about = "The token stays the same. A lease that has expired cannot be renewed (exit\n"
		 "status 14), nor can one that a higher token has overtaken (13): acquire a new\n"
		 "one.",
	.examples = "fence renew --token \"$token\" /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
