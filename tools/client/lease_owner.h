/* SPDX-License-Identifier: MIT */
/* In whose name a lease is renewed or released. Layer: tools. */
#ifndef FENCE_TOOLS_CLIENT_LEASE_OWNER_H
#define FENCE_TOOLS_CLIENT_LEASE_OWNER_H

#include "parse/args.h"
#include "parse/buf.h"
#include "client/ctl_client.h"
#include "client/target.h"

/*
 * Under which owner's name the lease of @token on @t stands: --owner or $FENCE_OWNER, else what the
 * daemon says. The command substitution that took it may have had another pid than the script has,
 * so the name that identity_owner() makes up need not be the same twice.
 */
void lease_owner(const struct args *a, struct ctl_client *c, const struct target *t,
		 const char *token, struct buf *out);

#endif
