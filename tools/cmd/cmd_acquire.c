/* SPDX-License-Identifier: MIT */
/* fence acquire: take the lease on a path and print its token. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "client/lease_client.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_buf struct buf owner = { 0 };
	auto_reply struct reply r = { 0 };
	int code = client_open(a, a->rest[0], &t, &c);

	if (code)
		return code;
	identity_owner(a, &owner);
	code = lease_acquire(&(struct lease_query){ .args = a,
						    .name = a->rest[0],
						    .owner = owner.s,
						    .ctl = &c,
						    .target = &t,
						    .keep = true },
			     &r);
	if (code)
		return code;
	if (!reply_get(&r, "token"))
		return report_errno(a, a->rest[0], -EPROTO);
	if (args_has(a, "json"))
		field_print_reply(t.mount, &r);
	else
		puts(reply_get(&r, "token"));
	return EXIT_OK;
}

static const char *const usage[] = { "[--ttl TIME] [-w TIME] [-o NAME] [--json] PATH", NULL };
static const struct option_spec options[] = { OPTION_TTL,   OPTION_WAIT, OPTION_NO_WAIT,
					      OPTION_OWNER, OPTION_JSON, OPTION_END };
static const int exits[] = { 10, 11, 12, 15, 0 };

const struct verb verb_acquire = {
	.name = "acquire",
	.summary = "Take the lease on a path and print its token",
	.usage = usage,
	.about = "For scripts; fence run does this by itself. The token is higher than all\n"
		 "before it and shuts them out of PATH and everything beneath it. Without\n"
		 "--wait, the exit status is 11 at once if somebody else holds the lease; with\n"
		 "it, those who wait are served in the order in which they came. The lease\n"
		 "lasts until fence release, or for --ttl after the last fence renew. Its end\n"
		 "takes nothing back: the token may write until somebody takes the next lease.",
	.examples = "FENCE_TOKEN=$(fence acquire --ttl 5m --wait 1h /mnt/shared/reports) || exit\n"
		    "export FENCE_TOKEN\n"
		    "fence put report.csv /mnt/shared/reports/\n"
		    "fence release /mnt/shared/reports",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
