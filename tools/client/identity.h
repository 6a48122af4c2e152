/* SPDX-License-Identifier: MIT */
/* Who asks: the owner's name and the token, from the command line or the environment. */
#ifndef FENCE_TOOLS_CLIENT_IDENTITY_H
#define FENCE_TOOLS_CLIENT_IDENTITY_H

#include "parse/args.h"
#include "parse/buf.h"

/*
 * --owner, else $FENCE_OWNER, else user@host:pid, where pid is the calling process's (this one is
 * gone in a moment).
 */
void identity_owner(const struct args *a, struct buf *out);
/* The same with this process's own pid, for verbs that stay. */
void identity_owner_here(const struct args *a, struct buf *out);
/* --token, else $FENCE_TOKEN: the digits, checked. NULL after report_usage(). */
const char *identity_token(const struct args *a);

#endif
