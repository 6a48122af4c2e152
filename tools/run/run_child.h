/* SPDX-License-Identifier: MIT */
/*
 * The job's process: started in a process group of its own, in the terminal's foreground if we are
 * there; what is sent to us is sent on to that group; when it stops, so do we.
 */
#ifndef FENCE_TOOLS_RUN_RUN_CHILD_H
#define FENCE_TOOLS_RUN_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run_child {
	pid_t pid;	 /* also its group */
	int signals;	 /* owned; signalfd */
	bool has_tty;	 /* the terminal on stdin is the job's */
	bool is_stopped; /* by a signal */
	bool has_ended;
	int status;   /* of waitpid(2), when it has ended */
	sigset_t old; /* our signal mask before */
};

/*
 * Signals are blocked from here to run_child_fini(). With @dies_along the job gets SIGTERM when we
 * die. -errno, that of execve(2) too.
 */
int run_child_start(const char *program, char *const *argv, bool dies_along, struct run_child *out);
/* When c->signals is readable: send on what came, look what became of the job. */
void run_child_handle(struct run_child *c);
/* To the whole group. */
void run_child_signal(const struct run_child *c, int sig);
/* Takes the terminal back, restores the signal mask. The job, if it still runs, is left alone. */
void run_child_fini(struct run_child *c);

/* Its own status, or 128 + the signal that ended it. */
int run_child_code(const struct run_child *c);

#endif
