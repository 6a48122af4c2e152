/* SPDX-License-Identifier: MIT */
/* See ctl_reply.h. Core layer. */
#include "core/ctl/ctl_reply.h"

#include "store/fence/refusal.h"
#include "wire/ctl_line.h"
#include "wire/errname.h"

#include <stdarg.h>
#include <stdio.h>

void reply_ok(struct ctl_reply *r)
{
	r->err = 0;
	line_begin(&r->line, "ok");
}

void reply_err(struct ctl_reply *r, int err)
{
	r->err = err;
	line_begin(&r->line, "err");
	line_word(&r->line, errname(err));
}

void reply_str(struct ctl_reply *r, const char *key, const char *value)
{
	if (value && *value)
		line_field(&r->line, key, value);
}

void reply_int(struct ctl_reply *r, const char *key, int64_t value)
{
	line_number(&r->line, key, value);
}

void reply_time(struct ctl_reply *r, const char *key, int64_t ns)
{
	line_seconds(&r->line, key, ns, 9);
}

void reply_seconds(struct ctl_reply *r, const char *key, int64_t ns)
{
	line_seconds(&r->line, key, ns, 3);
}

void reply_text(struct ctl_reply *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line_text(&r->line, text);
}

void reply_error(struct ctl_reply *r, const struct ctl_error *e)
{
	reply_err(r, e->err);
	reply_str(r, "key", e->key);
	reply_str(r, "value", e->value);
	reply_text(r, "%s", e->text);
}

void reply_refusal(struct ctl_reply *r, const struct refusal *f)
{
	reply_err(r, -f->err);
	reply_str(r, "path", f->path);
	if (f->token >= 0)
		reply_int(r, "token", f->token);
	if (f->highest >= 0)
		reply_int(r, "highest", f->highest);
	reply_str(r, "set_by", f->set_by);
	if (f->set_at)
		reply_time(r, "set_at", f->set_at);
	reply_str(r, "held_path", f->set_path);
	if (f->text[0])
		reply_text(r, "%s", f->text);
}

void ctl_reply_fini(struct ctl_reply *r)
{
	line_fini(&r->line);
	*r = (struct ctl_reply){ 0 };
}
