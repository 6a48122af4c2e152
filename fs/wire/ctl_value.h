/* SPDX-License-Identifier: MIT */
/*
 * The values of a request by their kinds. All return 0, or -errno with *error naming key and value.
 * A key that the table of verbs requires must be there; of the others only where it is said. Layer:
 * wire. Input is untrusted: nothing asserts.
 */
#ifndef FENCE_WIRE_CTL_VALUE_H
#define FENCE_WIRE_CTL_VALUE_H

#include "wire/ctl_line.h"

#include <stdbool.h>
#include <stdint.h>

#define CTL_WORD_MAX 255

int ctl_token(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error);
int ctl_count(const struct ctl_line *l, const char *key, int64_t max, int64_t *out,
	      struct ctl_error *error);
int ctl_mode(const struct ctl_line *l, const char *key, uint32_t *out, struct ctl_error *error);
/* Nanoseconds, at least 1 ms, at most ten years: see duration.h. */
int ctl_duration(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error);
/* "1" or "0"; *out stays where the key is not given. */
int ctl_flag(const struct ctl_line *l, const char *key, bool *out, struct ctl_error *error);
/* Normalised into @out (FENCE_PATH_MAX + 1). */
int ctl_path(const struct ctl_line *l, const char *key, char *out, bool *out_dir,
	     struct ctl_error *error);
/* 1 to CTL_WORD_MAX bytes without control characters; *out stays where the key is not given. */
int ctl_word(const struct ctl_line *l, const char *key, const char **out, struct ctl_error *error);

#endif
