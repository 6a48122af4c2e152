/* SPDX-License-Identifier: MIT */
/* fence restore: publish an old version of a file again. Layer: tools. */
#include "cmd/cmd.h"

#include "client/client.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "client/identity.h"
#include "out/report.h"
#include "client/version_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct restoring {
	const struct args *args;
	const struct version_arg *version;
	struct target target;  /* owned */
	struct ctl_client ctl; /* owned */
	struct buf owner;      /* owned */
	char token[32];
};

static void restoring_fini(struct restoring *r)
{
	target_fini(&r->target);
	ctl_client_close(&r->ctl);
	buf_fini(&r->owner);
}

#define auto_restoring __attribute__((cleanup(restoring_fini)))

static int acquire(struct restoring *r)
{
	static const char *const names[] = { "wait", NULL };
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	const char *token;
	int code;

	line_begin(&req, "acquire");
	line_field(&req, "path", r->target.path);
	line_field(&req, "ttl", "30s");
	line_field(&req, "owner", r->owner.s);
	client_add_options(&req, r->args, names);
	code = client_call(r->args, r->version->given, &r->ctl, &req, &reply);
	if (code)
		return code;
	token = reply_get(&reply, "token");
	snprintf(r->token, sizeof(r->token), "%s", token ? token : "");
	return EXIT_OK;
}

/*
 * Also after a failure. It would end with the conversation anyway; so its own failure is no news.
 */
static void release(struct restoring *r)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };

	line_begin(&req, "release");
	line_field(&req, "path", r->target.path);
	line_field(&req, "token", r->token);
	line_field(&req, "owner", r->owner.s);
	ctl_client_call(&r->ctl, &req, &reply);
}

static int restore(struct restoring *r, struct reply *out)
{
	static const char *const names[] = { "op", "once", "parents", NULL };
	auto_line struct line req = { 0 };

	line_begin(&req, "restore");
	line_field(&req, "path", r->target.path);
	line_field(&req, "token", r->token);
	line_field(&req, "version", r->version->number);
	line_field(&req, "owner", r->owner.s);
	client_add_options(&req, r->args, names);
	return client_call(r->args, r->version->given, &r->ctl, &req, out);
}

static int tell(const struct restoring *r, const struct reply *reply)
{
	const char *revision = reply_get(reply, "revision");
	auto_buf struct buf name = { 0 };

	if (args_has(r->args, "json")) {
		field_print_reply(r->target.mount, reply);
	} else if (args_has(r->args, "verbose")) {
		display_name(&name, r->version->path.s);
		printf("%s: revision %s has the content of version %s, under token %s\n", name.s,
		       revision ? revision : "?", r->version->number, r->token);
	}
	return EXIT_OK;
}

/* How the command line says under which token. */
static int choose_token(const struct args *a, struct restoring *r)
{
	const char *token;

	if (args_has(a, "lease") && args_has(a, "token"))
		return report_usage(a, "only one of --token and --lease");
	if (args_has(a, "wait") && !args_has(a, "lease"))
		return report_usage(a, "--wait belongs to --lease");
	if (args_has(a, "lease"))
		return EXIT_OK;
	token = identity_token(a);
	if (!token)
		return EXIT_USAGE;
	snprintf(r->token, sizeof(r->token), "%s", token);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_version_arg struct version_arg v = { 0 };
	auto_restoring struct restoring r = { .args = a, .version = &v, .ctl = CTL_CLIENT_CLOSED };
	auto_reply struct reply reply = { 0 };
	int code;

	version_arg_parse(a->rest[0], &v);
	if (v.kind != VERSION_NUMBER)
		return report_usage(a, "\"%s\" names no version: PATH@N", a->rest[0]);
	code = choose_token(a, &r);
	if (code == EXIT_OK)
		code = client_open(a, v.path.s, &r.target, &r.ctl);
	if (code)
		return code;
	identity_owner(a, &r.owner);
	if (args_has(a, "lease"))
		code = acquire(&r);
	if (code)
		return code;
	code = restore(&r, &reply);
	if (args_has(a, "lease"))
		release(&r);
	return code ? code : tell(&r, &reply);
}

static const char *const usage[] = {
	"[-v] [--json] [-p] [-o NAME] [--op KEY] -t TOKEN PATH@N",
	"[-v] [--json] [-p] [-o NAME] --lease [--wait D] PATH@N",
	NULL,
};
static const struct option_spec options[] = {
	OPTION_TOKEN,
	{ "lease", 'l', NULL, "take a lease on PATH for this, and release it again" },
	{ "wait", 'w', "D", "with --lease: how long to wait for it, such as 60s, 10m" },
	OPTION_OWNER,
	OPTION_PARENTS,
	OPTION_OP,
	OPTION_ONCE,
	OPTION_VERBOSE,
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 11, 12, 13, 15, 0 };

const struct verb verb_restore = {
	.name = "restore",
	.summary = "Publish an old version of a file again",
	.usage = usage,
	.about = "Makes a new version with the content of version N, which is not copied. The\n"
		 "path may have been removed since. Mode and owner stay those of what is there\n"
		 "now. To restore a directory, copy it from .fence/at/REV/ in a session.",
	.examples = "fence restore --lease /mnt/shared/reports/a.csv@3",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
