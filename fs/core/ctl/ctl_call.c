/* SPDX-License-Identifier: MIT */
/* Ways for a call to end, or to wait. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "base/log.h"
#include "wire/errname.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ctl_call_defer(struct ctl_call *call)
{
	lock_take(&call->ctl->lock);
	call->ctl->deferred = true;
	lock_drop(&call->ctl->lock);
}

void ctl_call_forget(struct ctl_call *call)
{
	ctl_reply_fini(&call->reply);
	ctl_line_fini(&call->line);
	free(call->text);
	free(call);
}

void ctl_call_fail(struct ctl_call *call, int err, const char *key, const char *value,
		   const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reply_err(&call->reply, err);
	reply_str(&call->reply, key ? key : "", value);
	reply_text(&call->reply, "%s", text);
	ctl_call_done(call);
}

void ctl_call_error(struct ctl_call *call, const struct ctl_error *e)
{
	reply_error(&call->reply, e);
	ctl_call_done(call);
}

void ctl_call_refuse(struct ctl_call *call, const struct refusal *r)
{
	reply_refusal(&call->reply, r);
	ctl_call_done(call);
}

/*
 * What a caller can make sense of; anything else would look like a refusal (EEXIST, EBUSY, EACCES,
 * EROFS, …), and is our trouble.
 */
static bool is_told(int err)
{
	static const int told[] = { ENOSPC, EDQUOT,  EREMOTEIO, ESHUTDOWN,    EIO,
				    ENOMEM, EUCLEAN, EINVAL,	ENAMETOOLONG, ERANGE };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (err == -told[i])
			return true;
	return false;
}

void ctl_call_database_error(struct ctl_call *call, int err)
{
	const char *what = "the store's database failed";

	if (!is_told(err)) {
		log_error("the database failed unexpectedly: %s", errname(err));
		ctl_call_fail(call, -EIO, NULL, NULL, "%s", what);
		return;
	}
	if (err == -ENOSPC || err == -EDQUOT)
		what = "no space left in the store: its file system is full, or the limit set by "
		       "fence policy is reached; free some space and try again";
	else if (err == -EREMOTEIO)
		what = "it is unknown whether this was written: mount again and ask with outcome";
	else if (err == -ESHUTDOWN)
		what = "the file system is being unmounted";
	else if (err == -EIO)
		what = "the store had a write error and is read-only until it is mounted again";
	ctl_call_fail(call, err, NULL, NULL, "%s", what);
}

int ctl_owner(const struct ctl_call *call, const char **out, char *buf, struct ctl_error *error)
{
	snprintf(buf, OWNER_MAX + 1, "uid:%u", call->ctl->who.uid);
	*out = buf;
	return ctl_word(&call->line, "owner", out, error);
}
