/* SPDX-License-Identifier: MIT */
/* See fstab_line.h. Layer: tools. */
#include "parse/fstab_line.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS "nofail,x-systemd.automount"

/* fstab(5): a field ends at white space, and a backslash begins an octal number. */
static void add_field(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (strchr(" \t\n\\", *s))
			buf_printf(out, "\\%03o", (unsigned)*s);
		else
			buf_char(out, *s);
	}
}

/* Of what does not exist, or cannot be looked at, as it is in a dead mount. */
static void add_unresolved(struct buf *out, const char *path)
{
	auto_free char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	size_t len = strlen(path);
	auto_buf struct buf absolute = { 0 };

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (cwd)
		buf_printf(&absolute, "%s/", strcmp(cwd, "/") == 0 ? "" : cwd);
	buf_add(&absolute, path, len);
	add_field(out, absolute.s);
}

static void add_path(struct buf *out, const char *path)
{
	auto_free char *resolved = realpath(path, NULL);

	if (resolved)
		add_field(out, resolved);
	else
		add_unresolved(out, path);
}

void fstab_line(struct buf *out, const char *store, const char *dir, const char *options)
{
	add_path(out, store);
	buf_char(out, ' ');
	add_path(out, dir);
	buf_str(out, " fencefs " OPTIONS);
	if (options && *options) {
		buf_char(out, ',');
		add_field(out, options);
	}
	buf_str(out, " 0 0");
}
