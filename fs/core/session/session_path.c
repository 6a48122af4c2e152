/* SPDX-License-Identifier: MIT */
/*
 * Paths of directories in a session's tree, and the checks that come before each change. Core
 * layer.
 *
 * A path is found by walking up: a directory that the session made or moved says where it is, any
 * other is where the live tree has it. It is cached in the directory's node until a directory
 * moves, in this session or in a commit (dir_moves).
 */
#include "core/session/session_impl.h"

#include "base/io.h"
#include "store/fence/fence.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 2048 /* a path of 4096 bytes has no more components */

static uint64_t stamp_now(const struct session *s)
{
	return atomic_load(&s->view.core->live.dir_moves) + s->moves + 1;
}

/* Where directory @dir hangs: its parent and its name. */
static int dir_place(struct session *s, struct db *db, int64_t rev, int64_t dir,
		     int64_t *out_parent, char name[FENCE_NAME_MAX + 1])
{
	struct snode *n = overlay_node(&s->overlay, ENTRY_DIR, dir);
	const struct oname *hidden;
	struct entry e;
	int err;

	if (n && n->link) {
		*out_parent = n->link->dir;
		strcpy(name, n->link->name);
		return 0;
	}
	if (dir < 0)
		return -ENOENT; /* made here and removed again */
	err = entry_by_child(db, dir, rev, &e);
	if (err < 0)
		return err;
	hidden = overlay_name(&s->overlay, e.dir, e.name);
	if (hidden)
		return -ENOENT;
	*out_parent = e.dir;
	strcpy(name, e.name);
	return 0;
}

static int remember(struct session *s, struct db *db, int64_t rev, int64_t dir, const char *path)
{
	struct snode *n;
	char *copy;
	int err = session_dir_node(s, db, rev, dir, &n);

	if (err < 0)
		return err;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(n->path);
	n->path = copy;
	n->path_stamp = stamp_now(s);
	return 0;
}

/* Prepend "name/" (or "name") to what is in out[*at ..]. */
static int prepend(char *out, size_t *at, const char *name)
{
	size_t len = strlen(name);
	size_t room = len + (out[*at] != '\0');

	if (*at < room)
		return -ENAMETOOLONG;
	if (out[*at])
		out[--*at] = '/';
	*at -= len;
	memcpy(out + *at, name, len);
	return 0;
}

int session_dir_path(struct session *s, struct db *db, int64_t rev, int64_t dir, char *out)
{
	char buf[FENCE_PATH_MAX + 1], name[FENCE_NAME_MAX + 1];
	size_t at = FENCE_PATH_MAX;
	int64_t up = dir;
	int err;

	buf[at] = '\0';
	for (int depth = 0; up != STORE_ROOT_DIR; depth++) {
		const struct snode *n = overlay_node(&s->overlay, ENTRY_DIR, up);

		if (n && n->path && n->path_stamp == stamp_now(s)) {
			err = strcmp(n->path, ".") == 0 ? 0 : prepend(buf, &at, n->path);
			if (err < 0)
				return err;
			break;
		}
		if (depth > DEPTH_MAX)
			return -ELOOP;
		err = dir_place(s, db, rev, up, &up, name);
		if (!err)
			err = prepend(buf, &at, name);
		if (err < 0)
			return err;
	}
	strcpy(out, buf[at] ? buf + at : ".");
	return remember(s, db, rev, dir, out);
}

int session_dir_node_from(struct session *s, const struct entry *e, struct snode **out)
{
	struct snode *n = overlay_node(&s->overlay, ENTRY_DIR, e->child);

	if (!n) {
		n = overlay_node_add(&s->overlay, ENTRY_DIR, e->child);
		if (!n)
			return -ENOMEM;
		n->ino = node_ino(s->view.number, ENTRY_DIR, e->child);
		n->origin = e->row;
		n->mode = e->mode;
		n->uid = e->uid;
		n->gid = e->gid;
		n->mtime = n->ctime = e->mtime;
	}
	*out = n;
	return 0;
}

int session_dir_node(struct session *s, struct db *db, int64_t rev, int64_t dir, struct snode **out)
{
	struct snode *n = overlay_node(&s->overlay, ENTRY_DIR, dir);
	struct entry e;
	int err;

	if (n) {
		*out = n;
		return 0;
	}
	err = entry_by_child(db, dir, rev, &e);
	return err < 0 ? err : session_dir_node_from(s, &e, out);
}

static int fenced_off(struct session *s)
{
	atomic_store(&s->refused, true);
	metric_add(&s->view.core->metrics.stale_writes, 1);
	return -ESTALE;
}

int session_check_path(struct session *s, struct db *db, const char *path)
{
	struct fence_row highest;
	int err;

	if (s->state == SESSION_STATE_ENDED)
		return -ESTALE;
	if (s->state == SESSION_STATE_COMMITTING)
		return -EROFS;
	if (!path_is_within(path, s->path))
		return -EROFS;
	if (atomic_load(&s->overtaken))
		return fenced_off(s);
	atomic_store(&s->last_used, io_boot_ns());
	if (!atomic_load(&s->rows_beneath))
		return 0;
	err = fence_highest(db, path, &highest);
	if (err < 0)
		return err;
	return highest.token > s->token ? fenced_off(s) : 0;
}

int session_may_change(struct session *s, struct db *db, int64_t rev, int64_t dir, const char *name)
{
	char parent[FENCE_PATH_MAX + 1], path[FENCE_PATH_MAX + 1];
	int err;

	if (s->state == SESSION_STATE_ENDED)
		return -ESTALE;
	if (dir == STORE_ROOT_DIR && strcmp(name, ".fence") == 0)
		return -EPERM;
	err = session_dir_path(s, db, rev, dir, parent);
	if (!err)
		err = path_join(parent, name, path);
	return err < 0 ? err : session_check_path(s, db, path);
}
