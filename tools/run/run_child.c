/* SPDX-License-Identifier: MIT */
/* See run_child.h. Layer: tools. */
#include "run/run_child.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {
	SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT,
};

/* What we have been told to ignore (nohup) stays so for us and for the job. */
static bool is_ignored(int sig)
{
	struct sigaction act;

	return sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN;
}

/* All are blocked, so that another thread has none of them; those of *out are read. */
static int block_signals(struct run_child *c)
{
	struct sigaction deaf = { .sa_handler = SIG_DFL };
	sigset_t ours, all;

	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		if (!is_ignored(forwarded[i]))
			sigaddset(&ours, forwarded[i]);
	sigaction(SIGCHLD, &deaf, NULL); /* an inherited SIG_IGN would hide the job's end */
	sigaddset(&ours, SIGCHLD);
	all = ours;
	sigaddset(&all, SIGTTOU); /* tcsetpgrp(3) from the background */
	if (sigprocmask(SIG_BLOCK, &all, &c->old) < 0)
		return -errno;
	c->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? -errno : 0;
}

static bool is_foreground(void)
{
	return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

struct start {
	const char *program;
	char *const *argv;
	const sigset_t *mask;
	bool takes_tty, dies_along;
	pid_t parent;
	int report; /* where the errno of a failure goes */
};

static void exec_script(const struct start *s)
{
	size_t n = 0;
	char **argv;

	while (s->argv[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = (char *)(uintptr_t) "sh";
	argv[1] = (char *)(uintptr_t)s->program;
	for (size_t i = 1; i < n; i++)
		argv[i + 1] = s->argv[i];
	execv("/bin/sh", argv);
}

static void in_child(const struct start *s)
{
	int err;
	ssize_t n;

	setpgid(0, 0);
	if (s->takes_tty)
		tcsetpgrp(STDIN_FILENO, getpid());
	if (s->dies_along && prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() != s->parent)
		_exit(EXIT_FAILURE);
	sigprocmask(SIG_SETMASK, s->mask, NULL);
	execv(s->program, s->argv);
	if (errno == ENOEXEC) /* a script without "#!", as shells and execvp(3) do it */
		exec_script(s);
	err = errno;
	n = write(s->report, &err, sizeof(err));
	_exit(n == sizeof(err) ? EXIT_FAILURE : 127);
}

static int spawn(struct start *s, pid_t *out)
{
	auto_fd int report = -1, failure = -1;
	int ends[2], err = 0;
	pid_t pid;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	report = ends[1];
	failure = ends[0];
	s->report = report;
	s->parent = getpid();
	pid = fork();
	if (pid == 0)
		in_child(s);
	if (pid < 0)
		return -errno;
	close(take_fd(&report));
	do {
		n = read(failure, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n == sizeof(err)) {
		waitpid(pid, NULL, 0);
		return -err;
	}
	*out = pid;
	return 0;
}

int run_child_start(const char *program, char *const *argv, bool dies_along, struct run_child *out)
{
	struct run_child c = { .signals = -1 };
	struct start s = { .program = program, .argv = argv, .dies_along = dies_along };
	int err = block_signals(&c);

	if (!err) {
		s.mask = &c.old;
		s.takes_tty = c.has_tty = is_foreground();
		err = spawn(&s, &c.pid);
	}
	if (err < 0) {
		run_child_fini(&c);
		return err;
	}
	*out = c;
	return 0;
}

void run_child_signal(const struct run_child *c, int sig)
{
	kill(-c->pid, sig);
}

static void take_tty(struct run_child *c)
{
	if (c->has_tty)
		tcsetpgrp(STDIN_FILENO, getpgrp());
	c->has_tty = false;
}

static void give_tty(struct run_child *c)
{
	if (is_foreground())
		c->has_tty = tcsetpgrp(STDIN_FILENO, c->pid) == 0;
}

/*
 * The shell that started us has to see a stopped job. The kernel drops the signal where nobody
 * could continue us; the job goes on at once then.
 */
static void stop_too(struct run_child *c)
{
	sigset_t stop, before;

	take_tty(c);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	kill(getpid(), SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before); /* stops here */
	sigprocmask(SIG_SETMASK, &before, NULL);
	give_tty(c);
	run_child_signal(c, SIGCONT);
}

/* A job that reads the terminal before it is its own, while we are in the foreground, gets it. */
static void on_stop(struct run_child *c, int sig)
{
	c->is_stopped = true;
	if (sig == SIGSTOP)
		return;
	if ((sig == SIGTTIN || sig == SIGTTOU) && is_foreground()) {
		give_tty(c);
		run_child_signal(c, SIGCONT);
		return;
	}
	stop_too(c);
}

static void look(struct run_child *c)
{
	int status;

	while (!c->has_ended && waitpid(c->pid, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
		if (WIFSTOPPED(status)) {
			on_stop(c, WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			c->is_stopped = false;
		} else {
			c->has_ended = true;
			c->status = status;
		}
	}
}

void run_child_handle(struct run_child *c)
{
	struct signalfd_siginfo info;

	while (!c->has_ended && read(c->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCONT)
			give_tty(c);
		if (info.ssi_signo == SIGCHLD)
			look(c);
		else
			run_child_signal(c, (int)info.ssi_signo);
	}
}

void run_child_fini(struct run_child *c)
{
	if (c->signals < 0)
		return;
	take_tty(c);
	cleanup_fd(&c->signals);
	c->signals = -1;
	sigprocmask(SIG_SETMASK, &c->old, NULL);
}

int run_child_code(const struct run_child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
