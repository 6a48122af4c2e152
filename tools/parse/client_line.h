/* SPDX-License-Identifier: MIT */
/*
 * The grammar of .fence/ctl (design section 6): building request lines, taking reply lines apart.
 */
#ifndef FENCE_TOOLS_PARSE_CLIENT_LINE_H
#define FENCE_TOOLS_PARSE_CLIENT_LINE_H

#include "parse/buf.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A request is a buf: begin it, add fields, and hand it to ctl_client_call(), which ends the line.
 */
void ctl_request_begin(struct buf *req, const char *verb);
void ctl_request_field(struct buf *req, const char *key,
		       const char *value); /* NULL value: left out */
void ctl_request_number(struct buf *req, const char *key, uint64_t value);

#define CTL_REPLY_FIELDS_MAX 48

struct ctl_reply_field {
	const char *key, *value; /* into reply.line */
};

struct ctl_reply {
	int err;	  /* 0: ok; else the positive errno it was refused with */
	const char *text; /* the sentence after " # ", or "" */
	struct ctl_reply_field fields[CTL_REPLY_FIELDS_MAX];
	int n;
	char *line; /* owned */
};

/* Takes @line (without LF; malloc'd) over, also on failure. -EPROTO: not a reply. */
int ctl_reply_parse(char *line, struct ctl_reply *out);
/* NULL: no such field. */
const char *ctl_reply_get(const struct ctl_reply *r, const char *key);
void ctl_reply_fini(struct ctl_reply *r);

#define auto_ctl_reply __attribute__((cleanup(ctl_reply_fini)))

#endif
