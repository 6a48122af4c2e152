/* SPDX-License-Identifier: MIT */
/*
 * Sessions as a client uses them: opened over a conversation, filled through the file system,
 * committed.
 */
#ifndef FENCE_TOOLS_CLIENT_SESSION_CLIENT_H
#define FENCE_TOOLS_CLIENT_SESSION_CLIENT_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "client/target.h"

/* What a verb that works in a session carries around. */
struct client_work {
	const struct args *args;
	const char *name;      /* borrowed; the path as the user gave it */
	const char *token;     /* borrowed */
	struct target target;  /* owned */
	struct ctl_client ctl; /* owned; the session ends with it */
	struct buf dir;	       /* owned; the session's view, absolute */
	char session[65];
};

#define WORK_NONE                        \
	{                                \
		.ctl = CTL_CLIENT_CLOSED \
	}

/*
 * Open a session that claims the target; --owner, --parents, --ttl, --exclusive are taken from the
 * options. 0, or the exit code.
 */
int work_open(struct client_work *w);
/* Commit with what --op and --once say. *out is the reply. */
int work_commit(struct client_work *w, struct reply *out);
/* End it unpublished. Silent. */
void work_abort(struct client_work *w);

/* Absolute path of the claimed path in the view, into @out. */
void work_path(const struct client_work *w, struct buf *out);
/*
 * An operation on @what in the view failed with @err: abort, and say so; for ESTALE, by whom it was
 * overtaken. The exit code.
 */
int work_failed(struct client_work *w, const char *what, int err);
void work_fini(struct client_work *w);

#define auto_work __attribute__((cleanup(work_fini)))

#endif
