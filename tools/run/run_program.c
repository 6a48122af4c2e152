/* SPDX-License-Identifier: MIT */
/* See run_program.h. Layer: tools. */
#include "run/run_program.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static int check(const char *path)
{
	struct stat st;

	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EACCES;
}

static int from_here(const char *name, struct buf *out)
{
	auto_free char *here = NULL;

	if (name[0] != '/') {
		here = getcwd(NULL, 0);
		if (!here)
			return -errno;
		buf_printf(out, "%s/", here);
	}
	buf_str(out, name);
	return check(out->s);
}

/* As execvp(3): a file that may not be executed is passed over, and remembered. */
static int from_path(const char *name, struct buf *out)
{
	const char *path = getenv("PATH");
	int worst = -ENOENT;

	for (const char *dir = path ? path : DEFAULT_PATH;; dir++) {
		auto_buf struct buf full = { 0 };
		size_t len = strcspn(dir, ":");
		int r;

		buf_add(&full, dir, len);
		buf_printf(&full, "%s%s", len ? "/" : "./", name);
		buf_clear(out);
		r = from_here(full.s, out);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			worst = r;
		dir += len;
		if (!*dir)
			return worst;
	}
}

int run_program_find(const char *name, struct buf *out)
{
	if (!*name)
		return -ENOENT;
	return strchr(name, '/') ? from_here(name, out) : from_path(name, out);
}
