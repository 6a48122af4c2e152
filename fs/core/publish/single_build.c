/* SPDX-License-Identifier: MIT */
/*
 * What a put, remove or restore changes, by the tree as it is in the transaction. See single.h.
 * Layer: core, room publish.
 */
#include "core/publish/single.h"

#include "base/io.h"
#include "core/access/past_mode.h"
#include "core/access/permission.h"
#include "core/session/overlay.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void single_drop_changes(struct single *s)
{
	struct xattr_set x = { .n = s->n_xattrs, .v = s->xattrs };

	change_list_fini(&s->p.list);
	xattr_set_fini(&x);
	s->xattrs = NULL;
	s->n_xattrs = 0;
	free(s->target);
	s->target = NULL;
}

static int refuse(struct single *s, int err, const char *path, const char *text)
{
	struct refusal *r = &s->p.result.refusal;

	r->err = -err;
	r->token = s->token;
	r->highest = -1;
	strcpy(r->path, path);
	snprintf(r->text, sizeof(r->text), "%s", text);
	return err;
}

static struct change *add_change(struct single *s, const char *path)
{
	struct change *ch, *grown = reallocarray(s->p.list.v, s->p.list.n + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	s->p.list.v = grown;
	ch = &grown[s->p.list.n];
	*ch = (struct change){ .path = strdup(path) };
	if (!ch->path)
		return NULL;
	s->p.list.n++;
	ch->name = strrchr(ch->path, '/') ? strrchr(ch->path, '/') + 1 : ch->path;
	ch->uid = s->who.uid;
	ch->gid = s->who.gid;
	ch->mtime = io_now_ns();
	return ch;
}

/* One directory above the path: the one that is there, or one to be made. */
static int parent_step(struct single *s, struct db *db, const char *path, const char *name,
		       int64_t *dir, uint32_t *sgid)
{
	struct change *ch;
	struct entry e;
	int err = *dir > 0 ? entry_lookup(db, *dir, name, ENTRY_NOW, &e) : -ENOENT;

	if (!err && e.kind != ENTRY_DIR)
		return refuse(s, -ENOTDIR, path, "a part of this path is not a directory");
	if (!err) {
		*dir = e.child;
		*sgid = e.mode & S_ISGID ? e.gid : UINT32_MAX;
		return 0;
	}
	if (err != -ENOENT)
		return err;
	if (!s->parents)
		return refuse(s, -ENOENT, path, "this directory is missing; parents=1 makes it");
	ch = add_change(s, path);
	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_DIR;
	ch->implied = true;
	ch->dir = *dir;
	ch->child = -(int64_t)s->p.list.n;
	ch->mode = 0755;
	if (*sgid != UINT32_MAX) {
		ch->gid = *sgid;
		ch->mode |= S_ISGID;
	}
	*dir = ch->child;
	return 0;
}

static int walk_parents(struct single *s, struct db *db, int64_t *out_dir, uint32_t *out_sgid)
{
	int64_t dir = STORE_ROOT_DIR;
	uint32_t sgid = UINT32_MAX;
	char path[FENCE_PATH_MAX + 1];
	struct entry root;
	int err = entry_by_child(db, STORE_ROOT_DIR, ENTRY_NOW, &root);

	if (!err && (root.mode & S_ISGID))
		sgid = root.gid;
	strcpy(path, s->path);
	for (char *at = path, *slash; !err && (slash = strchr(at, '/')); at = slash + 1) {
		*slash = '\0';
		err = parent_step(s, db, path, at, &dir, &sgid);
		*slash = '/';
	}
	if (err < 0)
		return err;
	*out_dir = dir;
	*out_sgid = sgid;
	return 0;
}

static int keep_xattr(void *arg, const char *name, const void *value, size_t len)
{
	return xattr_set_put(arg, name, value, len);
}

/* As writing in place would: owner, mode and attributes of what is replaced stay. */
static int keep_attributes(struct single *s, struct db *db, const struct entry *e,
			   struct change *ch)
{
	struct xattr_set x = { 0 };
	int err = entry_xattr_each(db, e->row, keep_xattr, &x);

	s->xattrs = x.v;
	s->n_xattrs = x.n;
	ch->xattrs = x.v;
	ch->n_xattrs = (size_t)x.n;
	ch->mode = e->mode;
	ch->uid = e->uid;
	ch->gid = e->gid;
	if (s->who.uid != 0)
		ch->mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return err;
}

static int build_put(struct single *s, struct db *db, int64_t dir, uint32_t sgid)
{
	struct change *ch = add_change(s, s->path);
	struct entry e;
	int err;

	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_FILE;
	ch->dir = dir;
	ch->mode = 0644;
	if (sgid != UINT32_MAX)
		ch->gid = sgid;
	if (s->content) {
		ch->size = s->content->size;
		ch->has_blob = !s->content->empty;
		ch->blob = s->content->id;
	}
	err = dir > 0 ? entry_lookup(db, dir, ch->name, ENTRY_NOW, &e) : -ENOENT;
	if (!err && e.kind == ENTRY_DIR)
		return refuse(s, -EISDIR, s->path, "a directory is there; put writes files");
	if (!err && e.kind == ENTRY_FILE)
		err = keep_attributes(s, db, &e, ch);
	if (err < 0 && err != -ENOENT)
		return err;
	if (s->has_mode && !err && e.kind == ENTRY_FILE && s->who.uid != 0 && s->who.uid != e.uid)
		return refuse(s, -EPERM, s->path, "only the file's owner may set its mode");
	if (s->has_mode)
		ch->mode = s->mode;
	/* As chmod(2) does. */
	if (s->who.uid != 0 && !permission_in_group(&s->who, ch->gid))
		ch->mode &= ~(uint32_t)S_ISGID;
	return 0;
}

static int restored_version(struct single *s, struct db *db, struct entry *out)
{
	struct entry access;
	int err = entry_version(db, s->path, s->version, out);

	if (err == -ENOENT)
		return refuse(s, -ENOENT, s->path,
			      "this path has no such version, or gc has removed it");
	if (err < 0)
		return err;
	if (out->kind == ENTRY_DIR)
		return refuse(
			s, -EISDIR, s->path,
			"this version is a directory; a directory of the past is in .fence/at");
	err = past_mode(db, ENTRY_NOW, out, &access);
	if (err < 0)
		return err;
	if (!(permission_bits(&s->who, access.mode, access.uid, access.gid) & 04))
		return refuse(s, -EACCES, s->path, "no read permission on this version");
	return 0;
}

/*
 * A new version with old content: the blob is shared, nothing is copied. Owner and mode are those
 * of what is there now.
 */
static int build_restore(struct single *s, struct db *db, int64_t dir, uint32_t sgid)
{
	struct change *ch;
	struct entry old;
	int err = restored_version(s, db, &old);

	if (!err)
		err = build_put(s, db, dir, sgid);
	if (err < 0)
		return err;
	ch = &s->p.list.v[s->p.list.n - 1];
	ch->size = old.size;
	ch->has_blob = old.has_blob;
	ch->blob = old.blob;
	if (old.kind == ENTRY_SYMLINK) {
		ch->kind = CHANGE_SYMLINK;
		err = entry_target(db, old.row, &s->target);
		ch->target = s->target;
	}
	if (!err && old.has_blob)
		err = garbage_unmark(db, &old.blob);
	return err;
}

static int build_remove(struct single *s, struct db *db, int64_t dir)
{
	struct change *ch = add_change(s, s->path);
	struct entry e;
	int err;

	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_REMOVE;
	ch->dir = dir;
	err = entry_lookup(db, dir, ch->name, ENTRY_NOW, &e);
	if (err == -ENOENT)
		return refuse(s, -ENOENT, s->path, "there is nothing at this path");
	return err;
}

int single_build(struct single *s, struct db *db)
{
	int64_t dir;
	uint32_t sgid;
	int err = walk_parents(s, db, &dir, &sgid);

	if (err < 0)
		return err;
	if (s->kind == SINGLE_REMOVE)
		return build_remove(s, db, dir);
	return s->kind == SINGLE_RESTORE ? build_restore(s, db, dir, sgid) :
					   build_put(s, db, dir, sgid);
}
