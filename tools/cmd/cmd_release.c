/* SPDX-License-Identifier: MIT */
/* fence release: give a lease back before its time. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "client/lease_owner.h"
#include "out/report.h"

#include <stdio.h>

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };
	auto_reply struct reply r = { 0 };
	bool force = args_has(a, "force");
	const char *token = force ? NULL : identity_token(a);
	int code;

	if (force && args_has(a, "token"))
		return report_usage(a, "--force does not go with --token");
	if (!force && !token)
		return EXIT_USAGE;
	code = client_open(a, a->rest[0], &t, &c);
	if (code)
		return code;
	if (force)
		identity_owner(a, &owner);
	else
		lease_owner(a, &c, &t, token, &owner);
	line_begin(&req, "release");
	line_field(&req, "path", t.path);
	line_field(&req, "token", token);
	line_field(&req, "owner", owner.s);
	line_field(&req, "force", force ? "1" : NULL);
	code = client_call(a, a->rest[0], &c, &req, &r);
	if (code)
		return code;
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else if (args_has(a, "verbose"))
		puts("released");
	return EXIT_OK;
}

static const char *const usage[] = { "[-t N] [-o NAME] [-v] [--json] PATH", "--force PATH", NULL };
static const struct option_spec options[] = {
	OPTION_TOKEN,
	OPTION_OWNER,
	{ "force", 'f', NULL, "take it from whoever holds it; root only, recorded" },
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END
};
static const int exits[] = { 10, 13, 14, 15, 0 };

const struct verb verb_release = {
	.name = "release",
	.summary = "Give a lease back before its time",
	.usage = usage,
	.about = "The next one in line gets it at once. The fence stays where it is: lower\n"
		 "tokens stay shut out for ever. With --force, root takes a lease away from its\n"
		 "holder, who may still write until the next lease is granted.",
	.examples = "fence release --token \"$token\" /mnt/shared/reports\n"
		    "fence release --force /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
