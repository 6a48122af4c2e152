/* SPDX-License-Identifier: MIT */
/* See permission.h. Core layer. */
#include "core/access/permission.h"

#include "store/fence/refusal.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

bool permission_in_group(const struct caller *who, uint32_t gid)
{
	if (who->gid == gid)
		return true;
	for (int i = 0; i < who->n_groups; i++)
		if (who->groups[i] == gid)
			return true;
	return false;
}

uint32_t permission_bits(const struct caller *who, uint32_t mode, uint32_t uid, uint32_t gid)
{
	if (who->uid == 0)
		return 07;
	if (who->uid == uid)
		return mode >> 6 & 07;
	return permission_in_group(who, gid) ? mode >> 3 & 07 : mode & 07;
}

static bool may(const struct caller *who, const struct entry *e, uint32_t bits)
{
	return (permission_bits(who, e->mode, e->uid, e->gid) & bits) == bits;
}

/* Copies the next component of *path to @name; false at the end. */
static bool next_name(const char **path, char name[FENCE_NAME_MAX + 1])
{
	size_t len = strcspn(*path, "/");

	if (len == 0 || len > FENCE_NAME_MAX)
		return false;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len + ((*path)[len] == '/');
	return true;
}

int permission_walk(struct db *db, int64_t rev, const struct caller *who, const char *path,
		    struct permission_target *out)
{
	struct permission_target t = { 0 };
	char name[FENCE_NAME_MAX + 1];
	int err = entry_by_child(db, STORE_ROOT_DIR, rev, &t.entry);

	if (err < 0)
		return err;
	t.parent = t.entry;
	t.exists = t.parent_exists = true;
	if (strcmp(path, ".") == 0)
		path = "";
	while (t.exists && next_name(&path, name)) {
		if (t.entry.kind != ENTRY_DIR)
			return -ENOTDIR;
		if (!may(who, &t.entry, 01))
			return -EACCES;
		t.parent = t.entry;
		err = entry_lookup(db, t.parent.child, name, rev, &t.entry);
		if (err < 0 && err != -ENOENT)
			return err;
		t.exists = !err;
	}
	t.parent_exists = t.exists || *path == '\0';
	*out = t;
	return 0;
}

int permission_read(struct db *db, int64_t rev, const struct caller *who, const char *path,
		    struct permission_target *out)
{
	struct permission_target t;
	int err = permission_walk(db, rev, who, path, &t);

	if (err < 0)
		return err;
	if (t.exists && !may(who, &t.entry, 04))
		return -EACCES;
	*out = t;
	return 0;
}

int permission_write(struct db *db, int64_t rev, const struct caller *who, const char *path,
		     struct permission_target *out)
{
	struct permission_target t;
	int err = permission_walk(db, rev, who, path, &t);
	bool ok;

	if (err < 0)
		return err;
	if (t.exists && t.entry.kind == ENTRY_DIR)
		ok = may(who, &t.entry, 03);
	else if (t.exists && may(who, &t.entry, 02))
		ok = true;
	else
		ok = may(who, &t.parent, 03) &&
		     (!t.exists || !(t.parent.mode & S_ISVTX) || who->uid == 0 ||
		      who->uid == t.parent.uid || who->uid == t.entry.uid);
	if (!ok)
		return -EACCES;
	*out = t;
	return 0;
}

int permission_recheck(struct db *db, const struct caller *who, const char *path)
{
	struct permission_target t;

	if (who->uid == 0)
		return 0;
	/* Whatever else is wrong with the path is for the change to find. */
	return permission_write(db, ENTRY_NOW, who, path, &t) == -EACCES ? -EACCES : 0;
}

int permission_refuse(struct refusal *out, const char *path, int64_t token)
{
	*out = (struct refusal){ .err = EACCES, .token = token, .highest = -1 };
	strcpy(out->path, path);
	strcpy(out->text, "no write permission on this path any more");
	return -EACCES;
}

int permission_remove(struct db *db, int64_t rev, const struct caller *who, const char *path,
		      struct permission_target *out)
{
	struct permission_target t;
	int err = permission_walk(db, rev, who, path, &t);

	if (err < 0)
		return err;
	if (!t.exists)
		return -ENOENT;
	if (!may(who, &t.parent, 03))
		return -EACCES;
	if ((t.parent.mode & S_ISVTX) && who->uid != 0 && who->uid != t.parent.uid &&
	    who->uid != t.entry.uid)
		return -EPERM;
	*out = t;
	return 0;
}
