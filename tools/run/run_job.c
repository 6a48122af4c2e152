/* SPDX-License-Identifier: MIT */
/* See run_job.h. Layer: tools. */
#include "run/run_job.h"

#include "out/exit_code.h"
#include "out/refusal_text.h"
#include "out/report.h"
#include "run/run_child.h"
#include "run/run_renew.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

struct run_job {
	struct run_session *s;
	struct run_child child;
	struct run_renew *renew; /* owned */
	bool is_lost;		 /* said so */
	int64_t kill_at;	 /* CLOCK_MONOTONIC ns; 0: not to be killed */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_loss(struct run_job *j)
{
	const struct run_options *o = j->s->opt;
	const struct reply *why = run_renew_loss(j->renew);
	auto_buf struct buf text = { 0 };

	if (!why)
		return;
	j->is_lost = true;
	refusal_text(&text, o->path, why);
	report_error(o->args, o->path, why->err, "%s lost: %s; %s",
		     j->s->has_lease ? "lease" : "path", text.s,
		     o->ignores_loss ? "the job goes on, and its commit will decide" :
				       "the job is being stopped");
	if (o->ignores_loss)
		return;
	run_child_signal(&j->child, SIGTERM);
	run_child_signal(&j->child, SIGCONT);
	j->kill_at = now_ns() + o->kill_after;
}

static int time_left(const struct run_job *j)
{
	int64_t ns = j->kill_at - now_ns();

	if (!j->kill_at)
		return -1;
	return ns <= 0 ? 0 : (int)(ns / 1000000 < 3600000 ? ns / 1000000 + 1 : 3600000);
}

/* The job's end is looked at before the lease: a job that is done is the commit's to judge. */
static void step(struct run_job *j)
{
	struct pollfd fds[] = { { .fd = j->child.signals, .events = POLLIN },
				{ .fd = j->is_lost ? -1 : run_renew_fd(j->renew),
				  .events = POLLIN } };
	bool was_stopped = j->child.is_stopped;

	if (poll(fds, 2, time_left(j)) < 0)
		return;
	if (fds[0].revents)
		run_child_handle(&j->child);
	if (j->child.has_ended)
		return;
	if (was_stopped != j->child.is_stopped)
		run_renew_pause(j->renew, j->child.is_stopped);
	if (fds[1].revents)
		on_loss(j);
	if (j->kill_at && time_left(j) == 0) {
		run_child_signal(&j->child, SIGKILL);
		j->kill_at = 0;
	}
}

static int cannot_start(const struct run_session *s, int err)
{
	report_error(s->opt->args, s->opt->command[0], err, "%s", strerror(-err));
	switch (err) {
	case -ENOENT:
		return EXIT_RUN_NOT_FOUND;
	case -ENOMEM:
	case -EAGAIN:
	case -EMFILE:
	case -ENFILE:
		return EXIT_RUN_FAILED;
	default:
		return EXIT_RUN_CANNOT;
	}
}

static int wait_for(struct run_job *j)
{
	int err = run_renew_start(j->s, &j->renew);

	if (err < 0) {
		report_errno(j->s->opt->args, j->s->opt->path, err);
		run_child_signal(&j->child, SIGKILL);
		return EXIT_RUN_FAILED;
	}
	while (!j->child.has_ended)
		step(j);
	return EXIT_OK;
}

/* From here on a signal ends us: a commit that hangs must not be one that cannot be left. */
static int finish(struct run_job *j)
{
	const struct run_options *o = j->s->opt;
	int code = run_child_code(&j->child);

	run_child_fini(&j->child);
	if (j->is_lost && !o->ignores_loss) {
		run_session_abort(j->s);
		report_hint("nothing was published; what was refused is kept: fence rejects %s",
			    j->s->target.mount);
		return EXIT_LOST;
	}
	if (code == 0)
		return run_session_commit(j->s);
	run_session_abort(j->s);
	return code;
}

int run_job(struct run_session *s, const char *program)
{
	const struct run_options *o = s->opt;
	struct run_job j = { .s = s };
	int code;
	int err = run_child_start(program, o->command, !o->ignores_loss, &j.child);

	if (err < 0) {
		run_session_abort(s);
		return cannot_start(s, err);
	}
	code = wait_for(&j);
	if (code == EXIT_OK)
		code = finish(&j);
	else
		run_session_abort(s);
	run_renew_stop(j.renew);
	return code;
}
