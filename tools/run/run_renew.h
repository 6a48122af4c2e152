/* SPDX-License-Identifier: MIT */
/*
 * A thread beside the job that renews its lease at a third of its time, on a conversation of its
 * own, so that neither a commit nor a wait is in its way; for a job under a token of somebody else
 * it looks as often whether a higher one has come. What it finds is read by poll(2).
 *
 * Times are CLOCK_BOOTTIME, the daemon's clock for leases: after a suspend it asks at once.
 */
#ifndef FENCE_TOOLS_RUN_RUN_RENEW_H
#define FENCE_TOOLS_RUN_RUN_RENEW_H

#include "wire/reply.h"
#include "run/run_session.h"

#include <stdbool.h>

struct run_renew;

/* @s must stay until run_renew_stop(). -errno. Its thread has the caller's signal mask. */
int run_renew_start(const struct run_session *s, struct run_renew **out);
/* Becomes readable, and stays so, when the lease is lost. */
int run_renew_fd(const struct run_renew *r);
/* Why; NULL while it is not lost. */
const struct reply *run_renew_loss(const struct run_renew *r);
/* A job that is stopped gets no renewals: it holds its lease no longer than its time. */
void run_renew_pause(struct run_renew *r, bool pause);
/* NULL: nothing. */
void run_renew_stop(struct run_renew *r);

#endif
