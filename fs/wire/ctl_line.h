/* SPDX-License-Identifier: MIT */
/*
 * One request line of the control file taken apart: request = verb *( SP key "=" value ). Layer:
 * wire. It comes from any user and is not trusted: nothing asserts.
 */
#ifndef FENCE_WIRE_CTL_LINE_H
#define FENCE_WIRE_CTL_LINE_H

#include <stddef.h>

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
	int err; /* negative */
	char text[256];
	char key[64], value[128]; /* what was wrong, for the reply; "" if none */
};

/* -EINVAL and *error. @text has @len bytes and no LF. */
int ctl_line_parse(const char *text, size_t len, struct ctl_line *out, struct ctl_error *error);
void ctl_line_fini(struct ctl_line *l);
/* NULL if it is not there. */
const char *ctl_line_get(const struct ctl_line *l, const char *key);

/* Fills *e; returns @err, which is negative. */
int ctl_error_set(struct ctl_error *e, int err, const char *key, const char *value, const char *fmt,
		  ...) __attribute__((format(printf, 5, 6)));

#endif
