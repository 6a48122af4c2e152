/* SPDX-License-Identifier: MIT */
/* See change_list.h. Core layer. */
#include "core/publish/change_list.h"

#include "core/session/session_impl.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct session *s;
	struct db *db;
	int64_t rev;
	struct sealed **by_node; /* sorted by node pointer */
	size_t n_sealed;
	struct change_list list;
	size_t room;
	struct refusal *refusal;
};

static int cmp_node(const void *a, const void *b)
{
	const struct sealed *const *x = a, *const *y = b;

	return (*x)->node < (*y)->node ? -1 : (*x)->node > (*y)->node;
}

static const struct sealed *sealed_of(const struct builder *b, const struct snode *n)
{
	struct sealed key = { .node = (struct snode *)(uintptr_t)n }, *k = &key;
	struct sealed **found =
		bsearch(&k, b->by_node, b->n_sealed, sizeof(struct sealed *), cmp_node);

	return found ? *found : NULL;
}

static struct change *append(struct builder *b)
{
	struct change *grown;

	if (b->list.n == b->room) {
		b->room = b->room ? b->room * 2 : 64;
		grown = reallocarray(b->list.v, b->room, sizeof(*grown));
		if (!grown)
			return NULL;
		b->list.v = grown;
	}
	b->list.v[b->list.n] = (struct change){ 0 };
	return &b->list.v[b->list.n++];
}

static void content_of(const struct builder *b, const struct snode *n, struct change *ch)
{
	const struct sealed *sealed = sealed_of(b, n);

	ch->mtime = n->mtime;
	if (sealed) {
		ch->size = sealed->size;
		ch->has_blob = !sealed->empty;
		ch->blob = sealed->id;
		ch->mtime = sealed->mtime;
	} else if (n->content == SNODE_BLOB) {
		ch->size = n->size;
		ch->has_blob = true;
		ch->blob = n->blob;
	}
}

static int same_content(struct builder *b, const struct snode *n, const struct entry *e)
{
	const struct sealed *sealed = sealed_of(b, n);
	struct blob_info info;
	int err;

	if (!sealed)
		return n->kind != ENTRY_FILE || n->content != SNODE_BLOB ||
		       (e->has_blob && memcmp(&n->blob, &e->blob, sizeof(e->blob)) == 0);
	if (sealed->size != e->size)
		return 0;
	if (!e->has_blob)
		return sealed->empty;
	err = blob_get(b->db, &e->blob, false, &info);
	if (err < 0)
		return err;
	return memcmp(&info.hash, &sealed->hash, sizeof(info.hash)) == 0;
}

/* Opened for writing and not written, or set to what it was: 1. */
static int is_unchanged(struct builder *b, const struct oname *o)
{
	const struct snode *n = o->node;
	const struct sealed *sealed = sealed_of(b, n);
	int64_t mtime = sealed ? sealed->mtime : n->mtime;
	struct entry e;
	int err;

	if (n->kind == ENTRY_DIR || !n->origin || o->base != n->origin || n->xattrs_changed)
		return 0;
	err = entry_by_row(b->db, n->origin, &e);
	if (err < 0)
		return err == -ENOENT ? 0 : err;
	if (e.mode != n->mode || e.uid != n->uid || e.gid != n->gid || e.mtime != mtime)
		return 0;
	return same_content(b, n, &e);
}

static int attributes(struct builder *b, struct snode *n, struct change *ch)
{
	int err = session_load_xattrs(b->db, n);

	if (err < 0)
		return err;
	ch->mode = n->mode;
	ch->uid = n->uid;
	ch->gid = n->gid;
	ch->mtime = n->mtime;
	ch->xattrs = n->xattrs.v;
	ch->n_xattrs = (size_t)n->xattrs.n;
	switch (n->kind) {
	case ENTRY_FILE:
		ch->kind = CHANGE_FILE;
		content_of(b, n, ch);
		break;
	case ENTRY_DIR:
		ch->kind = CHANGE_DIR;
		ch->child = n->id;
		ch->implied = n->implied;
		break;
	case ENTRY_SYMLINK:
		ch->kind = CHANGE_SYMLINK;
		ch->target = n->target;
		ch->size = (int64_t)strlen(n->target);
		break;
	}
	return 0;
}

/*
 * The directory of a changed name is gone. The list goes on, under a path to recover the content
 * by.
 */
static int refuse_gone(struct builder *b, const char *name, char parent[FENCE_PATH_MAX + 1])
{
	struct refusal *r = b->refusal;

	strcpy(parent, b->s->path);
	if (r->err)
		return 0;
	r->err = ENOENT;
	r->token = b->s->token;
	r->highest = -1;
	strcpy(r->path, b->s->path);
	snprintf(
		r->text, sizeof(r->text),
		"the directory in which this session changed \"%.200s\" was moved or removed by another commit",
		name);
	return 0;
}

/* gc has pruned the version that an unwritten file comes from, with its attributes. */
static int refuse_pruned(struct builder *b, const char *path)
{
	struct refusal *r = b->refusal;

	if (r->err)
		return 0;
	r->err = ESTALE;
	r->token = b->s->token;
	r->highest = -1;
	strcpy(r->path, path);
	snprintf(r->text, sizeof(r->text),
		 "the version of %.200s that this session started from has since been replaced "
		 "and pruned",
		 path);
	return 0;
}

static int path_at(struct builder *b, int64_t dir, const char *name, struct change *ch)
{
	char parent[FENCE_PATH_MAX + 1], path[FENCE_PATH_MAX + 1];
	int err = session_dir_path(b->s, b->db, b->rev, dir, parent);

	/*
	 * A directory removed in this session has no path in its tree any more; what was in it had
	 * one in the live tree.
	 */
	if (err == -ENOENT && dir > 0)
		err = entry_path(b->db, dir, b->rev, parent);
	if (err == -ENOENT)
		err = refuse_gone(b, name, parent);
	if (!err)
		err = path_join(parent, name, path);
	if (err < 0)
		return err;
	ch->path = strdup(path);
	return ch->path ? 0 : -ENOMEM;
}

static int add_name(struct builder *b, const struct oname *o)
{
	struct change *ch;
	int err = o->node ? is_unchanged(b, o) : 0;

	if (err)
		return err < 0 ? err : 0;
	ch = append(b);
	if (!ch)
		return -ENOMEM;
	ch->dir = o->dir;
	ch->name = o->name;
	ch->kind = CHANGE_REMOVE;
	err = path_at(b, o->dir, o->name, ch);
	if (!err && o->node)
		err = attributes(b, o->node, ch);
	return err == -ESTALE ? refuse_pruned(b, ch->path) : err;
}

/*
 * A directory in its old place whose own attributes changed. Its name is kept in the change's path.
 */
static int add_directory(struct builder *b, struct snode *n)
{
	struct change *ch;
	struct entry e;
	int err = entry_by_child(b->db, n->id, b->rev, &e);

	if (err == -ENOENT)
		return 0; /* somebody else removed it: nothing is left whose attributes could be set */
	if (err < 0)
		return err;
	if (overlay_name(&b->s->overlay, e.dir, e.name))
		return 0; /* removed or replaced here */
	ch = append(b);
	if (!ch)
		return -ENOMEM;
	ch->dir = e.dir;
	if (e.dir == 0) { /* the root itself: in no directory */
		ch->path = strdup(".");
		err = ch->path ? 0 : -ENOMEM;
	} else {
		err = path_at(b, e.dir, e.name, ch);
	}
	if (err < 0)
		return err;
	ch->name = e.dir == 0 ? "" : strrchr(ch->path, '/') ? strrchr(ch->path, '/') + 1 : ch->path;
	return attributes(b, n, ch);
}

static int add_all(struct builder *b)
{
	int err = 0;

	for (struct oname *o = overlay_name_first(&b->s->overlay); o && !err;
	     o = overlay_name_next(o))
		err = add_name(b, o);
	for (struct snode *n = overlay_node_first(&b->s->overlay); n && !err;
	     n = overlay_node_next(n))
		if (n->kind == ENTRY_DIR && n->id > 0 && n->changed && !n->link)
			err = add_directory(b, n);
	return err;
}

static int cmp_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int index_sealed(struct builder *b, const struct sealed_set *sealed)
{
	b->by_node = calloc(sealed->n + 1, sizeof(struct sealed *));
	if (!b->by_node)
		return -ENOMEM;
	for (size_t i = 0; i < sealed->n; i++)
		b->by_node[i] = &sealed->v[i];
	b->n_sealed = sealed->n;
	qsort(b->by_node, b->n_sealed, sizeof(struct sealed *), cmp_node);
	return 0;
}

int change_list_build(struct core *c, struct session *s, const struct sealed_set *sealed,
		      struct change_list *out, struct refusal *refusal)
{
	struct builder b = { .s = s, .refusal = refusal };
	int err = index_sealed(&b, sealed);

	if (!err)
		err = core_read_begin(c, &b.db, &b.rev);
	if (!err) {
		rwlock_write(&s->lock); /* paths fill their cache */
		err = add_all(&b);
		rwlock_drop(&s->lock);
		core_read_end(c, b.db);
	}
	free(b.by_node);
	if (err < 0) {
		change_list_fini(&b.list);
		return err;
	}
	if (b.list.n)
		qsort(b.list.v, b.list.n, sizeof(*b.list.v), cmp_path);
	*out = b.list;
	return 0;
}

void change_list_fini(struct change_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free((void *)(uintptr_t)l->v[i].path);
	free(l->v);
	*l = (struct change_list){ 0 };
}
