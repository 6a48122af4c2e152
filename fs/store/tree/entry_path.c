/* SPDX-License-Identifier: MIT */
/*
 * From paths to entries and from directories to paths. Layer: store.
 */
#include "store/tree/entry.h"
#include "store/tree/entry_row.h"

#include <errno.h>
#include <string.h>

/* The next component of *path into @name, and *path behind it: 1, 0 at the end, or -errno. */
static int take_name(const char **path, char *name)
{
	size_t len = strcspn(*path, "/");

	if (!**path)
		return 0;
	if (len == 0)
		return -EINVAL;
	if (len > FENCE_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len + ((*path)[len] == '/');
	return 1;
}

int entry_resolve(struct db *db, const char *path, int64_t rev, struct entry *out)
{
	char name[FENCE_NAME_MAX + 1];
	struct entry e;
	int res = entry_find_child(db, STORE_ROOT_DIR, rev, &e);

	if (res)
		return res;
	if (strcmp(path, ".") == 0)
		path = "";
	while ((res = take_name(&path, name)) > 0) {
		if (e.kind != ENTRY_DIR)
			return -ENOTDIR;
		res = entry_find(db, e.child, name, rev, &e);
		if (res)
			return res;
	}
	if (!res)
		res = entry_add_dirtime(db, rev, &e);
	if (!res)
		*out = e;
	return res;
}

/* Puts '/' and @name in front of what @buf holds from *at on; *at stays 0 once there is no room. */
static void prepend(char *buf, size_t *at, const char *name)
{
	size_t len = strlen(name);

	if (len + 1 >= *at) {
		*at = 0;
		return;
	}
	*at -= len + 1;
	buf[*at] = '/';
	memcpy(buf + *at + 1, name, len);
}

int entry_path(struct db *db, int64_t dir, int64_t rev, char *out)
{
	char buf[1 + 1 + FENCE_PATH_MAX + 1]; /* with a '/' in front, which never comes to lie at 0 */
	size_t at = sizeof(buf) - 1;
	/* Brent's way to find a cycle: wait at a directory for twice as many steps each time. */
	int64_t mark = 0, steps = 0, limit = 1;

	buf[at] = '\0';
	while (dir != STORE_ROOT_DIR) {
		struct entry e;
		int err = entry_find_child(db, dir, rev, &e);

		if (err)
			return err;
		prepend(buf, &at, e.name);
		dir = e.dir;
		if (dir == mark)
			return -ELOOP;
		if (++steps == limit) {
			mark = dir;
			steps = 0;
			limit *= 2;
		}
	}
	if (at == 0)
		return -ENAMETOOLONG;
	if (buf[at] == '/')
		memcpy(out, buf + at + 1, sizeof(buf) - at - 1);
	else
		memcpy(out, ".", 2);
	return 0;
}
