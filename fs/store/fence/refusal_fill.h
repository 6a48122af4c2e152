/* SPDX-License-Identifier: MIT */
/* Filling struct refusal. Each returns -err, so that a check can `return refusal_…`. */
#ifndef FENCE_STORE_FENCE_REFUSAL_FILL_H
#define FENCE_STORE_FENCE_REFUSAL_FILL_H

#include "store/fence/fence.h"

/* ESTALE: @token for @path is below @row. */
int refusal_stale(struct refusal *out, const char *path, int64_t token,
		  const struct fence_row *row);
/* ESTALE: (@token, @seq) does not exceed the last accepted pair, which @row holds. */
int refusal_seq(struct refusal *out, const char *path, int64_t token, int64_t seq,
		const struct fence_row *row);
/* @err (positive) about @path, with a sentence; nothing stood against it. */
int refusal_set(struct refusal *out, int err, const char *path, int64_t token, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
