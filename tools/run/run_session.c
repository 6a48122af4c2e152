/* SPDX-License-Identifier: MIT */
/* See run_session.h. Layer: tools. */
#include "run/run_session.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "client/identity.h"
#include "client/lease_client.h"
#include "out/refusal_text.h"
#include "out/report.h"
#include "wire/seconds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The status of a request that failed: what is not of leases and tokens is 125. */
static int own_code(int code)
{
	switch (code) {
	case EXIT_OK:
	case EXIT_USAGE:
	case EXIT_HELD:
	case EXIT_TIMED_OUT:
	case EXIT_STALE:
	case EXIT_UNKNOWN:
	case EXIT_PRECONDITION:
		return code;
	default:
		return EXIT_RUN_FAILED;
	}
}

static int take_token(struct run_session *s, const char *token)
{
	if (!token || strlen(token) >= sizeof(s->token))
		return report_errno(s->opt->args, s->opt->path, -EPROTO);
	strcpy(s->token, token);
	return EXIT_OK;
}

static int take_lease(struct run_session *s)
{
	auto_reply struct reply r = { 0 };
	const char *left;
	int code = lease_acquire(&(struct lease_query){ .args = s->opt->args,
							.name = s->opt->path,
							.owner = s->owner.s,
							.ctl = &s->ctl,
							.target = &s->target,
							.waits = true },
				 &r);

	if (code)
		return code;
	s->has_lease = true;
	left = reply_get(&r, "expires_in");
	if (!left || seconds_parse(left, &s->ttl) < 0)
		s->ttl = 0;
	return take_token(s, reply_get(&r, "token"));
}

static int open_session(struct run_session *s)
{
	static const char *const passed[] = { "parents", NULL };
	const struct args *a = s->opt->args;
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *id, *dir;
	int code;

	line_begin(&req, "open");
	client_add_path(&req, &s->target);
	line_field(&req, "token", s->token);
	line_field(&req, "owner", s->owner.s);
	client_add_options(&req, a, passed);
	code = client_call(a, s->opt->path, &s->ctl, &req, &r);
	if (code)
		return code;
	id = reply_get(&r, "session");
	dir = reply_get(&r, "dir");
	if (!id || !dir || strlen(id) >= sizeof(s->id))
		return report_errno(a, s->opt->path, -EPROTO);
	strcpy(s->id, id);
	buf_printf(&s->view, "%s/%s", strcmp(s->target.mount, "/") == 0 ? "" : s->target.mount,
		   dir);
	return EXIT_OK;
}

int run_session_open(const struct run_options *opt, struct run_session *out)
{
	auto_run_session struct run_session s = RUN_SESSION_NONE;
	int code;

	s.opt = opt;
	s.ttl = opt->ttl;
	code = client_open(opt->args, opt->path, &s.target, &s.ctl);
	if (code)
		return own_code(code);
	identity_owner_here(opt->args, &s.owner);
	code = opt->token ? take_token(&s, opt->token) : take_lease(&s);
	if (code == EXIT_OK)
		code = open_session(&s);
	if (code)
		return own_code(code);
	*out = s;
	s = (struct run_session)RUN_SESSION_NONE;
	return EXIT_OK;
}

static int change_into(const struct run_session *s, const char *path)
{
	const char *slash;
	auto_buf struct buf parent = { 0 };

	if (chdir(path) == 0)
		return setenv("PWD", path, 1) < 0 ? -errno : 0;
	if ((errno != ENOTDIR && errno != ENOENT) || s->target.is_dir)
		return -errno;
	slash = strrchr(path, '/');
	buf_add(&parent, path, (size_t)(slash - path));
	if (chdir(parent.s) < 0)
		return -errno;
	return setenv("PWD", parent.s, 1) < 0 ? -errno : 0;
}

int run_session_enter(const struct run_session *s)
{
	const struct {
		const char *name, *value;
	} vars[] = {
		{ "FENCE_TOKEN", s->token },   { "FENCE_SESSION", s->id },
		{ "FENCE_OWNER", s->owner.s }, { "FENCE_DIR", s->view.s },
		{ "FENCE_PATH", NULL },
	};
	auto_buf struct buf path = { 0 };
	int r;

	buf_str(&path, s->view.s);
	if (strcmp(s->target.path, ".") != 0)
		buf_printf(&path, "/%s", s->target.path);
	r = change_into(s, path.s);
	for (size_t i = 0; r == 0 && i < sizeof(vars) / sizeof(vars[0]); i++)
		if (setenv(vars[i].name, vars[i].value ? vars[i].value : path.s, 1) < 0)
			r = -errno;
	if (r == 0)
		return EXIT_OK;
	report_errno(s->opt->args, path.s, r);
	return EXIT_RUN_FAILED;
}

/*
 * The release goes with the request that ends the session, as one write: it runs after that one
 * and costs no way of its own.
 */
static int end(struct run_session *s, const char *verb, struct reply *out)
{
	auto_line struct line req = { 0 }, release = { 0 };
	auto_reply struct reply released = { 0 };
	int r;

	line_begin(&req, verb);
	line_field(&req, "session", s->id);
	if (s->has_lease) {
		line_begin(&release, "release");
		line_field(&release, "path", s->target.path);
		line_field(&release, "token", s->token);
		line_field(&release, "owner", s->owner.s);
		line_bytes(&release, "\n", 1);
	}
	r = ctl_client_call_with(&s->ctl, &req, release.s, release.len, out);
	if (r == 0 && s->has_lease)
		ctl_client_reply(&s->ctl, &released);
	return r;
}

/* One line: by whom, and where the data is. */
static int report_stale(const struct run_session *s, const struct reply *r)
{
	auto_buf struct buf text = { 0 };

	refusal_text(&text, s->opt->path, r);
	return report_error(
		s->opt->args, s->opt->path, -ESTALE,
		"%s; nothing was published; what the job wrote is kept: fence rejects %s", text.s,
		s->target.mount);
}

int run_session_commit(struct run_session *s)
{
	const struct args *a = s->opt->args;
	auto_reply struct reply r = { 0 };
	int err = end(s, "commit", &r);

	if (err < 0)
		return own_code(report_errno(a, s->opt->path, err));
	if (r.err == -ESTALE)
		return report_stale(s, &r);
	return r.err ? own_code(report_refusal(a, s->opt->path, &r)) : EXIT_OK;
}

void run_session_abort(struct run_session *s)
{
	auto_reply struct reply r = { 0 };

	end(s, "abort", &r);
}

void run_session_fini(struct run_session *s)
{
	target_fini(&s->target);
	ctl_client_close(&s->ctl);
	buf_fini(&s->owner);
	buf_fini(&s->view);
}
