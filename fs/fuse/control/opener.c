/* SPDX-License-Identifier: MIT */
/* See opener.h. Layer: fuse. */
#include "fuse/control/opener.h"

#include "core/access/caller.h"

void opener_of(fuse_req_t req, struct caller *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int n;

	out->uid = ctx->uid;
	out->gid = ctx->gid;
	out->pid = ctx->pid;
	/*
	 * The caller waits in open(2), so its pid is its own. Groups that cannot be read, or do not
	 * fit, give no rights.
	 */
	n = fuse_req_getgroups(req, CALLER_GROUPS_MAX, out->groups);
	out->n_groups = n < 0 ? 0 : n;
	if (out->n_groups > CALLER_GROUPS_MAX)
		out->n_groups = CALLER_GROUPS_MAX;
}
