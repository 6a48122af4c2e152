/* SPDX-License-Identifier: MIT */
/* See session_client.h. Layer: tools. */
#include "client/session_client.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "client/identity.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int work_open(struct client_work *w)
{
	static const char *const names[] = { "parents", NULL };
	auto_line struct line req = { 0 };
	auto_buf struct buf owner = { 0 };
	auto_reply struct reply r = { 0 };
	const char *id, *dir;
	int code;

	identity_owner(w->args, &owner);
	line_begin(&req, "open");
	client_add_path(&req, &w->target);
	line_field(&req, "token", w->token);
	line_field(&req, "owner", owner.s);
	client_add_options(&req, w->args, names);
	code = client_call(w->args, w->name, &w->ctl, &req, &r);
	if (code)
		return code;
	id = reply_get(&r, "session");
	dir = reply_get(&r, "dir");
	if (!id || !dir || strlen(id) >= sizeof(w->session))
		return report_errno(w->args, w->name, -EPROTO);
	strcpy(w->session, id);
	buf_clear(&w->dir);
	buf_printf(&w->dir, "%s/%s", strcmp(w->target.mount, "/") == 0 ? "" : w->target.mount, dir);
	return EXIT_OK;
}

int work_commit(struct client_work *w, struct reply *out)
{
	static const char *const names[] = { "op", "once", NULL };
	auto_line struct line req = { 0 };

	line_begin(&req, "commit");
	line_field(&req, "session", w->session);
	client_add_options(&req, w->args, names);
	return client_call(w->args, w->name, &w->ctl, &req, out);
}

void work_abort(struct client_work *w)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };

	line_begin(&req, "abort");
	line_field(&req, "session", w->session);
	ctl_client_call(&w->ctl, &req, &r);
}

void work_path(const struct client_work *w, struct buf *out)
{
	buf_str(out, buf_text(&w->dir));
	if (strcmp(w->target.path, ".") != 0)
		buf_printf(out, "/%s", w->target.path);
}

static void borrow_field(struct reply *to, const char *key, const char *value)
{
	if (value)
		to->fields[to->n++] = (struct reply_field){ .key = key, .value = value };
}

/* The path in the tree of @what, a path in the view. */
static const char *tree_path(const struct client_work *w, const char *what)
{
	size_t len = w->dir.len;

	if (strncmp(what, w->dir.s, len) != 0 || what[len] != '/' || !what[len + 1])
		return w->target.path;
	return what + len + 1;
}

/* What a commit would have been told, asked for without committing what is half done. */
static int report_overtaken(struct client_work *w, const char *path)
{
	struct reply refusal = { .err = -ESTALE, .text = "" };
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };

	line_begin(&req, "stat");
	line_field(&req, "path", path);
	if (ctl_client_call(&w->ctl, &req, &r) == 0 && !r.err) {
		borrow_field(&refusal, "path", w->target.path);
		borrow_field(&refusal, "token", w->token);
		borrow_field(&refusal, "highest", reply_get(&r, "highest"));
		borrow_field(&refusal, "set_by", reply_get(&r, "set_by"));
		borrow_field(&refusal, "set_at", reply_get(&r, "set_at"));
		borrow_field(&refusal, "held_path", reply_get(&r, "held_path"));
	}
	return report_refusal(w->args, w->name, &refusal);
}

int work_failed(struct client_work *w, const char *what, int err)
{
	work_abort(w);
	if (err == -ESTALE)
		return report_overtaken(w, tree_path(w, what));
	report_errno(w->args, what, err);
	return EXIT_FAILED;
}

void work_fini(struct client_work *w)
{
	target_fini(&w->target);
	ctl_client_close(&w->ctl);
	buf_fini(&w->dir);
}
