/* SPDX-License-Identifier: MIT */
/* See run_options.h. Layer: tools. */
#include "run/run_options.h"

#include "wire/duration.h"
#include "out/exit_code.h"
#include "client/identity.h"
#include "client/lease_client.h"
#include "out/report.h"

#include <stdlib.h>
#include <string.h>

#define KILL_AFTER "5s"

const struct option_spec run_option_table[] = {
	OPTION_TTL,
	OPTION_WAIT,
	OPTION_NO_WAIT,
	OPTION_OWNER,
	{ "token", 't', "N", "take no lease: the token is N; default: $FENCE_TOKEN, if set" },
	{ "no-lease", 0, NULL, "take no lease; there must be a token" },
	{ "on-loss", 0, "term|ignore",
	  "if the lease is lost: end CMD (default), or let it go on until its commit decides" },
	{ "kill-after", 'k', "TIME", "how long after SIGTERM such a CMD is killed; default: 5s" },
	{ "conflict-exit-code", 'E', "CODE",
	  "the status if the lease is held or waiting timed out; default: 11 and 12" },
	OPTION_PARENTS,
	OPTION_END,
};

static int parse_on_loss(struct run_options *o)
{
	const char *s = args_get(o->args, "on-loss");

	o->ignores_loss = s && strcmp(s, "ignore") == 0;
	if (!s || o->ignores_loss || strcmp(s, "term") == 0)
		return EXIT_OK;
	return report_usage(o->args, "--on-loss is term or ignore, not \"%s\"", s);
}

static int parse_time(const struct args *a, const char *name, const char *otherwise, int64_t *out)
{
	const char *s = args_get(a, name);

	if (duration_parse(s ? s : otherwise, out) == 0)
		return EXIT_OK;
	return report_usage(a, "\"%s\" is not a time such as 5s, 1m30s, 500ms", s);
}

static int parse_held_code(struct run_options *o)
{
	const char *s = args_get(o->args, "conflict-exit-code");

	o->held_code = -1;
	if (!s)
		return EXIT_OK;
	if (!*s || strlen(s) > 3 || strspn(s, "0123456789") != strlen(s) || atoi(s) > 255)
		return report_usage(o->args, "\"%s\" is not an exit status: 0 to 255", s);
	o->held_code = atoi(s);
	return EXIT_OK;
}

/*
 * Within another fence run $FENCE_TOKEN is the token of that one's lease, which says nothing of
 * other paths; $FENCE_SESSION tells.
 */
static bool has_outer_token(void)
{
	const char *token = getenv("FENCE_TOKEN"), *session = getenv("FENCE_SESSION");

	return token && *token && !(session && *session);
}

static int parse_token(struct run_options *o)
{
	const struct args *a = o->args;

	o->token = NULL;
	if (!args_has(a, "token") && !args_has(a, "no-lease") && !has_outer_token())
		return EXIT_OK;
	o->token = identity_token(a);
	return o->token ? EXIT_OK : EXIT_USAGE;
}

int run_options_parse(const struct args *a, struct run_options *out)
{
	struct run_options o = { .args = a, .path = a->rest[0] };
	int code = parse_on_loss(&o);

	if (code == EXIT_OK)
		code = parse_time(a, "kill-after", KILL_AFTER, &o.kill_after);
	if (code == EXIT_OK)
		code = parse_time(a, "ttl", LEASE_TTL, &o.ttl);
	if (code == EXIT_OK)
		code = parse_held_code(&o);
	if (code == EXIT_OK)
		code = parse_token(&o);
	if (code != EXIT_OK)
		return code;
	o.command = calloc((size_t)a->n, sizeof(*o.command));
	if (!o.command)
		return report_error(a, NULL, 0, "out of memory");
	memcpy(o.command, a->rest + 1, (size_t)(a->n - 1) * sizeof(*o.command));
	*out = o;
	return EXIT_OK;
}

void run_options_fini(struct run_options *o)
{
	free(o->command);
	o->command = NULL;
}
