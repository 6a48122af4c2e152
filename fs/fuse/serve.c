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
#include "fuse/kernel_session.h"
#include "fuse/mount/covered.h"
#include "fuse/mount/mount_failure.h"
#include "fuse/mount/notify_socket.h"
#include "fuse/mount/options.h"
#include "fuse/mount/stale.h"
#include "fuse/ops/fs_ops.h"
#include "fuse/ops/invalidate.h"
#include "fuse/state/fs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fuse_lowlevel.h>

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

static int mount_and_loop(struct server *s, const struct options *o,
			  const struct serve_place *place, struct errmsg *err)
{
	int e;

	s->session = kernel_session_new(o, s->fs);
	if (!s->session)
		return errmsg_set(err, -EINVAL, "libfuse refuses the mount options");
	atomic_store(&s->fs->session, s->session);
	covered_warn(place->mountpoint);
	e = start_signals(s);
	if (e < 0)
		return errmsg_set(err, e, "cannot start a thread: %s", strerror(-e));
	if (fuse_session_mount(s->session, place->mountpoint) != 0)
		return mount_failure(o, place->mountpoint, err);
	e = kernel_session_loop(s->session, s->fs->watchdog.workers);
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
	e = fs_new(&s.fs);
	if (e < 0)
		return errmsg_set(err, e, "not enough memory");
	kernel_session_wants(o, s.fs);
	s.fs->ready = place->ready;
	s.fs->ready_arg = place->ready_arg;
	s.fs->watchdog.notify = place->notify;
	e = run(&s, o, place, err);
	fs_free(s.fs);
	return e;
}
