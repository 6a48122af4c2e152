/* SPDX-License-Identifier: MIT */
/*
 * The service: a store being served. Owns the committer, the sealers, the notifier, the verifier
 * and the housekeeper threads. Knows nothing of FUSE: what must be told to a kernel goes through
 * struct kernel_hooks.
 */
#ifndef FENCE_CORE_CORE_H
#define FENCE_CORE_CORE_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct core;
struct store;
struct view;

/*
 * Called from core's notifier thread only (but flush_file), no lock held, never from a request
 * handler. They return when the kernel has dropped what it cached. Errors (name not cached,
 * unmounted) are the callee's to ignore.
 */
struct kernel_hooks {
	void *arg;
	/*
	 * The dentry `name`, positive or negative, below directory @dir (a store id) in every view
	 * whose inode for @dir is known.
	 */
	void (*drop_name)(void *arg, int64_t dir, const char *name);
	/* Attributes (and listing) of directory @dir in every view. */
	void (*drop_dir)(void *arg, int64_t dir);
	/* `.fence/sessions/ID` is gone (ended). */
	void (*drop_session)(void *arg, const char *id);
	/*
	 * What programs have stored in mapped pages of file @id of session @v is written back to
	 * us, by requests that come before this returns. From a pool thread.
	 */
	void (*flush_file)(void *arg, const struct view *v, int64_t id);
};

struct core_options {
	const char *mountpoint; /* borrowed for the life of core; for hello and messages */
	const char *
		features; /* comma-separated, for hello; borrowed, may be changed by core_set_features() */
	int64_t session_ttl_ns; /* of keep=1 sessions without ttl=; 0: one hour */
};

/* Takes ownership of @store on success. */
int core_start(struct store *store, const struct core_options *opt,
	       const struct kernel_hooks *hooks, struct core **out);
/*
 * Finishes accepted commits, refuses new ones (ESHUTDOWN), ends sessions, joins the threads. Call
 * before unmounting: completions still fire.
 */
void core_shutdown(struct core *c);
/*
 * Nobody can read from here on, so core_shutdown(), on whichever thread, need not wait until
 * replies have been read.
 */
void core_cut_off(struct core *c);
/* After the last request was answered: closes the store. */
void core_free(struct core *c);
void core_set_features(struct core *c, const char *features);

/*
 * Open the store at @path for serving and start: store_open() and core_start() in one, with the
 * former's errors and sentence.
 */
int core_serve(const char *path, const struct core_options *opt, const struct kernel_hooks *hooks,
	       struct core **out, struct errmsg *msg);

/*
 * Who serves the store at @path: *out_pid 0 if nobody does. @mountpoint: FENCE_PATH_MAX + 1 bytes,
 * "" if it is not known.
 */
int core_holder(const char *path, int *out_pid, char *mountpoint);

struct store *core_store(struct core *c); /* borrowed */
int core_statvfs(struct core *c, struct statvfs *out);
struct view *core_live_view(struct core *c); /* borrowed, lives as long as core */

#endif
