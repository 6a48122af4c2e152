/* SPDX-License-Identifier: MIT */
/* A job: session, child, renewals. Layer: tools. */
#ifndef FENCE_TOOLS_RUN_RUN_JOB_H
#define FENCE_TOOLS_RUN_RUN_JOB_H

#include "run/run_session.h"

/*
 * Start @program, keep the lease while it runs, and end the session by how it ended: commit or
 * abort. The exit code of `fence run`.
 */
int run_job(struct run_session *s, const char *program);

#endif
