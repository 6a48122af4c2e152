/* SPDX-License-Identifier: MIT */
/* The name somebody probably meant. Layer: base. */
#ifndef FENCE_BASE_NEAREST_H
#define FENCE_BASE_NEAREST_H

struct nearest {
	const char *wanted; /* borrowed */
	const char *best;   /* borrowed from the candidates; NULL while none is near enough */
	unsigned int distance;
};

void nearest_init(struct nearest *n, const char *wanted);
void nearest_try(struct nearest *n, const char *candidate);

#endif
