/* SPDX-License-Identifier: MIT */
/*
 * Metrics in the text format of Prometheus (0.0.4): a family is its HELP and TYPE lines and, right
 * behind them, its samples. Layer: base.
 */
#ifndef FENCE_BASE_METRIC_TEXT_H
#define FENCE_BASE_METRIC_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct histogram;

/* Only grows; from any thread, without a lock. */
typedef atomic_uint_fast64_t metric_counter;

static inline void metric_add(metric_counter *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline int64_t metric_get(const metric_counter *counter)
{
	return (int64_t)atomic_load_explicit(counter, memory_order_relaxed);
}

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
	const char *name, *help; /* one line; neither has a backslash in it */
	enum metric_type type;
};

/*
 * Up to three pairs of name and value; ends with the first NULL. Values are escaped when written.
 */
struct metric_labels {
	const char *pair[6];
};

#define METRIC_PLAIN		  (&(const struct metric_labels){ { NULL } })
#define METRIC_LABEL(name, value) (&(const struct metric_labels){ { name, value } })
#define METRIC_LABELS(...)	  (&(const struct metric_labels){ { __VA_ARGS__ } })

struct metric_text {
	char *s; /* owned */
	size_t len, room;
	bool failed; /* out of memory: what is there is not all */
};

void metric_begin(struct metric_text *t, const struct metric *m);
void metric_int(struct metric_text *t, const struct metric *m, const struct metric_labels *labels,
		int64_t value);
void metric_seconds(struct metric_text *t, const struct metric *m,
		    const struct metric_labels *labels, int64_t ns);
void metric_histogram(struct metric_text *t, const struct metric *m,
		      const struct metric_labels *labels, const struct histogram *h);
/*
 * Whole families: one sample without labels, and one for each of @n counters, told apart by @label.
 */
void metric_family(struct metric_text *t, const struct metric *m, int64_t value);
void metric_family_of(struct metric_text *t, const struct metric *m, const char *label,
		      const char *const *names, const metric_counter *counters, int n);
void metric_text_fini(struct metric_text *t);

#endif
