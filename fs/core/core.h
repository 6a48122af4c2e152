/* SPDX-License-Identifier: MIT */
/*
 * The service: a store being served. Owns the committer, the sealers, the notifier, the verifier
 * and the housekeeper threads. Knows nothing of FUSE: what must be told to a kernel goes through
 * struct kernel_hooks.
 */
#ifndef FENCE_CORE_CORE_H
#define FENCE_CORE_CORE_H

#include "base/errmsg.h"
#include "core/service/kernel_hooks.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct core;
struct core_pulse;
struct store;
struct view;

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
/* Once, when the mount answers. */
void core_pulse_start(struct core *c, const struct core_pulse *p);
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
