/* SPDX-License-Identifier: MIT */
/* One request line taken apart: request = verb *( SP key "=" value ). For this layer only. */
#ifndef FENCE_CORE_CTL_CTL_LINE_H
#define FENCE_CORE_CTL_CTL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_LINE_MAX 65536 /* bytes without the LF */
#define CTL_KEYS_MAX 24

struct ctl_line {
	char *verb;
	int n;
	struct {
		char *key, *value;
	} kv[CTL_KEYS_MAX];
	char *buf; /* owned; what all point into */
};

struct ctl_error {
	int err; /* positive */
	char text[256];
	char key[64], value[128]; /* what was wrong, for the reply; "" if none */
};

/* -EINVAL and *error. @text has @len bytes and no LF. */
int ctl_line_parse(const char *text, size_t len, struct ctl_line *out, struct ctl_error *error);
void ctl_line_fini(struct ctl_line *l);
/* NULL if it is not there. */
const char *ctl_line_get(const struct ctl_line *l, const char *key);

/* Values. 0, or -errno with *error naming key and value. */
int ctl_token(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error);
int ctl_count(const struct ctl_line *l, const char *key, int64_t max, int64_t *out,
	      struct ctl_error *error);
int ctl_mode(const struct ctl_line *l, const char *key, uint32_t *out, struct ctl_error *error);
/* "90s", "1h30m", "500ms", plain seconds; nanoseconds, at least 1 ms, at most ten years. */
int ctl_duration(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error);
/* "1" or "0". */
int ctl_flag(const struct ctl_line *l, const char *key, bool *out, struct ctl_error *error);
/* Normalised into @out (FENCE_PATH_MAX + 1). */
int ctl_path(const struct ctl_line *l, const char *key, char *out, bool *out_dir,
	     struct ctl_error *error);
/* 1 to 255 bytes without control characters. */
int ctl_word(const struct ctl_line *l, const char *key, const char **out, struct ctl_error *error);

int ctl_error_set(struct ctl_error *e, int err, const char *key, const char *value, const char *fmt,
		  ...) __attribute__((format(printf, 5, 6)));

#endif
