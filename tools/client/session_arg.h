/* SPDX-License-Identifier: MIT */
/* The session that `fence commit` and `fence abort` are about. */
#ifndef FENCE_TOOLS_CLIENT_SESSION_ARG_H
#define FENCE_TOOLS_CLIENT_SESSION_ARG_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "client/target.h"

#define SESSION_ID_MAX 64

/*
 * The argument is an id, or a path in the session's view; without one it is $FENCE_SESSION, or the
 * session whose view the working directory is in. Opens a conversation with its mount. 0, or the
 * exit code.
 */
int session_arg(const struct args *a, struct target *out_target, struct ctl_client *out_ctl,
		char out_id[SESSION_ID_MAX + 1]);

#endif
