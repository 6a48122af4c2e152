/* SPDX-License-Identifier: MIT */
/* See lease_owner.h. Layer: tools. */
#include "client/lease_owner.h"

#include "client/identity.h"

#include <stdlib.h>
#include <string.h>

static bool is_named(const struct args *a)
{
	const char *owner = args_get(a, "owner");

	if (!owner || !*owner)
		owner = getenv("FENCE_OWNER");
	return owner && *owner;
}

/* False: no lease of this token is there. */
static bool ask(struct ctl_client *c, const struct target *t, const char *token, struct buf *out)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *held;

	line_begin(&req, "stat");
	line_field(&req, "path", t->path);
	if (ctl_client_call(c, &req, &r) < 0 || r.err)
		return false;
	held = reply_get(&r, "lease_token");
	if (!held || strcmp(held, token) != 0 || !reply_get(&r, "lease_owner"))
		return false;
	buf_str(out, reply_get(&r, "lease_owner"));
	return true;
}

void lease_owner(const struct args *a, struct ctl_client *c, const struct target *t,
		 const char *token, struct buf *out)
{
	if (is_named(a) || !ask(c, t, token, out))
		identity_owner(a, out);
}
