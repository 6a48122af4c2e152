/* SPDX-License-Identifier: MIT */
/*
 * From an unmodified entry to a node of the session, and back out of it. Core layer. Session lock
 * held for writing throughout.
 */
#include "core/session/session_impl.h"

#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void attributes_from(struct snode *n, const struct entry *e)
{
	n->mode = e->mode;
	n->uid = e->uid;
	n->gid = e->gid;
	n->mtime = n->ctime = e->mtime;
	n->origin = e->row;
}

static int new_node(struct session *s, struct db *db, const struct entry *e, struct snode **out)
{
	struct snode *n;
	char *target = NULL;
	int err = e->kind == ENTRY_SYMLINK ? entry_target(db, e->row, &target) : 0;

	if (err < 0)
		return err;
	n = overlay_node_add(&s->overlay, e->kind, e->row);
	if (!n) {
		free(target);
		return -ENOMEM;
	}
	n->ino = node_ino(s->view.number, e->kind, e->row);
	attributes_from(n, e);
	n->target = target;
	if (e->has_blob) {
		err = pins_hold_entry(&s->view.core->pins, db, e->row, &e->blob);
		if (err < 0) {
			overlay_node_free(&s->overlay, n);
			return err;
		}
		n->content = SNODE_BLOB;
		n->blob = e->blob;
		n->size = e->size;
		n->pinned = true;
	}
	*out = n;
	return 0;
}

int session_adopt(struct session *s, struct db *db, const struct entry *e, struct snode **out)
{
	struct oname *name;
	struct snode *n;
	int err;

	if (e->kind == ENTRY_DIR)
		err = session_dir_node_from(s, e, &n);
	else
		err = new_node(s, db, e, &n);
	if (err < 0)
		return err;
	name = overlay_name_add(&s->overlay, e->dir, e->name, e->row);
	if (!name) {
		if (e->kind != ENTRY_DIR)
			overlay_node_free(&s->overlay, n);
		return -ENOMEM;
	}
	overlay_link(name, n);
	*out = n;
	return 0;
}

static int add_xattr(void *arg, const char *name, const void *value, size_t len)
{
	return xattr_set_put(arg, name, value, len);
}

/* Attributes go with their version: none where gc has pruned it is not the same as none. */
static int check_origin(struct db *db, const struct snode *n)
{
	struct entry e;
	int err = n->xattrs.n ? 0 : entry_by_row(db, n->origin, &e);

	return err == -ENOENT ? -ESTALE : err;
}

int session_load_xattrs(struct db *db, struct snode *n)
{
	int err;

	if (n->xattrs_loaded)
		return 0;
	if (n->origin) {
		err = entry_xattr_each(db, n->origin, add_xattr, &n->xattrs);
		if (!err)
			err = check_origin(db, n);
		if (err < 0) {
			xattr_set_fini(&n->xattrs);
			return err;
		}
	}
	n->xattrs_loaded = true;
	return 0;
}

/* The entry with row or directory @id, if the session still shows it where it is. */
static int entry_in_place(struct session *s, struct db *db, int64_t rev, enum entry_kind kind,
			  int64_t id, struct entry *out)
{
	struct entry e;
	struct snode *n;
	int err = base_row(db, rev, kind, id, &e);

	if (err < 0)
		return err == -ENOENT ? -ESTALE : err;
	if (e.died && e.died <= rev)
		return -ESTALE;
	err = session_at(s, db, rev, e.dir, e.name, &n, out, NULL);
	if (err == -ENOENT || (!err && (n || out->row != e.row)))
		return -ESTALE;
	return err;
}

int session_node_for_change(struct session *s, struct db *db, int64_t rev, enum entry_kind kind,
			    int64_t id, struct snode **out)
{
	struct snode *n = overlay_node(&s->overlay, kind, id);
	struct entry e;
	int err;

	if (!n && kind == ENTRY_FILE)
		n = overlay_node_of_row(&s->overlay, id);
	if (n) {
		*out = n;
		return 0;
	}
	if (id < 0)
		return -ESTALE;
	if (kind == ENTRY_DIR)
		return session_dir_node(s, db, rev, id, out);
	err = entry_in_place(s, db, rev, kind, id, &e);
	return err < 0 ? err : session_adopt(s, db, &e, out);
}

void session_node_unlinked(struct session *s, struct snode *n)
{
	if (!n || n->link || n->refs > 0 || n->writers > 0)
		return;
	if (n->content == SNODE_STAGED)
		staging_give_up(s->view.core->store, &n->blob);
	else if (n->content == SNODE_BLOB && n->fresh)
		blob_remove(s->view.core->store, &n->blob);
	if (n->kind != ENTRY_DIR || n->id < 0)
		overlay_node_free(&s->overlay, n);
}
