/* SPDX-License-Identifier: MIT */
/* What core asks of whoever shows it to a kernel. Layer: core, room service. */
#ifndef FENCE_CORE_SERVICE_KERNEL_HOOKS_H
#define FENCE_CORE_SERVICE_KERNEL_HOOKS_H

#include <stdint.h>

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
	/* comma-separated, for hello; borrowed, may be changed by core_set_features() */
	const char *features;
	int64_t session_ttl_ns; /* of keep=1 sessions without ttl=; 0: one hour */
};

#endif
