/* SPDX-License-Identifier: MIT */
/*
 * The kernel resolves what exists: the path, or the longest part of it that does, is opened with
 * O_PATH; the mount of that descriptor and its name in /proc/self/fd then say where it is. So
 * symlinks, bind mounts and mounts on mounts need no care here.
 */
#include "client/target.h"

#include "base/cleanup.h"
#include "parse/buf.h"
#include "out/exit_code.h"
#include "client/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SESSIONS    ".fence/sessions/"
#define SESSION_LEN 32

static int not_fencefs(struct errmsg *err)
{
	return errmsg_set(err, -EMEDIUMTYPE, "not in a fencefs mount");
}

static int mount_id_of(int fd, uint64_t *out)
{
	struct statx st;

	/* The id is the kernel's own; the daemon need not be asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*out = st.stx_mnt_id;
	return 0;
}

/*
 * The absolute path of directory @fd. A commit that changes a directory's attributes makes the
 * kernel forget its name, and whoever has it open sees it as "deleted": it is not if the same
 * directory is found there.
 */
static int path_of(int fd, char *out, size_t room)
{
	static const char mark[] = " (deleted)";
	char link[64];
	struct stat here, there;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, out, room - 1);
	if (len < 0)
		return -errno;
	out[len] = '\0';
	if (out[0] != '/')
		return -ENOENT;
	if ((size_t)len < sizeof(mark) || strcmp(out + len - (sizeof(mark) - 1), mark) != 0 ||
	    lstat(out, &there) == 0)
		return 0;
	out[(size_t)len - (sizeof(mark) - 1)] = '\0';
	if (fstat(fd, &here) < 0 || lstat(out, &there) < 0)
		return -ENOENT;
	return here.st_dev == there.st_dev && here.st_ino == there.st_ino ? 0 : -ENOENT;
}

/* Whether @path begins with @top as a directory; *out_rest is what follows, without '/'. */
static bool strip_top(const char *path, const char *top, const char **out_rest)
{
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);

	if (strncmp(path, top, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	path += len;
	while (*path == '/')
		path++;
	*out_rest = path;
	return true;
}

/* "…/.fence/sessions/ID/rest" is "rest" of session ID. */
static const char *strip_session(const char *inner, char session[33])
{
	const char *id, *rest;

	session[0] = '\0';
	if (strncmp(inner, SESSIONS, strlen(SESSIONS)) != 0)
		return inner;
	id = inner + strlen(SESSIONS);
	rest = id + strcspn(id, "/");
	if (rest - id != SESSION_LEN)
		return inner;
	memcpy(session, id, SESSION_LEN);
	session[SESSION_LEN] = '\0';
	while (*rest == '/')
		rest++;
	return rest;
}

static int fill(const char *mount, const char *inner, bool is_dir, struct target *out,
		struct errmsg *err)
{
	struct target t = { .is_dir = is_dir };
	const char *path = strip_session(inner, t.session);
	int r = path_normalise(*path ? path : ".", t.path, NULL);

	if (r == -EPERM)
		return errmsg_set(err, -EINVAL, "the name .fence is reserved");
	if (r < 0)
		return errmsg_set(err, r, "%s", strerror(-r));
	t.mount = str_copy(mount);
	*out = t;
	return 0;
}

/* The target of directory @fd and the names in @tail below it, which need not exist. */
static int locate(int fd, const char *tail, const char *given, struct target *out,
		  struct errmsg *err)
{
	auto_mount_table struct mount_table table = { 0 };
	auto_buf struct buf inner = { 0 };
	const struct mount_row *at, *whole;
	char path[PATH_MAX];
	const char *rest = "";
	size_t len = strlen(given);
	uint64_t id = 0;
	int r = mount_id_of(fd, &id);

	if (r == 0)
		r = mount_table_read(&table);
	if (r < 0)
		return errmsg_set(err, r, "cannot find its mount: %s", strerror(-r));
	at = mount_by_id(&table, id);
	if (!at || !at->is_fencefs)
		return not_fencefs(err);
	r = path_of(fd, path, sizeof(path));
	if (r < 0)
		return errmsg_set(err, r, "its directory has been removed");
	whole = mount_whole(&table, at->dev);
	if (!whole)
		return errmsg_set(err, -EMEDIUMTYPE, "only a part of its fencefs is mounted here");
	if (!strip_top(path, at->point, &rest))
		return errmsg_set(err, -ENOENT, "not below its mount point %s", at->point);
	buf_printf(&inner, "%s/%s/%s", at->root + 1, rest, tail);
	rest = inner.s;
	while (*rest == '/')
		rest++;
	return fill(whole->point, rest, len > 0 && given[len - 1] == '/', out, err);
}

/* Cut the last component off @path; it goes in front of @tail. False at the top. */
static bool cut_last(struct buf *path, struct buf *tail)
{
	auto_buf struct buf rest = { 0 };
	size_t end = path->len, start;

	while (end > 0 && path->s[end - 1] == '/')
		end--;
	if (end == 0)
		return false;
	for (start = end; start > 0 && path->s[start - 1] != '/';)
		start--;
	buf_add(&rest, path->s + start, end - start);
	buf_char(&rest, '/');
	buf_str(&rest, buf_text(tail));
	buf_clear(tail);
	buf_str(tail, rest.s);
	path->len = start;
	path->s[start] = '\0';
	if (start == 0)
		buf_str(path, "./");
	return true;
}

static int open_error(int r, struct errmsg *err)
{
	if (r == -ENOTCONN)
		return errmsg_set(err, r, "%s", exit_error_text(r));
	return errmsg_set(err, r, "%s", strerror(-r));
}

/* The longest part of @given above its last component that exists; *tail is the rest. */
static int open_above(const char *given, struct buf *tail, int *out_fd, struct errmsg *err)
{
	auto_buf struct buf path = { 0 };
	int r = -ENOENT;

	buf_str(&path, given);
	while (r == -ENOENT && cut_last(&path, tail)) {
		int fd = open(path.s, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0) {
			*out_fd = fd;
			return 0;
		}
		r = -errno;
		if (strcmp(path.s, "./") == 0)
			break;
	}
	return open_error(r, err);
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A link from outside into a mount, or a file mounted by itself: what is meant is behind it. */
static int locate_behind(const char *given, struct target *out, struct errmsg *err)
{
	auto_fd int fd = open(given, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return not_fencefs(err);
	return locate(fd, "", given, out, err);
}

int target_find(const char *given, struct target *out, struct errmsg *err)
{
	auto_fd int above = -1, self = -1;
	auto_buf struct buf tail = { 0 };
	int r;

	if (!*given)
		return errmsg_set(err, -ENOENT, "No such file or directory");
	self = open(given, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (self < 0 && errno != ENOENT)
		return open_error(-errno, err);
	if (self >= 0 && is_directory(self))
		return locate(self, "", given, out, err);
	r = open_above(given, &tail, &above, err);
	if (r < 0)
		return r;
	if (strstr(tail.s, "../") == tail.s || strstr(tail.s, "/../"))
		return open_error(-ENOENT, err);
	r = locate(above, tail.s, given, out, err);
	return r == -EMEDIUMTYPE && self >= 0 ? locate_behind(given, out, err) : r;
}

/* The only fencefs mount of this machine. */
static int only_mount(struct target *out, struct errmsg *err)
{
	auto_mount_table struct mount_table table = { 0 };
	auto_buf struct buf names = { 0 };
	const char *point = NULL;
	int n = 0;
	int r = mount_table_read(&table);

	if (r < 0)
		return errmsg_set(err, r, "/proc/self/mountinfo: %s", strerror(-r));
	for (int i = 0; i < table.n; i++) {
		const struct mount_row *row = &table.rows[i];

		if (!row->is_fencefs || mount_whole(&table, row->dev) != row)
			continue;
		buf_printf(&names, " %s", row->point);
		point = row->point;
		n++;
	}
	if (n == 0)
		return errmsg_set(err, -EMEDIUMTYPE, "no fencefs is mounted here");
	if (n > 1)
		return errmsg_set(err, -EMEDIUMTYPE,
				  "which mount is meant? there are%s; name one with --mount",
				  names.s);
	return fill(point, "", false, out, err);
}

int target_default(const char *dir, struct target *out, struct errmsg *err)
{
	const char *session = getenv("FENCE_DIR");
	int r;

	if (dir)
		return target_find(dir, out, err);
	if (session && *session && target_find(session, out, err) == 0)
		return 0;
	r = target_find(".", out, err);
	return r == -EMEDIUMTYPE || r == -ENOENT ? only_mount(out, err) : r;
}

const char *target_protocol_path(const struct target *t, char *room)
{
	if (!t->is_dir || strcmp(t->path, ".") == 0)
		return t->path;
	snprintf(room, FENCE_PATH_MAX + 2, "%s/", t->path);
	return room;
}

void target_fini(struct target *t)
{
	free(t->mount);
	t->mount = NULL;
}
