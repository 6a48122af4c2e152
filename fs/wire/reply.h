/* SPDX-License-Identifier: MIT */
/*
 * A reply line of the control file taken apart: what a client does with it. Layer: wire. It comes
 * from elsewhere and is not trusted: nothing asserts.
 */
#ifndef FENCE_WIRE_REPLY_H
#define FENCE_WIRE_REPLY_H

#include <stddef.h>

#define REPLY_FIELDS_MAX 48

struct reply_field {
	const char *key, *value; /* into reply.line */
};

struct reply {
	int err;	  /* 0: ok; else the -errno it was refused with */
	const char *text; /* the sentence after " # ", or ""; NULL before a line was parsed */
	struct reply_field fields[REPLY_FIELDS_MAX];
	int n;
	char *line; /* owned */
};

/*
 * @line has @len bytes and no LF. Fields beyond REPLY_FIELDS_MAX are left out: a newer mount says
 * more than we have use for. -EPROTO: not a reply; -ENOMEM.
 */
int reply_parse(const char *line, size_t len, struct reply *out);
/* NULL: no such field. */
const char *reply_get(const struct reply *r, const char *key);
void reply_fini(struct reply *r);

#define auto_reply __attribute__((cleanup(reply_fini)))

#endif
