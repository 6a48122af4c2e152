/* SPDX-License-Identifier: MIT */
/*
 * What `fence run` asks of the daemon for its job: the lease, the session, and how they end. One
 * conversation holds both, so they end with this process, however it ends.
 */
#ifndef FENCE_TOOLS_RUN_RUN_SESSION_H
#define FENCE_TOOLS_RUN_RUN_SESSION_H

#include "client/ctl_client.h"
#include "run/run_options.h"
#include "client/target.h"

#include <stdbool.h>
#include <stdint.h>

struct run_session {
	const struct run_options *opt;
	struct target target;	/* owned */
	struct ctl_client ctl;	/* owned */
	struct buf owner, view; /* owned; view: absolute path of the session's directory */
	char token[24], id[65];
	bool has_lease;
	int64_t ttl; /* ns; of the lease, or of the one that is not taken */
};

#define RUN_SESSION_NONE                 \
	{                                \
		.ctl = CTL_CLIENT_CLOSED \
	}

/* Take the lease if one is to be taken, open the session. 0, or the exit code. */
int run_session_open(const struct run_options *opt, struct run_session *out);
/*
 * Change into the view of the path if it is a directory there, else of its parent; set the job's
 * environment. 0, or the exit code.
 */
int run_session_enter(const struct run_session *s);
/* Publish, then give the lease back. The exit code. */
int run_session_commit(struct run_session *s);
/* Publish nothing and give the lease back. Silent. */
void run_session_abort(struct run_session *s);
void run_session_fini(struct run_session *s);

#define auto_run_session __attribute__((cleanup(run_session_fini)))

#endif
