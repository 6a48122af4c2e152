/* SPDX-License-Identifier: MIT */
/*
 * A FUSE mount whose daemon is gone stays mounted and answers everything with ENOTCONN. Layer:
 * fuse.
 */
#include "fuse/mount/stale.h"

#include "base/cleanup.h"
#include "base/dead_mark.h"
#include "base/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define FSTYPE	   "fuse.fencefs"
#define AUTOFS	   "autofs"
#define STACK_MAX  16 /* mounts over each other at one place */
#define FUSERMOUNT "fusermount3"

extern char **environ;

/*
 * Everything but the last component can be resolved as usual: a dead mount is a place that one
 * cannot enter or look at.
 */
static char *resolve_dead(const char *mountpoint)
{
	auto_free char *copy = strdup(mountpoint);
	auto_free char *parent = NULL;
	char *slash, *out;
	size_t len = strlen(mountpoint);

	if (!copy)
		return NULL;
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	if (!parent || asprintf(&out, "%s/%s", strcmp(parent, "/") ? parent : "",
				slash ? slash + 1 : copy) < 0)
		return NULL;
	return out;
}

int stale_resolve(const char *mountpoint, char **out, struct errmsg *err)
{
	auto_free char *path = realpath(mountpoint, NULL);
	struct stat st;
	int e;

	if (!path && errno == ENOTCONN)
		path = resolve_dead(mountpoint);
	if (!path) {
		e = errno;
		return errmsg_set(err, -e, "%s: %s", mountpoint, strerror(e));
	}
	/* The kernel would mount over a file, too. */
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return errmsg_set(err, -ENOTDIR, "%s: %s", mountpoint, strerror(ENOTDIR));
	*out = take_ptr(&path);
	return 0;
}

struct mount_name {
	char *type, *source; /* owned */
};

static void mount_name_fini(struct mount_name *m)
{
	free(m->type);
	free(m->source);
	*m = (struct mount_name){ NULL, NULL };
}

/* What is mounted at @mountpoint, the uppermost. -ENOENT: nothing. */
static int find_mount(const char *mountpoint, struct mount_name *out)
{
	auto_free char *line = NULL;
	struct mountinfo row;
	size_t room = 0;
	ssize_t len;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return -errno;
	while ((len = getline(&line, &room, f)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!mountinfo_parse(line, &row) || strcmp(row.point, mountpoint) != 0)
			continue;
		mount_name_fini(out);
		out->type = strdup(row.type);
		out->source = strdup(row.source);
	}
	fclose(f);
	return out->type && out->source ? 0 : -ENOENT;
}

/* An ordinary user's mounts are fusermount3's to take away. */
static int unmount_lazily(const char *mountpoint)
{
	const char *const argv[] = { FUSERMOUNT, "-u", "-q", "-z", "--", mountpoint, NULL };
	pid_t pid;
	int status, err;

	if (umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	err = posix_spawnp(&pid, FUSERMOUNT, NULL, NULL, (char *const *)(uintptr_t)argv, environ);
	if (err)
		return -err;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status == 0 ? 0 : -EPERM;
}

/*
 * Whether a mount's source names the store at @path (absolute). It may be written relative to where
 * that daemon was started, which nobody knows any more: then the end of @path decides.
 */
static bool is_source_of(const char *source, const char *path)
{
	size_t len, all = strlen(path);

	while (strncmp(source, "./", 2) == 0)
		source += 2;
	len = strlen(source);
	while (len > 1 && source[len - 1] == '/')
		len--;
	if (!len || len > all || strncmp(path + all - len, source, len) != 0)
		return false;
	return len == all || (*source != '/' && path[all - len - 1] == '/');
}

/* By another name: through a symbolic link. */
static bool leads_to(const char *source, const char *path)
{
	auto_free char *real = *source == '/' ? realpath(source, NULL) : NULL;

	return real && strcmp(real, path) == 0;
}

static bool is_ours(const struct mount_name *m, const char *store, const char *store_path)
{
	const char *source = dead_mark_skip(m->source);

	return strcmp(m->type, FSTYPE) == 0 &&
	       (strcmp(source, store) == 0 || is_source_of(source, store_path) ||
		leads_to(source, store_path));
}

/* statfs() of an automount point would wait for the very mount that we are to make. */
static bool find_dead(const char *mountpoint, struct mount_name *out)
{
	struct statfs st;

	return find_mount(mountpoint, out) == 0 && strcmp(out->type, AUTOFS) != 0 &&
	       statfs(mountpoint, &st) < 0 && errno == ENOTCONN;
}

int stale_clear(const char *mountpoint, const char *store, const char *store_path,
		struct errmsg *err)
{
	for (int i = 0; i < STACK_MAX; i++) {
		struct mount_name m = { NULL, NULL };
		bool ours;
		int e;

		if (!find_dead(mountpoint, &m)) {
			mount_name_fini(&m);
			return 0;
		}
		ours = is_ours(&m, store, store_path);
		if (!ours)
			e = errmsg_set(err, -EBUSY,
				       "%s is a dead mount of %s %s, not of this store: "
				       "unmount it first (umount -l)",
				       mountpoint, m.type, m.source);
		else
			e = unmount_lazily(mountpoint);
		mount_name_fini(&m);
		if (e < 0)
			return ours ? errmsg_set(err, e,
						 "%s: the dead mount there cannot be removed: %s",
						 mountpoint, strerror(-e)) :
				      e;
	}
	return 0;
}

bool stale_is_of(const char *mountpoint, const char *source)
{
	struct mount_name m = { NULL, NULL };
	bool is = find_mount(mountpoint, &m) == 0 && strcmp(m.type, FSTYPE) == 0 &&
		  strcmp(m.source, source) == 0;

	mount_name_fini(&m);
	return is;
}

bool stale_is_automount(const char *mountpoint)
{
	struct mount_name m = { NULL, NULL };
	bool is = find_mount(mountpoint, &m) == 0 && strcmp(m.type, AUTOFS) == 0;

	mount_name_fini(&m);
	return is;
}

bool stale_is_mounted(const char *mountpoint)
{
	struct mount_name m = { NULL, NULL };
	bool is = find_mount(mountpoint, &m) == 0 && strcmp(m.type, FSTYPE) == 0;

	mount_name_fini(&m);
	return is;
}
