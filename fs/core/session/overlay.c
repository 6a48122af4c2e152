/* SPDX-License-Identifier: MIT */
/*
 * See overlay.h. Core layer. Two red-black trees by (dir, name) and by (kind, id), one by origin
 * row.
 */
#include "core/session/overlay.h"

#include "core/loop/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int cmp_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int oname_cmp(const struct oname *a, const struct oname *b)
{
	int c = cmp_i64(a->dir, b->dir);

	return c ? c : strcmp(a->name, b->name);
}

/* A directory and a file may share a number. */
static int snode_cmp(const struct snode *a, const struct snode *b)
{
	int c = (a->kind == ENTRY_DIR) - (b->kind == ENTRY_DIR);

	return c ? c : cmp_i64(a->id, b->id);
}

static int origin_cmp(const struct snode *a, const struct snode *b)
{
	return cmp_i64(a->origin, b->origin);
}

/* RB_GENERATE_STATIC is written for systems that define __unused. */
#define TREE(name, type, field, cmp)                                                  \
	RB_PROTOTYPE_INTERNAL(name, type, field, cmp, __attribute__((unused)) static) \
	RB_GENERATE_INTERNAL(name, type, field, cmp, __attribute__((unused)) static)

TREE(oname_tree, oname, entry, oname_cmp)
TREE(snode_tree, snode, by_id, snode_cmp)
TREE(origin_tree, snode, by_origin, origin_cmp)

/*
 * A key for searches: struct oname has a flexible name, so this one lies in a buffer large enough.
 */
union oname_key {
	struct oname n;
	char room[sizeof(struct oname) + FENCE_NAME_MAX + 1];
};

static int oname_key_set(union oname_key *k, int64_t dir, const char *name)
{
	size_t len = strlen(name);

	if (len > FENCE_NAME_MAX)
		return -ENAMETOOLONG;
	k->n.dir = dir;
	memcpy((char *)k + offsetof(struct oname, name), name, len + 1);
	return 0;
}

void overlay_init(struct overlay *o, struct pins *pins)
{
	memset(o, 0, sizeof(*o));
	o->pins = pins;
	RB_INIT(&o->names);
	RB_INIT(&o->nodes);
	RB_INIT(&o->origins);
	o->next_id = -1;
}

void overlay_fini(struct overlay *o)
{
	struct oname *n;
	struct snode *s;

	while ((n = RB_ROOT(&o->names)))
		overlay_name_remove(o, n);
	while ((s = RB_ROOT(&o->nodes)))
		overlay_node_free(o, s);
}

struct oname *overlay_name(struct overlay *o, int64_t dir, const char *name)
{
	union oname_key key;

	if (oname_key_set(&key, dir, name))
		return NULL;
	return RB_FIND(oname_tree, &o->names, &key.n);
}

struct oname *overlay_name_after(struct overlay *o, int64_t dir, const char *after)
{
	union oname_key key;
	struct oname *n;

	if (oname_key_set(&key, dir, after))
		return NULL;
	n = RB_NFIND(oname_tree, &o->names, &key.n);
	if (n && n->dir == dir && strcmp(n->name, after) == 0)
		n = RB_NEXT(oname_tree, &o->names, n);
	return n && n->dir == dir ? n : NULL;
}

struct oname *overlay_name_first(struct overlay *o)
{
	return RB_MIN(oname_tree, &o->names);
}

struct oname *overlay_name_next(struct oname *n)
{
	return RB_NEXT(oname_tree, NULL, n);
}

struct oname *overlay_name_add(struct overlay *o, int64_t dir, const char *name, int64_t base)
{
	size_t len = strlen(name);
	struct oname *n = calloc(1, sizeof(*n) + len + 1);

	if (!n)
		return NULL;
	n->dir = dir;
	n->base = base;
	memcpy(n->name, name, len + 1);
	RB_INSERT(oname_tree, &o->names, n);
	o->n_names++;
	return n;
}

void overlay_name_remove(struct overlay *o, struct oname *n)
{
	if (n->node && n->node->link == n)
		n->node->link = NULL;
	RB_REMOVE(oname_tree, &o->names, n);
	o->n_names--;
	free(n);
}

void overlay_link(struct oname *n, struct snode *node)
{
	n->node = node;
	node->link = n;
}

struct snode *overlay_node(struct overlay *o, enum entry_kind kind, int64_t id)
{
	struct snode key = { .kind = kind, .id = id };

	return RB_FIND(snode_tree, &o->nodes, &key);
}

struct snode *overlay_node_of_row(struct overlay *o, int64_t row)
{
	struct snode key = { .origin = row };

	return RB_FIND(origin_tree, &o->origins, &key);
}

struct snode *overlay_node_add(struct overlay *o, enum entry_kind kind, int64_t id)
{
	struct snode *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->kind = kind;
	s->id = id ? id : o->next_id--;
	RB_INSERT(snode_tree, &o->nodes, s);
	o->n_nodes++;
	return s;
}

void overlay_node_rename(struct overlay *o, struct snode *node)
{
	RB_REMOVE(snode_tree, &o->nodes, node);
	node->id = o->next_id--;
	RB_INSERT(snode_tree, &o->nodes, node);
	if (node->origin && !RB_FIND(origin_tree, &o->origins, node))
		RB_INSERT(origin_tree, &o->origins, node);
}

void overlay_node_unpin(struct overlay *o, struct snode *node)
{
	if (node->pinned)
		pins_drop(o->pins, &node->blob);
	node->pinned = false;
}

void overlay_node_free(struct overlay *o, struct snode *node)
{
	overlay_node_unpin(o, node);
	if (node->link)
		node->link->node = NULL;
	RB_REMOVE(snode_tree, &o->nodes, node);
	if (node->origin && RB_FIND(origin_tree, &o->origins, node) == node)
		RB_REMOVE(origin_tree, &o->origins, node);
	o->n_nodes--;
	xattr_set_fini(&node->xattrs);
	free(node->target);
	free(node->path);
	free(node);
}

struct snode *overlay_node_first(struct overlay *o)
{
	return RB_MIN(snode_tree, &o->nodes);
}

struct snode *overlay_node_next(struct snode *n)
{
	return RB_NEXT(snode_tree, NULL, n);
}

static void xattr_free(struct change_xattr *x)
{
	free((void *)(uintptr_t)x->name);
	free((void *)(uintptr_t)x->value);
}

void xattr_set_fini(struct xattr_set *x)
{
	for (int i = 0; i < x->n; i++)
		xattr_free(&x->v[i]);
	free(x->v);
	*x = (struct xattr_set){ 0 };
}

int xattr_set_find(const struct xattr_set *x, const char *name)
{
	for (int i = 0; i < x->n; i++)
		if (strcmp(x->v[i].name, name) == 0)
			return i;
	return -1;
}

int xattr_set_put(struct xattr_set *x, const char *name, const void *value, size_t len)
{
	struct change_xattr put = { .name = strdup(name),
				    .value = malloc(len ? len : 1),
				    .len = len };
	struct change_xattr *grown;
	int i = xattr_set_find(x, name);

	if (!put.name || !put.value)
		goto fail;
	memcpy((void *)(uintptr_t)put.value, value, len);
	if (i < 0) {
		grown = reallocarray(x->v, (size_t)x->n + 1, sizeof(*grown));
		if (!grown)
			goto fail;
		x->v = grown;
		i = x->n++;
	} else {
		xattr_free(&x->v[i]);
	}
	x->v[i] = put;
	return 0;
fail:
	xattr_free(&put);
	return -ENOMEM;
}

void xattr_set_drop(struct xattr_set *x, int i)
{
	xattr_free(&x->v[i]);
	x->v[i] = x->v[--x->n];
}
