/* SPDX-License-Identifier: MIT */
/* Making and removing names in a session. Core layer. */
#include "core/session/session_impl.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/session/change_scope.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int change_begin(struct change_scope *t, struct view *v)
{
	int err;

	if (!v->writable)
		return -EROFS;
	t->s = session_of(v);
	err = core_read_begin(v->core, &t->db, &t->rev);
	if (err < 0)
		return err;
	rwlock_write(&t->s->lock);
	return 0;
}

int change_end(struct change_scope *t, int err)
{
	rwlock_drop(&t->s->lock);
	core_read_end(t->s->view.core, t->db);
	return err;
}

/* New names and removed ones move the directory's times. */
void change_touch(struct change_scope *t, int64_t dir)
{
	struct snode *n;

	if (session_dir_node(t->s, t->db, t->rev, dir, &n) < 0)
		return; /* its directory has gone from the live tree: the commit will say so */
	n->mtime = n->ctime = io_now_ns();
}

/* A setgid directory passes on its group, and to directories the bit itself. */
static int inherit(struct change_scope *t, int64_t dir, struct snode *n)
{
	struct snode *parent;
	int err = session_dir_node(t->s, t->db, t->rev, dir, &parent);

	if (err < 0)
		return err;
	if (parent->mode & S_ISGID) {
		n->gid = parent->gid;
		if (n->kind == ENTRY_DIR)
			n->mode |= S_ISGID;
	}
	return 0;
}

/*
 * The name at which something new may be put: free now, hiding row *base if the live tree has one
 * there.
 */
static int free_name(struct change_scope *t, int64_t dir, const char *name, struct oname **out)
{
	struct oname *at;
	struct snode *there;
	struct entry e;
	int err = session_may_change(t->s, t->db, t->rev, dir, name);

	if (err < 0)
		return err;
	err = session_at(t->s, t->db, t->rev, dir, name, &there, &e, &at);
	if (!err)
		return -EEXIST;
	if (err != -ENOENT)
		return err;
	if (!at)
		at = overlay_name_add(&t->s->overlay, dir, name, 0);
	if (!at)
		return -ENOMEM;
	*out = at;
	return 0;
}

struct fresh {
	enum entry_kind kind;
	uint32_t mode, uid, gid;
	const char *target;
};

static int stage_empty(struct session *s, struct snode *n)
{
	auto_fd int fd = -1;
	int err = staging_take(s->view.core->store, &n->blob, &fd);

	if (!err)
		n->content = SNODE_STAGED;
	return err;
}

static int fill_node(struct change_scope *t, int64_t dir, const struct fresh *f, struct snode *n)
{
	n->ino = node_ino(t->s->view.number, f->kind, n->id);
	n->mode = f->mode & 07777;
	n->uid = f->uid;
	n->gid = f->gid;
	n->mtime = n->ctime = io_now_ns();
	n->changed = f->kind == ENTRY_DIR;
	n->xattrs_loaded = true;
	if (f->target) {
		n->target = strdup(f->target);
		if (!n->target)
			return -ENOMEM;
	}
	if (inherit(t, dir, n) < 0)
		return -ENOENT;
	return f->kind == ENTRY_FILE ? stage_empty(t->s, n) : 0;
}

static int make_locked(struct change_scope *t, int64_t dir, const char *name, const struct fresh *f,
		       struct node *out)
{
	struct oname *at;
	struct snode *n;
	int err = free_name(t, dir, name, &at);

	rwlock_assert_written(&t->s->lock);
	if (err < 0)
		return err;
	n = overlay_node_add(&t->s->overlay, f->kind, 0);
	err = n ? fill_node(t, dir, f, n) : -ENOMEM;
	if (err < 0) {
		if (n)
			overlay_node_free(&t->s->overlay, n);
		if (!at->base)
			overlay_name_remove(&t->s->overlay, at);
		return err;
	}
	overlay_link(at, n);
	change_touch(t, dir);
	session_node_attr(t->s, n, out);
	return 0;
}

static int make(struct view *v, int64_t dir, const char *name, const struct fresh *f,
		struct node *out)
{
	struct change_scope t;
	int err = change_begin(&t, v);

	return err < 0 ? err : change_end(&t, make_locked(&t, dir, name, f, out));
}

int session_create(struct view *v, int64_t dir, const char *name, uint32_t mode, uint32_t uid,
		   uint32_t gid, struct node *out)
{
	return make(v, dir, name,
		    &(struct fresh){ .kind = ENTRY_FILE, .mode = mode, .uid = uid, .gid = gid },
		    out);
}

int session_mkdir(struct view *v, int64_t dir, const char *name, uint32_t mode, uint32_t uid,
		  uint32_t gid, struct node *out)
{
	return make(v, dir, name,
		    &(struct fresh){ .kind = ENTRY_DIR, .mode = mode, .uid = uid, .gid = gid },
		    out);
}

int session_symlink(struct view *v, int64_t dir, const char *name, const char *target, uint32_t uid,
		    uint32_t gid, struct node *out)
{
	struct fresh f = {
		.kind = ENTRY_SYMLINK, .mode = 0777, .uid = uid, .gid = gid, .target = target
	};

	return make(v, dir, name, &f, out);
}

int change_is_empty(struct change_scope *t, int64_t dir)
{
	struct named_node one;
	int n = session_list_locked(t->s, t->db, t->rev, dir, "", &one, 1);

	return n < 0 ? n : n == 0;
}

/*
 * In a sticky directory only the owner of the file or of the directory may remove it. The kernel
 * checks that too, but in the root of a session's view it sees the session's owner as the owner of
 * the root (P8).
 */
int change_sticky(struct change_scope *t, int64_t dir, uint32_t victim)
{
	const struct caller *who = t->s->who;
	struct entry root;
	int err;

	if (dir != STORE_ROOT_DIR || who->uid == 0)
		return 0;
	err = entry_by_child(t->db, dir, t->rev, &root);
	if (err < 0)
		return err;
	if ((root.mode & S_ISVTX) && who->uid != root.uid && who->uid != victim)
		return -EPERM;
	return 0;
}

/* After its checks: the name is gone from the session's tree. */
static int drop_name(struct change_scope *t, int64_t dir, const char *name, struct oname *at,
		     struct snode *n, const struct entry *e)
{
	if (!at) {
		at = overlay_name_add(&t->s->overlay, dir, name, e->row);
		if (!at)
			return -ENOMEM;
	} else {
		at->node = NULL;
		n->link = NULL;
		if (!at->base)
			overlay_name_remove(&t->s->overlay, at);
		n->ctime = io_now_ns();
		session_node_unlinked(t->s, n);
	}
	change_touch(t, dir);
	return 0;
}

static int remove_locked(struct change_scope *t, int64_t dir, const char *name, bool directory)
{
	struct oname *at;
	struct snode *n;
	struct entry e;
	enum entry_kind kind;
	int err = session_may_change(t->s, t->db, t->rev, dir, name);

	rwlock_assert_written(&t->s->lock);
	if (!err)
		err = session_at(t->s, t->db, t->rev, dir, name, &n, &e, &at);
	if (err < 0)
		return err;
	kind = n ? n->kind : e.kind;
	if (directory != (kind == ENTRY_DIR))
		return directory ? -ENOTDIR : -EISDIR;
	err = change_sticky(t, dir, n ? n->uid : e.uid);
	if (err < 0)
		return err;
	if (directory) {
		err = change_is_empty(t, n ? n->id : e.child);
		if (err <= 0)
			return err < 0 ? err : -ENOTEMPTY;
		t->s->moves++;
	}
	return drop_name(t, dir, name, at, n, &e);
}

int session_unlink(struct view *v, int64_t dir, const char *name)
{
	struct change_scope t;
	int err = change_begin(&t, v);

	return err < 0 ? err : change_end(&t, remove_locked(&t, dir, name, false));
}

int session_rmdir(struct view *v, int64_t dir, const char *name)
{
	struct change_scope t;
	int err = change_begin(&t, v);

	return err < 0 ? err : change_end(&t, remove_locked(&t, dir, name, true));
}
