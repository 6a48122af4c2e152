/* SPDX-License-Identifier: MIT */
/* See daemon_program.h. Layer: tools. */
#include "client/daemon_program.h"

#include "parse/buf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Where it may be, seen from the directory of this program: in a build tree, or installed beside
 * it.
 */
static const char *const beside[] = { "/../fs/" DAEMON_PROGRAM, "/" DAEMON_PROGRAM,
				      "/../sbin/" DAEMON_PROGRAM, "/../bin/" DAEMON_PROGRAM };

static char *find_beside(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		struct buf path = { 0 };

		buf_printf(&path, "%s%s", self, beside[i]);
		if (access(path.s, X_OK) == 0)
			return path.s;
		buf_fini(&path);
	}
	return NULL;
}

static char *find_in(const char *dirs, const char *name)
{
	while (dirs && *dirs) {
		int len = (int)strcspn(dirs, ":");
		struct buf path = { 0 };

		buf_printf(&path, "%.*s/%s", len, dirs, name);
		if (len && access(path.s, X_OK) == 0)
			return path.s;
		buf_fini(&path);
		dirs += len;
		dirs += *dirs == ':';
	}
	return NULL;
}

char *daemon_program_helper(const char *name)
{
	char *found = find_in(getenv("PATH"), name);

	return found ? found : find_in(DAEMON_MORE_PATH, name);
}

char *daemon_program_find(void)
{
	char *found = find_beside();

	return found ? found : daemon_program_helper(DAEMON_PROGRAM);
}
