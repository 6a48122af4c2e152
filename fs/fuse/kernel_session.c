/* SPDX-License-Identifier: MIT */
/* The session with the kernel: libfuse's options, log, threads and loop. Layer: fuse. */
#include "fuse/kernel_session.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "fuse/mount/options.h"
#include "fuse/ops/fs_ops.h"
#include "fuse/ops/op_time.h"
#include "fuse/state/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fuse_opt.h>

/* A worker is busy while core reads; requests that wait are parked and hold none. */
#define WORKERS_PER_CPU 4
#define WORKERS_MIN	8
#define WORKERS_MAX	32

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
		log_warning("no io_uring: it needs libfuse 3.18 and fuse.enable_uring=Y");
		return false;
	}
	log_warning(
		"io_uring: a process that waits on a ctl file cannot be killed, and 8 that wait "
		"on one CPU block all others there");
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

struct fuse_session *kernel_session_new(const struct options *o, struct fs *fs)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops ops = fs_ops;
	auto_free char *opts = NULL;
	struct fuse_session *se = NULL;

	/* Tests of libfuse itself switch it on by this. */
	unsetenv("FUSE_URING_ENABLE");
	op_time_install(&ops);
	fuse_set_log_func(log_of_libfuse);
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

void kernel_session_wants(const struct options *o, struct fs *fs)
{
	/* Registering a backing file takes CAP_SYS_ADMIN; backing_open() finds out for certain. */
	fs->want_passthrough = o->passthrough == CHOICE_ON ||
			       (o->passthrough == CHOICE_AUTO && geteuid() == 0);
	fs->want_uring = want_uring(o);
	fs->watchdog.workers = worker_count();
}

int kernel_session_loop(struct fuse_session *se, unsigned int workers)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (!config)
		return -ENOMEM;
	/* A device descriptor for each worker: their queues do not contend. */
	fuse_loop_cfg_set_clone_fd(config, 1);
	fuse_loop_cfg_set_max_threads(config, workers);
	err = fuse_session_loop_mt(se, config);
	fuse_loop_cfg_destroy(config);
	return err;
}
