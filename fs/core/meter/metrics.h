/* SPDX-License-Identifier: MIT */
/*
 * What is counted while a store is served, and how it is told. Counters only grow, from any thread,
 * without a lock; they begin at 0 with the daemon. None is kept for a path, a session or a caller:
 * the text has about the same length whatever is in the store.
 */
#ifndef FENCE_CORE_METER_METRICS_H
#define FENCE_CORE_METER_METRICS_H

#include "base/histogram.h"
#include "base/metric_text.h"

#include <stdatomic.h>
#include <stdint.h>

struct caller;
struct core;

/*
 * All families of this layer, for whoever asks: there is nothing in them that permissions hide.
 * Reads the database by a reader of its own and never waits for a commit. -EIO, -ENOMEM, ….
 */
int metrics_write(struct core *c, struct metric_text *out);

/*
 * The same for people, as @who may see it (P8): numbers for everyone, of paths only those that he
 * may walk to, of refusals only his own. *out: malloc'd text.
 */
int status_text(struct core *c, const struct caller *who, char **out, size_t *out_len);

/* Of the SQLite that is loaded. */
const char *metrics_database_version(void);

#endif
