/* SPDX-License-Identifier: MIT */
/* See session_arg.h. Layer: tools. */
#include "client/session_arg.h"

#include "client/client.h"
#include "out/exit_code.h"
#include "out/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_id(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= SESSION_ID_MAX && strspn(s, "0123456789abcdef") == len;
}

static int by_id(const struct args *a, const char *id, struct target *out_target,
		 struct ctl_client *out_ctl, char *out_id)
{
	int code = client_open(a, NULL, out_target, out_ctl);

	if (code == EXIT_OK)
		strcpy(out_id, id);
	return code;
}

static int by_path(const struct args *a, const char *path, struct target *out_target,
		   struct ctl_client *out_ctl, char *out_id)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	int code = client_open(a, path, &t, &c);

	if (code)
		return code;
	if (!t.session[0]) {
		report_usage(a, "%s is not in a session's view (.fence/sessions/ID)", path);
		return EXIT_USAGE;
	}
	strcpy(out_id, t.session);
	*out_target = t;
	*out_ctl = c;
	t.mount = NULL;
	c = (struct ctl_client)CTL_CLIENT_CLOSED;
	return EXIT_OK;
}

int session_arg(const struct args *a, struct target *out_target, struct ctl_client *out_ctl,
		char out_id[SESSION_ID_MAX + 1])
{
	const char *session = a->n ? a->rest[0] : getenv("FENCE_SESSION");

	if (!session || !*session)
		session = ".";
	if (is_id(session))
		return by_id(a, session, out_target, out_ctl, out_id);
	return by_path(a, session, out_target, out_ctl, out_id);
}
