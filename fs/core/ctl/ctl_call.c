/* SPDX-License-Identifier: MIT */
/* Ways for a call to end, or to wait. Core layer. */
#include "core/ctl/ctl_impl.h"

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
