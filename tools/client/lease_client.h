/* SPDX-License-Identifier: MIT */
/* Leases as a client takes them. */
#ifndef FENCE_TOOLS_CLIENT_LEASE_CLIENT_H
#define FENCE_TOOLS_CLIENT_LEASE_CLIENT_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "client/target.h"

#include <stdbool.h>
#include <stdint.h>

#define LEASE_TTL "30s" /* where --ttl is not given */

#define OPTION_TTL                                                                               \
	{                                                                                        \
		"ttl", 0, "TIME", "how long the lease lasts without being renewed; default: 30s" \
	}
#define OPTION_WAIT                                                                     \
	{                                                                               \
		"wait", 'w', "TIME", "how long to wait for the lease, such as 90s, 10m" \
	}
#define OPTION_NO_WAIT                                                        \
	{                                                                     \
		"no-wait", 'n', NULL, "do not wait if somebody else holds it" \
	}

struct lease_query {
	const struct args *args; /* --ttl, --wait, --no-wait */
	const char *name;	 /* the path as the user gave it */
	const char *owner;
	struct ctl_client *ctl;
	const struct target *target;
	bool keep;  /* the lease outlives the conversation */
	bool waits; /* where neither --wait nor --no-wait is given */
};

/* 0 with the grant in *out (token, expires_in), or the exit code; has said what went wrong. */
int lease_acquire(const struct lease_query *q, struct reply *out);

#endif
