/* SPDX-License-Identifier: MIT */
/*
 * mount.fencefs: what mount(8) calls for a file system of type fencefs, or of type fuse.fencefs
 * under that name.
 *
 *   mount.fencefs SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE.SUBTYPE]
 *
 * It sorts the options and runs fencefs, which returns when the mount answers; a watch over the
 * time is all that is added. It needs no environment: mount units have neither PATH nor HOME. Exit
 * statuses are those of mount(8).
 *
 * While an automount point waits for its mount, all who come by wait, but for the process group of
 * who is to mount it (systemd, and what it starts): so none of us leaves that group before it is
 * mounted.
 */
#include "helper_options.h"

#include "base/cleanup.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "mount.fencefs"

/* mount(8), section EXIT STATUS. */
enum { STATUS_OK = 0, STATUS_USAGE = 1, STATUS_SYSTEM = 2, STATUS_MOUNT = 32 };

#define TIMEOUT_DEFAULT 30

struct helper {
	const char *spec, *dir, *namespace;
	bool sloppy, fake, verbose;
	struct helper_options options;
};

static const char usage[] =
	"usage: mount.fencefs STORE DIRECTORY [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]\n"
	"\n"
	"Called by mount(8): mount -t fencefs STORE DIRECTORY\n"
	"\n"
	"  -s  only warn about unknown options   -f  check, and do nothing\n"
	"  -n  ignored                           -v  print what is run\n"
	"  -N  mount in that mount namespace (a path such as /proc/PID/ns/mnt, or a pid)\n";

static int parse_flag(struct helper *h, int flag)
{
	switch (flag) {
	case 's':
		h->sloppy = true;
		return -1;
	case 'f':
		h->fake = true;
		return -1;
	case 'v':
		h->verbose = true;
		return -1;
	case 'n':
	case 't': /* mount(8) says again what it called us by */
	case 'o': /* in a second pass, when -s is known */
		return -1;
	case 'N':
		h->namespace = optarg;
		return -1;
	case 'h':
		fputs(usage, stdout);
		return STATUS_OK;
	case 'V':
		printf(NAME " (fencefs %s)\n", version());
		return STATUS_OK;
	default:
		fputs(usage, stderr);
		return STATUS_USAGE;
	}
}

#define FLAGS "sfnvN:o:t:hV"

/* -1: go on. */
static int parse(struct helper *h, int argc, char **argv)
{
	int flag, status = -1;

	while (status < 0 && (flag = getopt(argc, argv, FLAGS)) != -1)
		status = parse_flag(h, flag);
	if (status >= 0)
		return status;
	if (argc - optind != 2) {
		fputs(usage, stderr);
		return STATUS_USAGE;
	}
	h->spec = argv[optind];
	h->dir = argv[optind + 1];
	optind = 1;
	while ((flag = getopt(argc, argv, FLAGS)) != -1) {
		int err = flag == 'o' ? helper_options_add(&h->options, optarg, h->sloppy) : 0;

		if (err < 0)
			return err == -EINVAL ? STATUS_USAGE : STATUS_SYSTEM;
	}
	return -1;
}

static int enter_namespace(const char *ns)
{
	char path[PATH_MAX];
	auto_fd int fd = -1;

	if (strspn(ns, "0123456789") == strlen(ns))
		snprintf(path, sizeof(path), "/proc/%s/ns/mnt", ns);
	else
		snprintf(path, sizeof(path), "%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0) {
		fprintf(stderr, NAME ": cannot enter the mount namespace %s: %s\n", ns,
			strerror(errno));
		return -1;
	}
	return 0;
}

static int check(const struct helper *h)
{
	struct stat st;

	if (h->options.remount) {
		fprintf(stderr,
			NAME ": %s: fencefs cannot be remounted with other options; unmount, then "
			     "mount again\n",
			h->dir);
		return STATUS_MOUNT;
	}
	if (stat(h->spec, &st) < 0 || !S_ISDIR(st.st_mode)) {
		fprintf(stderr, NAME ": %s is not a store: %s\n", h->spec,
			errno ? strerror(errno) : "not a directory");
		return STATUS_MOUNT;
	}
	/* A dead mount answers ENOTCONN: fencefs clears its own. */
	if (stat(h->dir, &st) < 0 && errno != ENOTCONN) {
		fprintf(stderr, NAME ": mount point %s: %s\n", h->dir, strerror(errno));
		return STATUS_MOUNT;
	}
	return STATUS_OK;
}

/* The daemon of the same installation: in a build tree beside us, else where it was installed. */
static void find_daemon(char out[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		if (snprintf(out, PATH_MAX, "%s/../fs/fencefs", self) < PATH_MAX &&
		    access(out, X_OK) == 0)
			return;
	}
	snprintf(out, PATH_MAX, "%s", FENCEFS_PROGRAM);
}

static void run_daemon(const struct helper *h)
{
	char program[PATH_MAX];
	const char *argv[8];
	int n = 0;

	find_daemon(program);
	argv[n++] = "fencefs";
	if (h->options.pass && *h->options.pass) {
		argv[n++] = "-o";
		argv[n++] = h->options.pass;
	}
	argv[n++] = "--"; /* a spec may begin with '-' */
	argv[n++] = h->spec;
	argv[n++] = h->dir;
	argv[n] = NULL;
	if (h->verbose) {
		fputs(program, stderr);
		for (int i = 1; i < n; i++)
			fprintf(stderr, " %s", argv[i]);
		fputc('\n', stderr);
	}
	execv(program, (char **)(uintptr_t)argv);
	fprintf(stderr, NAME ": cannot run %s: %s\n", program, strerror(errno));
	_exit(127);
}

static int status_of(int wstatus)
{
	if (WIFSIGNALED(wstatus)) {
		fprintf(stderr, NAME ": fencefs was ended by signal %d\n", WTERMSIG(wstatus));
		return STATUS_SYSTEM;
	}
	switch (WEXITSTATUS(wstatus)) {
	case 0:
		return STATUS_OK;
	case 2:
		return STATUS_USAGE;
	case 127:
		return STATUS_SYSTEM;
	default:
		return STATUS_MOUNT;
	}
}

/* SIGCHLD is blocked: it is waited for here, so that the time can run out. */
static int wait_for(const struct helper *h, pid_t pid)
{
	struct timespec left = { .tv_sec = h->options.timeout };
	sigset_t set;
	int wstatus;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(pid, &wstatus, WNOHANG) == 0) {
		if (sigtimedwait(&set, NULL, &left) >= 0 || errno == EINTR)
			continue;
		fprintf(stderr,
			NAME ": %s did not answer within %d s (x-fence.timeout=); giving up\n",
			h->dir, h->options.timeout);
		/* The daemon that it may have started ends when it sees that nobody waits. */
		kill(pid, SIGTERM);
		waitpid(pid, &wstatus, 0);
		return STATUS_MOUNT;
	}
	return status_of(wstatus);
}

static int mount_it(const struct helper *h)
{
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (pid < 0) {
		fprintf(stderr, NAME ": cannot start a process: %s\n", strerror(errno));
		return STATUS_SYSTEM;
	}
	if (pid == 0) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		run_daemon(h);
	}
	return wait_for(h, pid);
}

int main(int argc, char **argv)
{
	struct helper h = { .options.timeout = TIMEOUT_DEFAULT };
	int status = parse(&h, argc, argv);

	if (status < 0)
		status = h.namespace && enter_namespace(h.namespace) < 0 ? STATUS_SYSTEM :
									   check(&h);
	else
		h.fake = true;
	if (status == STATUS_OK && !h.fake)
		status = mount_it(&h);
	helper_options_fini(&h.options);
	return status;
}
