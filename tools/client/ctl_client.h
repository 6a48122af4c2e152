/* SPDX-License-Identifier: MIT */
/* A conversation with a mount through .fence/ctl. */
#ifndef FENCE_TOOLS_CLIENT_CTL_CLIENT_H
#define FENCE_TOOLS_CLIENT_CTL_CLIENT_H

#include "base/errmsg.h"
#include "parse/buf.h"
#include "wire/line.h"
#include "wire/reply.h"

#include <stddef.h>

struct ctl_client {
	int fd;		 /* owned; -1: closed */
	struct buf read; /* what was read beyond the last reply */
};

#define CTL_CLIENT_CLOSED \
	{                 \
		.fd = -1  \
	}

/*
 * Open MOUNT/.fence/ctl and make sure of its protocol. -EMEDIUMTYPE: no fencefs is there.
 * -EPROTO: another protocol.  -ENOTCONN: its daemon is gone.
 */
int ctl_client_open(const char *mount, struct ctl_client *out, struct errmsg *err);
void ctl_client_close(struct ctl_client *c);

/*
 * Send @req and wait for its reply. 0 with *out (also when it was refused: out->err), or -errno
 * when the conversation broke: -EREMOTEIO where it is unknown whether the request took effect. No
 * other call may follow then.
 */
int ctl_client_call(struct ctl_client *c, struct line *req, struct reply *out);
/* The same with @len bytes of content after the line (put). */
int ctl_client_call_with(struct ctl_client *c, struct line *req, const void *content, size_t len,
			 struct reply *out);
/* The reply to a further request line that went as the content of another. */
int ctl_client_reply(struct ctl_client *c, struct reply *out);

#define auto_ctl_client __attribute__((cleanup(ctl_client_close)))

#endif
