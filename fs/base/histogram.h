/* SPDX-License-Identifier: MIT */
/*
 * How long things took: counts in fixed buckets, from 10 us to 30 s, two a decade. Any number of
 * threads add without a lock; who reads meanwhile sees each count as it was at some moment, and
 * none ever goes back. Layer: base.
 */
#ifndef FENCE_BASE_HISTOGRAM_H
#define FENCE_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 14

/* The upper ends of the buckets, in ns; the last bucket, behind them, has none. */
extern const int64_t histogram_bounds[HISTOGRAM_BOUNDS];

/* All zero is an empty one. */
struct histogram {
	atomic_uint_fast64_t count[HISTOGRAM_BOUNDS + 1]; /* in this bucket alone */
	atomic_uint_fast64_t sum;			  /* ns */
};

/* Less than nothing, which a stepping clock might give, counts as nothing. */
void histogram_add(struct histogram *h, int64_t ns);

struct histogram_values {
	uint64_t up_to[HISTOGRAM_BOUNDS + 1]; /* in this bucket and all before; the last: all */
	uint64_t sum;			      /* ns */
};
void histogram_read(const struct histogram *h, struct histogram_values *out);

#endif
