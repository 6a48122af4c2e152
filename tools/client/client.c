/* SPDX-License-Identifier: MIT */
/* See client.h. Layer: tools. */
#include "client/client.h"

#include "out/exit_code.h"
#include "out/report.h"

#include <string.h>

int client_open(const struct args *a, const char *path, struct target *out_target,
		struct ctl_client *out_ctl)
{
	auto_target struct target t = { 0 };
	struct errmsg err;
	int r;

	if (path) {
		r = target_find(path, &t, &err);
	} else {
		path = args_knows(a, "mount") ? args_get(a, "mount") : NULL;
		r = target_default(path, &t, &err);
	}
	if (r < 0)
		return report_error(a, path, r, "%s", err.s);
	r = ctl_client_open(t.mount, out_ctl, &err);
	if (r < 0)
		return report_error(a, t.mount, r, "%s", err.s);
	*out_target = t;
	t.mount = NULL;
	return EXIT_OK;
}

int client_call(const struct args *a, const char *name, struct ctl_client *c, struct line *req,
		struct reply *out)
{
	return client_call_with(
		&(struct client_request){ .args = a, .name = name, .ctl = c, .line = req }, out);
}

int client_call_with(const struct client_request *q, struct reply *out)
{
	const struct buf none = { 0 }, *content = q->content ? q->content : &none;
	struct reply reply = { 0 };
	int r = ctl_client_call_with(q->ctl, q->line, content->s, content->len, &reply);
	int code;

	if (r < 0) {
		struct reply broken = { .err = r, .text = "" };

		return report_refusal(q->args, q->name, &broken);
	}
	if (reply.err) {
		code = report_refusal(q->args, q->name, &reply);
		reply_fini(&reply);
		return code;
	}
	*out = reply;
	return EXIT_OK;
}

void client_add_path(struct line *req, const struct target *t)
{
	char room[FENCE_PATH_MAX + 2];

	line_field(req, "path", target_protocol_path(t, room));
}

/* Options whose key in the protocol has another name. */
static const struct {
	const char *option, *key;
} renamed[] = {
	{ "if-version", "version" },
	{ "if-absent", "absent" },
	{ "if-hash", "hash" },
};

static const char *key_of(const char *option)
{
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (strcmp(renamed[i].option, option) == 0)
			return renamed[i].key;
	return option;
}

void client_add_options(struct line *req, const struct args *a, const char *const *names)
{
	for (; *names; names++)
		if (args_knows(a, *names))
			line_field(req, key_of(*names), args_get(a, *names));
}
