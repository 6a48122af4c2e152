/* SPDX-License-Identifier: MIT */
/*
 * See histogram.h. Layer: base.
 *
 * The counters are shared by all threads: what is counted takes some ten thousand times as long as
 * it takes two CPUs to pass a cache line to and fro.
 */
#include "base/histogram.h"

const int64_t histogram_bounds[HISTOGRAM_BOUNDS] = {
	10000,	  30000,     100000,	300000,	    1000000,	3000000,     10000000,
	30000000, 100000000, 300000000, 1000000000, 3000000000, 10000000000, 30000000000,
};

void histogram_add(struct histogram *h, int64_t ns)
{
	int i = 0;

	if (ns < 0)
		ns = 0;
	while (i < HISTOGRAM_BOUNDS && ns > histogram_bounds[i])
		i++;
	atomic_fetch_add_explicit(&h->sum, (uint64_t)ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->count[i], 1, memory_order_relaxed);
}

void histogram_read(const struct histogram *h, struct histogram_values *out)
{
	uint64_t n = 0;

	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		n += atomic_load_explicit(&h->count[i], memory_order_relaxed);
		out->up_to[i] = n;
	}
	out->sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
}
