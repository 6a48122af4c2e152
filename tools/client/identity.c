/* SPDX-License-Identifier: MIT */
/* See identity.h. Layer: tools. */
#include "client/identity.h"

#include "wire/number.h"
#include "out/report.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void owner_of(const struct args *a, pid_t pid, struct buf *out)
{
	const char *owner = args_get(a, "owner");
	const struct passwd *pw;
	struct utsname host;

	if (!owner || !*owner)
		owner = getenv("FENCE_OWNER");
	if (owner && *owner) {
		buf_str(out, owner);
		return;
	}
	pw = getpwuid(getuid());
	if (pw)
		buf_str(out, pw->pw_name);
	else
		buf_printf(out, "%u", (unsigned int)getuid());
	buf_printf(out, "@%s:%d", uname(&host) == 0 ? host.nodename : "localhost", (int)pid);
}

void identity_owner(const struct args *a, struct buf *out)
{
	owner_of(a, getppid(), out);
}

void identity_owner_here(const struct args *a, struct buf *out)
{
	owner_of(a, getpid(), out);
}

const char *identity_token(const struct args *a)
{
	const char *token = args_get(a, "token");

	if (!token)
		token = getenv("FENCE_TOKEN");
	if (!token || !*token) {
		report_usage(a, "no token: give --token N or set FENCE_TOKEN");
		return NULL;
	}
	if (!number_is_token(token)) {
		report_usage(a,
			     "\"%s\" is not a token: a whole number from 0 to 9223372036854775807",
			     token);
		return NULL;
	}
	return token;
}
