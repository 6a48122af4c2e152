/* SPDX-License-Identifier: MIT */
/* One reply line being put together. For this layer only. */
#ifndef FENCE_CORE_CTL_CTL_REPLY_H
#define FENCE_CORE_CTL_CTL_REPLY_H

#include "wire/line.h"

#include <stdint.h>

struct ctl_error;
struct refusal;

struct ctl_reply {
	struct line line;
	int err; /* -errno of an err line; 0: ok */
};

void reply_ok(struct ctl_reply *r);
void reply_err(struct ctl_reply *r, int err);
/* " key=value", percent-encoded; nothing if @value is NULL or "". */
void reply_str(struct ctl_reply *r, const char *key, const char *value);
void reply_int(struct ctl_reply *r, const char *key, int64_t value);
/* Seconds from nanoseconds: a time with nine decimals, a span with three. */
void reply_time(struct ctl_reply *r, const char *key, int64_t ns);
void reply_seconds(struct ctl_reply *r, const char *key, int64_t ns);
/* " # text"; control bytes become "?". */
void reply_text(struct ctl_reply *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_error(struct ctl_reply *r, const struct ctl_error *e);
void reply_refusal(struct ctl_reply *r, const struct refusal *f);
void ctl_reply_fini(struct ctl_reply *r);

#endif
