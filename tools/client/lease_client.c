/* SPDX-License-Identifier: MIT */
/* See lease_client.h. Layer: tools. */
#include "client/lease_client.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOR_EVER "3650d"

static void make_request(const struct lease_query *q, const char *wait, struct line *req)
{
	const char *ttl = args_get(q->args, "ttl");

	line_begin(req, "acquire");
	line_field(req, "path", q->target->path);
	line_field(req, "ttl", ttl ? ttl : LEASE_TTL);
	line_field(req, "wait", wait);
	line_field(req, "owner", q->owner);
	if (q->keep)
		line_field(req, "keep", "1");
}

/*
 * The lease that stands in the way is that of the `fence run` that we run under: it would be a wait
 * for ourselves.
 */
static bool is_our_own(const struct reply *r)
{
	const char *held = reply_get(r, "token"), *ours = getenv("FENCE_TOKEN");

	return getenv("FENCE_SESSION") && held && ours && strcmp(held, ours) == 0;
}

/*
 * Before a wait, without one: for somebody who sits there and sees nothing happen, and within a
 * job, which may hold the lease itself. True: *out_code is the end of it.
 */
static bool try_first(const struct lease_query *q, struct reply *out, int *out_code)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *holder;

	make_request(q, NULL, &req);
	if (ctl_client_call(q->ctl, &req, &r) < 0)
		return false;
	if (r.err == 0) {
		*out = r;
		r = (struct reply){ 0 };
		*out_code = EXIT_OK;
		return true;
	}
	holder = reply_get(&r, "holder");
	if (r.err == -EBUSY && is_our_own(&r)) {
		*out_code = report_error(q->args, q->name, -EBUSY,
					 "this job holds a lease that covers it; use its session, "
					 "or its token: --token \"$FENCE_TOKEN\"");
		return true;
	}
	if (r.err == -EBUSY && isatty(STDERR_FILENO))
		report_error(q->args, q->name, 0, "waiting for %s", holder ? holder : "others");
	return false;
}

int lease_acquire(const struct lease_query *q, struct reply *out)
{
	auto_line struct line req = { 0 };
	const char *wait = args_get(q->args, "wait");
	int code;

	if (wait && args_has(q->args, "no-wait"))
		return report_usage(q->args, "only one of --wait and --no-wait");
	if (!wait && q->waits && !args_has(q->args, "no-wait"))
		wait = FOR_EVER;
	if (wait && (isatty(STDERR_FILENO) || getenv("FENCE_SESSION")) && try_first(q, out, &code))
		return code;
	make_request(q, wait, &req);
	return client_call(q->args, q->name, q->ctl, &req, out);
}
