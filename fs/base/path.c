/* SPDX-License-Identifier: MIT */
/*
 * Paths relative to the mount root. Layer: base.
 */
#include "base/path.h"

#include <errno.h>
#include <string.h>

#define RESERVED_NAME ".fence"

/* The component at or after @p that counts (not "."), its length in *out_len; 0 at the end. */
static const char *next_name(const char *p, size_t *out_len)
{
	for (;;) {
		p += strspn(p, "/");
		*out_len = strcspn(p, "/");
		if (*out_len != 1 || p[0] != '.')
			return p;
		p++;
	}
}

static bool name_is(const char *p, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(p, name, len) == 0;
}

/* Length of @in once normalised (0 for the root), or -errno. */
static int check(const char *in)
{
	size_t total = 0, len;
	const char *p = in;

	if (!*in)
		return -EINVAL;
	for (p = next_name(p, &len); len > 0; p = next_name(p + len, &len)) {
		if (name_is(p, len, ".."))
			return -EINVAL;
		if (total == 0 && name_is(p, len, RESERVED_NAME))
			return -EPERM;
		total += len + (total > 0);
		if (len > FENCE_NAME_MAX || total > FENCE_PATH_MAX)
			return -ENAMETOOLONG;
	}
	return (int)total;
}

int path_normalise(const char *in, char *out, bool *out_dir)
{
	int total = check(in);
	char *end = out;
	const char *p = in;
	size_t len;

	if (total < 0)
		return total;
	if (out_dir)
		*out_dir = in[strlen(in) - 1] == '/';
	for (p = next_name(p, &len); len > 0; p = next_name(p + len, &len)) {
		if (end > out)
			*end++ = '/';
		memcpy(end, p, len);
		end += len;
	}
	if (end == out)
		*end++ = '.';
	*end = '\0';
	return 0;
}

static bool is_root(const char *path)
{
	return path[0] == '.' && path[1] == '\0';
}

bool path_is_beneath(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (is_root(path))
		return false;
	if (is_root(top))
		return true;
	return strncmp(path, top, len) == 0 && path[len] == '/';
}

bool path_is_within(const char *path, const char *top)
{
	return strcmp(path, top) == 0 || path_is_beneath(path, top);
}

const char *path_split(const char *path, char *out_parent)
{
	const char *slash = strrchr(path, '/');
	size_t len;

	if (is_root(path))
		return NULL;
	if (!slash) {
		memcpy(out_parent, ".", 2);
		return path;
	}
	len = (size_t)(slash - path);
	memcpy(out_parent, path, len);
	out_parent[len] = '\0';
	return slash + 1;
}

int path_join(const char *dir, const char *name, char *out)
{
	size_t dir_len = is_root(dir) ? 0 : strlen(dir);
	size_t name_len = strlen(name);

	if (name_len > FENCE_NAME_MAX || dir_len + (dir_len > 0) + name_len > FENCE_PATH_MAX)
		return -ENAMETOOLONG;
	if (dir_len > 0) {
		memmove(out, dir, dir_len);
		out[dir_len++] = '/';
	}
	memcpy(out + dir_len, name, name_len + 1);
	return 0;
}
