/* SPDX-License-Identifier: MIT */
/* damaged: fence fsck tells a running daemon what it found. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "base/log.h"
#include "core/trust/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct marking {
	struct ctl_call *call;
	struct blob_id blob;
	bool good;
};

static void marked(void *arg, int err)
{
	struct marking *m = arg;
	struct ctl_call *call = m->call;

	if (err == -ENOENT) {
		ctl_call_fail(call, -ENOENT, "blob", blob_hex(m->blob.b).s, "no such blob");
	} else if (err) {
		ctl_call_database_error(call, err);
	} else {
		log_warning("blob %s was found %s by uid %u", blob_hex(m->blob.b).s,
			    m->good ? "good again" : "damaged", call->ctl->who.uid);
		reply_ok(&call->reply);
		ctl_call_done(call);
	}
	free(m);
}

static int parse(struct ctl_call *call, struct marking *m, struct ctl_error *error)
{
	const char *hex = ctl_line_get(&call->line, "blob");
	uint32_t uid = call->ctl->who.uid;

	if (uid != 0 && uid != geteuid())
		return ctl_error_set(
			error, -EPERM, NULL, NULL,
			"only root and the user who serves the store may mark its blobs");
	if (blob_hex_parse(hex, m->blob.b) < 0)
		return ctl_error_set(error, -EINVAL, "blob", hex, "blob= is 32 hex digits");
	return ctl_flag(&call->line, "good", &m->good, error);
}

void ctl_damaged(struct ctl_call *call)
{
	struct marking *m = calloc(1, sizeof(*m));
	struct ctl_error error;
	int err = m ? parse(call, m, &error) :
		      ctl_error_set(&error, -ENOMEM, NULL, NULL, "out of memory");

	if (!err) {
		m->call = call;
		err = trust_mark(call->ctl->c, &m->blob, m->good, marked, m);
		if (err < 0)
			ctl_error_set(&error, err, NULL, NULL,
				      err == -ENOMEM ? "out of memory" :
						       "the file system is being unmounted");
	}
	if (err < 0) {
		free(m);
		ctl_call_error(call, &error);
	}
}
