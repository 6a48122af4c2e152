/* SPDX-License-Identifier: MIT */
/* See ctl_reply.h. Core layer. */
#include "core/ctl/ctl_reply.h"

#include "base/errname.h"
#include "core/ctl/ctl_line.h"
#include "store/fence/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(struct ctl_reply *r, const char *s, size_t len)
{
	if (r->len + len > r->room) {
		size_t room = (r->len + len) * 2 + 64;
		char *grown = realloc(r->s, room);

		if (!grown) {
			r->failed = 1;
			return;
		}
		r->s = grown;
		r->room = room;
	}
	memcpy(r->s + r->len, s, len);
	r->len += len;
}

static void append_str(struct ctl_reply *r, const char *s)
{
	append(r, s, strlen(s));
}

void reply_ok(struct ctl_reply *r)
{
	r->len = 0;
	r->err = 0;
	append_str(r, "ok");
}

void reply_err(struct ctl_reply *r, int err)
{
	r->len = 0;
	r->err = err < 0 ? -err : err;
	append_str(r, "err ");
	append_str(r, errname(err));
}

void reply_str(struct ctl_reply *r, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	append_str(r, " ");
	append_str(r, key);
	append_str(r, "=");
	for (; *value; value++) {
		char coded[4];

		if (strchr(" \t\n\r%", *value)) {
			snprintf(coded, sizeof(coded), "%%%02X",
				 (unsigned int)(unsigned char)*value);
			append(r, coded, 3);
		} else {
			append(r, value, 1);
		}
	}
}

void reply_int(struct ctl_reply *r, const char *key, int64_t value)
{
	char s[32];

	snprintf(s, sizeof(s), "%" PRId64, value);
	reply_str(r, key, s);
}

void reply_time(struct ctl_reply *r, const char *key, int64_t ns)
{
	char s[48];

	snprintf(s, sizeof(s), "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
	reply_str(r, key, s);
}

void reply_text(struct ctl_reply *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	append_str(r, " # ");
	append_str(r, text);
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
	reply_err(r, f->err);
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

void reply_fini(struct ctl_reply *r)
{
	free(r->s);
	*r = (struct ctl_reply){ 0 };
}
