/* SPDX-License-Identifier: MIT */
/* Attributes and extended attributes in a session. Core layer. */
#include "core/session/change_scope.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/session/copyup.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

/* The path that a change of node (kind, id) changes, checked. */
static int may_change_node(struct change_scope *t, struct snode *n)
{
	char parent[FENCE_PATH_MAX + 1], path[FENCE_PATH_MAX + 1];
	int err;

	if (n->kind == ENTRY_DIR) {
		err = session_dir_path(t->s, t->db, t->rev, n->id, path);
	} else if (!n->link) {
		return t->s->state == SESSION_STATE_OPEN ? 0 : -ESTALE; /* unlinked, still open */
	} else {
		err = session_dir_path(t->s, t->db, t->rev, n->link->dir, parent);
		if (!err)
			err = path_join(parent, n->link->name, path);
	}
	return err < 0 ? err : session_check_path(t->s, t->db, path);
}

static bool is_unmodified(struct change_scope *t, enum entry_kind kind, int64_t id)
{
	return kind != ENTRY_DIR && id > 0 && !overlay_node(&t->s->overlay, kind, id) &&
	       !overlay_node_of_row(&t->s->overlay, id);
}

/* Before anything is adopted: an unmodified entry's path. */
static int may_change_id(struct change_scope *t, enum entry_kind kind, int64_t id)
{
	struct entry e;
	int err;

	if (!is_unmodified(t, kind, id))
		return 0;
	err = entry_by_row(t->db, id, &e);
	if (err < 0)
		return err == -ENOENT ? -ESTALE : err;
	return session_may_change(t->s, t->db, t->rev, e.dir, e.name);
}

int change_node(struct change_scope *t, enum entry_kind kind, int64_t id, struct snode **out)
{
	struct snode *n;
	int err = may_change_id(t, kind, id);

	if (!err)
		err = session_node_for_change(t->s, t->db, t->rev, kind, id, &n);
	if (!err)
		err = may_change_node(t, n);
	if (err < 0)
		return err;
	*out = n;
	return 0;
}

static int set_mtime(struct session *s, struct snode *n, int64_t ns)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 } };
	auto_fd int fd = -1;
	int err;

	if (times[1].tv_nsec < 0) {
		times[1].tv_sec--;
		times[1].tv_nsec += 1000000000;
	}
	n->mtime = ns;
	if (n->content != SNODE_STAGED)
		return 0;
	err = staging_open(s->view.core->store, &n->blob, O_RDONLY, &fd);
	if (err < 0)
		return err;
	return futimens(fd, times) < 0 ? -errno : 0;
}

static int set_size(struct session *s, struct snode *n, int64_t size)
{
	auto_fd int fd = -1;
	int err;

	if (n->content != SNODE_STAGED)
		return -EBUSY; /* the caller stages it first */
	err = staging_open(s->view.core->store, &n->blob, O_RDWR, &fd);
	if (err < 0)
		return err;
	return ftruncate(fd, size) < 0 ? -errno : 0;
}

/*
 * What a change of owner does to a program file, by root too as on other file systems; and a change
 * of size by others.
 */
static void drop_privilege_bits(struct snode *n)
{
	if (n->kind != ENTRY_FILE)
		return;
	n->mode &= ~(uint32_t)S_ISUID;
	if (n->mode & S_IXGRP)
		n->mode &= ~(uint32_t)S_ISGID;
}

static int setattr_locked(struct change_scope *t, enum entry_kind kind, int64_t id,
			  const struct node_change *ch, uint32_t uid, struct node *out)
{
	struct snode *n;
	int err = change_node(t, kind, id, &n);

	rwlock_assert_written(&t->s->lock);
	if (!err && (ch->set & NODE_SIZE))
		err = set_size(t->s, n, ch->size);
	if (err < 0)
		return err;
	if (ch->set & (NODE_UID | NODE_GID) || (ch->set & NODE_SIZE && uid != 0))
		drop_privilege_bits(n);
	if (ch->set & NODE_MODE)
		n->mode = ch->mode & 07777;
	if (ch->set & NODE_UID)
		n->uid = ch->uid;
	if (ch->set & NODE_GID)
		n->gid = ch->gid;
	if (ch->set & NODE_MTIME)
		err = set_mtime(t->s, n, ch->mtime);
	n->ctime = io_now_ns();
	n->changed = true;
	session_node_attr(t->s, n, out);
	return err;
}

int session_prepare_size(struct view *v, int64_t id, int64_t size, content_done_fn done, void *arg)
{
	return v->writable ? copyup_for_write(v, id, size == 0 ? COPYUP_EMPTY : COPYUP_CONTENT,
					      done, arg) :
			     0;
}

int session_setattr(struct view *v, enum entry_kind kind, int64_t id, const struct node_change *ch,
		    uint32_t uid, struct node *out)
{
	struct change_scope t;
	int err;

	if (ch->set & NODE_SIZE) {
		err = session_prepare_size(v, id, ch->size, NULL, NULL);
		if (err < 0)
			return err;
	}
	err = change_begin(&t, v);
	return err < 0 ? err : change_end(&t, setattr_locked(&t, kind, id, ch, uid, out));
}

static int check_name(const char *name)
{
	if (strncmp(name, "user.", 5) != 0)
		return -EOPNOTSUPP;
	if (strncmp(name, "user.fence.", 11) == 0)
		return -EPERM;
	return strlen(name) > XATTR_NAME_MAX ? -ERANGE : 0;
}

/*
 * What would fail must not make an unmodified file the session's own: it would hide what others
 * commit. @flags as of setxattr(2).
 */
static int check_xattr(struct change_scope *t, enum entry_kind kind, int64_t id, const char *name,
		       int flags)
{
	auto_free void *value = NULL;
	size_t len;
	int err;

	if (!is_unmodified(t, kind, id))
		return 0;
	err = may_change_id(t, kind, id);
	if (err < 0)
		return err;
	err = entry_xattr_get(t->db, id, name, &value, &len);
	if (err == -ENODATA)
		return flags & XATTR_REPLACE ? err : 0;
	return !err && (flags & XATTR_CREATE) ? -EEXIST : err;
}

static int xattr_node(struct change_scope *t, enum entry_kind kind, int64_t id, struct snode **out)
{
	int err = change_node(t, kind, id, out);

	return err < 0 ? err : session_load_xattrs(t->db, *out);
}

static int setxattr_locked(struct change_scope *t, enum entry_kind kind, int64_t id,
			   const struct change_xattr *x, int flags)
{
	struct snode *n;
	int err = check_xattr(t, kind, id, x->name, flags);
	bool exists;

	rwlock_assert_written(&t->s->lock);
	if (!err)
		err = xattr_node(t, kind, id, &n);
	if (err < 0)
		return err;
	exists = xattr_set_find(&n->xattrs, x->name) >= 0;
	if ((flags & XATTR_CREATE) && exists)
		return -EEXIST;
	if ((flags & XATTR_REPLACE) && !exists)
		return -ENODATA;
	err = xattr_set_put(&n->xattrs, x->name, x->value, x->len);
	n->changed = n->xattrs_changed = true;
	n->ctime = io_now_ns();
	return err;
}

int session_setxattr(struct view *v, enum entry_kind kind, int64_t id, const char *name,
		     const void *value, size_t len, int flags)
{
	struct change_xattr x = { .name = name, .value = value, .len = len };
	struct change_scope t;
	int err = check_name(name);

	if (!err)
		err = change_begin(&t, v);
	return err < 0 ? err : change_end(&t, setxattr_locked(&t, kind, id, &x, flags));
}

static int removexattr_locked(struct change_scope *t, enum entry_kind kind, int64_t id,
			      const char *name)
{
	struct snode *n;
	int err = check_xattr(t, kind, id, name, XATTR_REPLACE);
	int i;

	rwlock_assert_written(&t->s->lock);
	if (!err)
		err = xattr_node(t, kind, id, &n);
	if (err < 0)
		return err;
	i = xattr_set_find(&n->xattrs, name);
	if (i < 0)
		return -ENODATA;
	xattr_set_drop(&n->xattrs, i);
	n->changed = n->xattrs_changed = true;
	n->ctime = io_now_ns();
	return 0;
}

int session_removexattr(struct view *v, enum entry_kind kind, int64_t id, const char *name)
{
	struct change_scope t;
	int err = check_name(name);

	if (!err)
		err = change_begin(&t, v);
	return err < 0 ? err : change_end(&t, removexattr_locked(&t, kind, id, name));
}
