/* SPDX-License-Identifier: MIT */
/*
 * Reading a file of .fence without being held up by a mount that does not answer. A process of its
 * own does whatever touches the mount: one that waits for a dead or stopped daemon may not be
 * killed by any signal, so it is left behind if need be.
 */
#ifndef FENCE_TOOLS_CLIENT_PROBE_H
#define FENCE_TOOLS_CLIENT_PROBE_H

#include "base/errmsg.h"
#include "parse/buf.h"

#include <stdint.h>

#define PROBE_TIMEOUT_NS INT64_C(10000000000)

struct probe {
	char *mount; /* owned; the mount point, or the best guess at it; NULL: no mount is meant */
	struct buf text; /* all of the file when it succeeded */
	struct errmsg err;
};

/*
 * Read .fence/@file of the mount of @given (NULL: see target_default). 0, or -errno with a sentence
 * in out->err: -ETIMEDOUT: no answer within @timeout ns.  -ENOTCONN: its daemon is gone.
 * -EMEDIUMTYPE: no fencefs is mounted there.
 */
int probe_read(const char *given, const char *file, int64_t timeout, struct probe *out);
void probe_fini(struct probe *p);

#define auto_probe __attribute__((cleanup(probe_fini)))

#endif
