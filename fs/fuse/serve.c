/* SPDX-License-Identifier: MIT */
/*
 * Serving a store. Layer: fuse.
 *
 * The end, whichever way it comes: core finishes what it has accepted while replies still reach the
 * kernel; the loop ends; the mount goes; what the kernel had left open is closed; the store is
 * closed.
 */
#include "fuse/serve.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "core/core.h"
#include "fuse/mount/covered.h"
#include "fuse/mount/mount_failure.h"
#include "fuse/mount/notify_socket.h"
#include "fuse/mount/options.h"
#include "fuse/mount/stale.h"
#include "fuse/ops/fs_ops.h"
#include "fuse/ops/invalidate.h"
#include "fuse/ops/op_time.h"
#include "fuse/state/fs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fuse_opt.h>

/* A worker is busy while core reads; requests that wait are parked and hold none. */
#define WORKERS_PER_CPU 4
#define WORKERS_MIN	8
#define WORKERS_MAX	32

#define END_WAIT_MS 5000 /* for a daemon that has lost its mount to end */
#define END_POLL_MS 10

struct server {
	struct fs *fs;
	struct core *core;
	struct fuse_session *session;
	pthread_t signals;
	bool waits_for_signals;
	bool has_said_stopping; /* of the thread that waits for signals, until it is joined */
};

__attribute__((format(printf, 2, 0))) static void log_of_libfuse(enum fuse_log_level level,
								 const char *fmt, va_list ap)
{
	static const enum log_level levels[] = {
		[FUSE_LOG_EMERG] = LOG_LEVEL_ERROR,	[FUSE_LOG_ALERT] = LOG_LEVEL_ERROR,
		[FUSE_LOG_CRIT] = LOG_LEVEL_ERROR,	[FUSE_LOG_ERR] = LOG_LEVEL_ERROR,
		[FUSE_LOG_WARNING] = LOG_LEVEL_WARNING, [FUSE_LOG_NOTICE] = LOG_LEVEL_INFO,
		[FUSE_LOG_INFO] = LOG_LEVEL_INFO,	[FUSE_LOG_DEBUG] = LOG_LEVEL_DEBUG,
	};
	char line[1024];
	size_t len;

	vsnprintf(line, sizeof(line), fmt, ap);
	len = strlen(line);
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	log_msg(levels[level], "%s", line);
}

/*
 * The signals that end the daemon: blocked everywhere, so that sigwait() gets them on a thread that
 * may do anything.
 */
static void end_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGHUP);
}

static void say_stopping(struct server *s)
{
	if (s->fs->watchdog.notify && !s->has_said_stopping)
		notify_socket_say(s->fs->watchdog.notify, "STOPPING=1",
				  "finishing what was accepted");
	s->has_said_stopping = true;
}

static void *wait_for_signal(void *arg)
{
	struct server *s = arg;
	sigset_t set;
	int sig;

	end_signals(&set);
	while (sigwait(&set, &sig) != 0)
		;
	/* From here on to the end of the thread it is waited for, not cancelled. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	log_info("signal %d (%s): finishing", sig, strsignal(sig));
	say_stopping(s);
	core_shutdown(s->core);
	fuse_session_exit(s->session);
	return NULL;
}

static int start_signals(struct server *s)
{
	int err = pthread_create(&s->signals, NULL, wait_for_signal, s);

	s->waits_for_signals = !err;
	return -err;
}

static void stop_signals(struct server *s)
{
	if (!s->waits_for_signals)
		return;
	pthread_cancel(s->signals);
	pthread_join(s->signals, NULL);
}

static bool uring_is_enabled(void)
{
	FILE *f = fopen("/sys/module/fuse/parameters/enable_uring", "re");
	int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c == 'Y' || c == '1';
}

/*
 * io_uring is off unless asked for. Measured on two CPUs it makes small requests cheaper by a third
 * at best, and with libfuse 3.18 (all of it seen, the last one read):
 *  - FUSE_INTERRUPT finds no request that came over the ring (lib/fuse_uring.c): whoever waits in
 *    a parked request cannot be killed;
 *  - a parked request keeps its ring entry, and there are 8 for each CPU: 8 waiting callers stop
 *    all others of that CPU;
 *  - a reply from another thread races with the ring thread for the submission queue, and may be
 *    lost (libfuse issue 1443, fixed after 3.18).
 */
static bool want_uring(const struct options *o)
{
	if (o->io_uring != CHOICE_ON)
		return false;
	if (fuse_version() < 318 || !uring_is_enabled()) {
		log_warning("no io_uring: it takes libfuse 3.18 and fuse.enable_uring=Y");
		return false;
	}
	log_warning("io_uring: whoever waits in a ctl file cannot be killed, and 8 who wait on one "
		    "CPU stop all others there");
	return true;
}

/*
 * Added one by one to *opts, which is freed by the caller. fsname is the store as given: else
 * `mount -a` would mount it twice.
 */
static int add_mount_options(const struct options *o, bool uring, char **opts)
{
	auto_free char *source = NULL;
	bool failed = asprintf(&source, "fsname=%s", o->store) < 0;

	/* Without default_permissions, allow_other would mean that nothing is checked. */
	failed = failed || fuse_opt_add_opt(opts, "subtype=fencefs,default_permissions") < 0;
	failed = failed || fuse_opt_add_opt_escaped(opts, source) < 0;
	if (geteuid() == 0)
		failed = failed || fuse_opt_add_opt(opts, "allow_other") < 0;
	if (o->mount)
		failed = failed || fuse_opt_add_opt(opts, o->mount) < 0;
	if (o->debug)
		failed = failed || fuse_opt_add_opt(opts, "debug") < 0;
	if (uring)
		failed = failed || fuse_opt_add_opt(opts, "io_uring") < 0;
	return failed ? -ENOMEM : 0;
}

static struct fuse_session *session_new(const struct options *o, struct fs *fs)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops ops = fs_ops;
	auto_free char *opts = NULL;
	struct fuse_session *se = NULL;

	/* Tests of libfuse itself switch it on by this. */
	unsetenv("FUSE_URING_ENABLE");
	op_time_install(&ops);
	if (!add_mount_options(o, fs->want_uring, &opts) && !fuse_opt_add_arg(&args, "fencefs") &&
	    !fuse_opt_add_arg(&args, "-o") && !fuse_opt_add_arg(&args, opts))
		se = fuse_session_new(&args, &ops, sizeof(ops), fs);
	fuse_opt_free_args(&args);
	return se;
}

static unsigned int worker_count(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN) * WORKERS_PER_CPU;

	if (n < WORKERS_MIN)
		return WORKERS_MIN;
	return n > WORKERS_MAX ? WORKERS_MAX : (unsigned int)n;
}

static int loop(struct server *s)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (!config)
		return -ENOMEM;
	/* A device descriptor for each worker: their queues do not contend. */
	fuse_loop_cfg_set_clone_fd(config, 1);
	fuse_loop_cfg_set_max_threads(config, s->fs->watchdog.workers);
	err = fuse_session_loop_mt(s->session, config);
	fuse_loop_cfg_destroy(config);
	return err;
}

static int mount_and_loop(struct server *s, const struct options *o,
			  const struct serve_place *place, struct errmsg *err)
{
	int e;

	s->session = session_new(o, s->fs);
	if (!s->session)
		return errmsg_set(err, -EINVAL, "libfuse refuses the mount options");
	atomic_store(&s->fs->session, s->session);
	covered_warn(place->mountpoint);
	e = start_signals(s);
	if (e < 0)
		return errmsg_set(err, e, "cannot start a thread: %s", strerror(-e));
	if (fuse_session_mount(s->session, place->mountpoint) != 0)
		return mount_failure(o, place->mountpoint, err);
	e = loop(s);
	if (e)
		log_error("the loop of requests ended: %s", e < 0 ? strerror(-e) : "error");
	return 0;
}

/* The store is in use by a daemon whose mount has gone: it is about to end. */
static bool is_ending(const char *store)
{
	char mountpoint[FENCE_PATH_MAX + 1];
	int pid;

	if (core_holder(store, &pid, mountpoint) < 0)
		return false;
	if (pid == 0) /* it has ended since */
		return true;
	return *mountpoint && !stale_is_mounted(mountpoint);
}

/*
 * umount(8) returns before the daemon has closed the store, so `umount DIR; mount DIR` finds it in
 * use. A daemon that still has its mount, or one that files keep alive after `umount -l`, is not
 * waited for (longer).
 */
static int open_store(struct server *s, const struct serve_place *place,
		      const struct core_options *options, const struct kernel_hooks *hooks,
		      struct errmsg *err)
{
	const struct timespec pause = { .tv_nsec = END_POLL_MS * 1000000L };
	int e = core_serve(place->store, options, hooks, &s->core, err);

	for (int waited = 0; e == -EBUSY && waited < END_WAIT_MS && is_ending(place->store);
	     waited += END_POLL_MS) {
		nanosleep(&pause, NULL);
		e = core_serve(place->store, options, hooks, &s->core, err);
	}
	return e;
}

/*
 * Beneath the mount the store's path would lead to ourselves: SQLite opens its files by it, and a
 * worker would wait for an answer from another until none is left.
 */
static int check_place(const struct serve_place *place, struct errmsg *err)
{
	if (!path_is_within(place->store, place->mountpoint))
		return 0;
	return errmsg_set(err, -EINVAL,
			  "the store %s lies beneath %s: mounted there, it would be hidden",
			  place->store, place->mountpoint);
}

static int run(struct server *s, const struct options *o, const struct serve_place *place,
	       struct errmsg *err)
{
	struct kernel_hooks hooks;
	const struct core_options options = { .mountpoint = place->mountpoint, .features = "" };
	int e;

	invalidate_hooks(s->fs, &hooks);
	e = open_store(s, place, &options, &hooks, err);
	if (e < 0)
		return e;
	e = check_place(place, err);
	if (!e)
		e = stale_clear(place->mountpoint, o->store, place->store, err);
	if (!e && fs_attach(s->fs, s->core) < 0)
		e = errmsg_set(err, -ENOMEM, "not enough memory");
	if (!e)
		e = mount_and_loop(s, o, place, err);

	core_cut_off(s->core); /* nobody answers the kernel any more */
	stop_signals(s);
	if (!e)
		say_stopping(s);
	core_shutdown(s->core);
	if (s->session)
		fuse_session_unmount(s->session);
	fs_detach(s->fs);
	if (s->session)
		fuse_session_destroy(s->session);
	core_free(s->core);
	return e;
}

int serve(const struct options *o, const struct serve_place *place, struct errmsg *err)
{
	struct server s = { .fs = NULL };
	sigset_t set;
	int e;

	signal(SIGPIPE, SIG_IGN);
	end_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fuse_set_log_func(log_of_libfuse);
	e = fs_new(&s.fs);
	if (e < 0)
		return errmsg_set(err, e, "not enough memory");
	/* Registering a backing file takes CAP_SYS_ADMIN; backing_open() finds out for certain. */
	s.fs->want_passthrough = o->passthrough == CHOICE_ON ||
				 (o->passthrough == CHOICE_AUTO && geteuid() == 0);
	s.fs->want_uring = want_uring(o);
	s.fs->ready = place->ready;
	s.fs->ready_arg = place->ready_arg;
	s.fs->watchdog.notify = place->notify;
	s.fs->watchdog.workers = worker_count();
	e = run(&s, o, place, err);
	fs_free(s.fs);
	return e;
}
