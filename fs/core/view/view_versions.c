/* SPDX-License-Identifier: MIT */
/*
 * `.fence/versions`: every path that ever was, as a directory with its versions by number. Core
 * layer.
 *
 * A directory of this view is a path; its id is a number that the path gets when it is first met
 * and keeps while somebody refers to it. A version is the row of the file or symlink that it was.
 * Permissions of a path are those that it has now or had last, those of a version are narrower
 * still (P8, see past_mode.h). Nothing is cached: new versions come without the kernel being told.
 */
#include "core/service/core_impl.h"
#include "core/view/snapshot_impl.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_FUNCTION HASH_OAT /* the others fall through in a switch, which clang reports */
#include <uthash.h>

#define IDLE_MAX 65536 /* paths that nobody refers to and that are kept all the same */

struct vpath {
	UT_hash_handle by_path, by_id;
	int64_t id;
	int refs; /* the kernel's inodes */
	char path[];
};

struct versions {
	struct view view; /* first */
	struct lock lock; /* guards all below */
	struct vpath *paths, *ids;
	int64_t next_id;
	unsigned int n;
};

static struct versions *versions_of(struct view *v)
{
	return (struct versions *)(void *)v;
}

static void drop_idle_locked(struct versions *vs)
{
	struct vpath *p, *next;

	lock_assert_held(&vs->lock);
	HASH_ITER(by_path, vs->paths, p, next) {
		if (p->refs)
			continue;
		HASH_DELETE(by_path, vs->paths, p);
		HASH_DELETE(by_id, vs->ids, p);
		vs->n--;
		free(p);
	}
}

static int64_t intern_locked(struct versions *vs, const char *path)
{
	size_t len = strlen(path);
	struct vpath *p;

	lock_assert_held(&vs->lock);
	HASH_FIND(by_path, vs->paths, path, len, p);
	if (p)
		return p->id;
	if (vs->n >= IDLE_MAX)
		drop_idle_locked(vs);
	p = calloc(1, sizeof(*p) + len + 1);
	if (!p)
		return -ENOMEM;
	memcpy(p->path, path, len + 1);
	p->id = ++vs->next_id;
	HASH_ADD_KEYPTR(by_path, vs->paths, p->path, len, p);
	HASH_ADD(by_id, vs->ids, id, sizeof(p->id), p);
	vs->n++;
	return p->id;
}

/* The number of a path. The root has the root's number. */
static int64_t intern(struct versions *vs, const char *path)
{
	int64_t id;

	if (strcmp(path, ".") == 0)
		return STORE_ROOT_DIR;
	lock_take(&vs->lock);
	id = intern_locked(vs, path);
	lock_drop(&vs->lock);
	return id;
}

static int path_of(struct versions *vs, int64_t id, char *out)
{
	struct vpath *p;

	if (id == STORE_ROOT_DIR) {
		strcpy(out, ".");
		return 0;
	}
	lock_take(&vs->lock);
	HASH_FIND(by_id, vs->ids, &id, sizeof(id), p);
	if (p)
		strcpy(out, p->path);
	lock_drop(&vs->lock);
	return p ? 0 : -ESTALE;
}

static int keep_first(void *arg, const struct entry *e)
{
	*(struct entry *)arg = *e;
	return 1;
}

/* What @path is, or was last. -ENOENT: it never was. */
static int last_of(struct db *db, int64_t now, const char *path, struct entry *out)
{
	int err = entry_resolve(db, path, now, out);

	if (err != -ENOENT && err != -ENOTDIR)
		return err;
	err = entry_history(db, path, keep_first, out);
	return err == 1 ? 0 : err ? err : -ENOENT;
}

/* The directory that lists versions of @path: who may read the file may list it. */
static int path_node(struct versions *vs, struct db *db, int64_t now, const char *path,
		     struct node *out)
{
	struct entry e;
	int64_t id;
	int err = last_of(db, now, path, &e);

	if (err < 0)
		return err;
	id = intern(vs, path);
	if (id < 0)
		return (int)id;
	node_from_entry(&vs->view, &e, out);
	if (e.kind != ENTRY_DIR)
		out->mode |= (out->mode & 0444) >> 2; /* r -> x */
	out->mode &= 0777;
	out->kind = ENTRY_DIR;
	out->id = id;
	out->ino = node_ino(vs->view.number, ENTRY_DIR, id);
	out->size = 4096;
	out->blocks = 8;
	return 0;
}

static bool is_number(const char *name, int64_t *out)
{
	int64_t n = 0;

	if (*name < '1' || *name > '9')
		return false;
	for (; *name; name++)
		if (*name < '0' || *name > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *name - '0', &n))
			return false;
	*out = n;
	return true;
}

static int versions_lookup(struct view *v, struct db *db, int64_t now, int64_t dir,
			   const char *name, struct node *out)
{
	struct versions *vs = versions_of(v);
	char path[FENCE_PATH_MAX + 1], below[FENCE_PATH_MAX + 1];
	struct entry e;
	int64_t seq;
	int err = path_of(vs, dir, path);

	if (err < 0)
		return err;
	if (is_number(name, &seq)) {
		err = entry_version(db, path, seq, &e);
		if (!err && e.kind != ENTRY_DIR && e.born <= now)
			return node_from_past(v, db, now, &e, out);
		if (err && err != -ENOENT)
			return err;
	}
	err = path_join(path, name, below);
	return err ? -ENOENT : path_node(vs, db, now, below, out);
}

static int versions_getattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind,
			    int64_t id, struct node *out)
{
	struct versions *vs = versions_of(v);
	char path[FENCE_PATH_MAX + 1];
	struct entry e;
	int err;

	if (kind == ENTRY_DIR) {
		err = path_of(vs, id, path);
		return err ? err : path_node(vs, db, now, path, out);
	}
	err = entry_by_row(db, id, &e);
	return err ? err : node_from_past(v, db, now, &e, out);
}

static int versions_readlink(struct view *v, struct db *db, int64_t id, char **out)
{
	(void)v;
	return entry_target(db, id, out);
}

struct numbers {
	struct entry *v;
	size_t n, room;
};

static int add_number(void *arg, const struct entry *e)
{
	struct numbers *l = arg;
	struct entry *grown;

	if (e->kind == ENTRY_DIR)
		return 0;
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 16;
		grown = reallocarray(l->v, l->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->v = grown;
	}
	l->v[l->n++] = *e;
	return 0;
}

/* In the order of names as all listings are, so "10" comes before "2". */
static int cmp_number(const void *a, const void *b)
{
	const struct named_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int list_numbers(struct view *v, struct db *db, int64_t now, const char *path,
			struct named_node **out, size_t *out_n)
{
	struct numbers l = { 0 };
	struct named_node *nodes;
	int err = entry_history(db, path, add_number, &l);

	nodes = err ? NULL : calloc(l.n + 1, sizeof(*nodes));
	if (!err && !nodes)
		err = -ENOMEM;
	for (size_t i = 0; i < l.n && !err; i++) {
		snprintf(nodes[i].name, sizeof(nodes[i].name), "%lld", (long long)l.v[i].seq);
		err = node_from_past(v, db, now, &l.v[i], &nodes[i].node);
	}
	free(l.v);
	if (err < 0) {
		free(nodes);
		return err;
	}
	qsort(nodes, l.n, sizeof(*nodes), cmp_number);
	*out = nodes;
	*out_n = l.n;
	return 0;
}

static int list_names(struct view *v, struct db *db, int64_t now, const char *path,
		      const char *after, struct named_node *out, int max)
{
	char(*names)[FENCE_NAME_MAX + 1] = calloc((size_t)max, sizeof(*names));
	char below[FENCE_PATH_MAX + 1];
	int n = names ? entry_past_names(db, path, after, names, max) : -ENOMEM;
	int filled = 0;

	for (int i = 0; i < n; i++) {
		strcpy(out[filled].name, names[i]);
		if (path_join(path, names[i], below) == 0 &&
		    path_node(versions_of(v), db, now, below, &out[filled].node) == 0)
			filled++;
	}
	free(names);
	return n < 0 ? n : filled;
}

/* Two sorted lists; a number hides a name that is the same. */
static int merge(const struct named_node *numbers, size_t n_numbers, const char *after,
		 const struct named_node *names, int n_names, struct named_node *out, int max)
{
	size_t i = 0;
	int j = 0, n = 0;

	while (i < n_numbers && strcmp(numbers[i].name, after) <= 0)
		i++;
	while (n < max && (i < n_numbers || j < n_names)) {
		int c = i == n_numbers ? 1 :
			j == n_names   ? -1 :
					 strcmp(numbers[i].name, names[j].name);

		if (n > 0 && i < n_numbers && c <= 0 &&
		    strcmp(out[n - 1].name, numbers[i].name) == 0) {
			i++; /* the same number again: a directory that was moved here brought it along */
			continue;
		}
		out[n++] = c <= 0 ? numbers[i] : names[j];
		i += c <= 0;
		j += c >= 0;
	}
	return n;
}

static int versions_list(struct view *v, struct db *db, int64_t now, int64_t dir, const char *after,
			 struct named_node *out, int max)
{
	struct named_node *numbers = NULL, *names = calloc((size_t)max, sizeof(*names));
	char path[FENCE_PATH_MAX + 1];
	size_t n_numbers = 0;
	int n = names ? path_of(versions_of(v), dir, path) : -ENOMEM;

	if (!n)
		n = list_numbers(v, db, now, path, &numbers, &n_numbers);
	if (!n)
		n = list_names(v, db, now, path, after, names, max);
	if (n >= 0)
		n = merge(numbers, n_numbers, after, names, n, out, max);
	free(numbers);
	free(names);
	return n;
}

static int versions_getxattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind,
			     int64_t id, const char *name, void **out, size_t *out_len)
{
	struct entry e;
	int err;

	(void)v;
	(void)now;
	if (kind == ENTRY_DIR)
		return -ENODATA;
	err = entry_by_row(db, id, &e);
	return err ? err : base_getxattr(db, &e, name, out, out_len);
}

static int versions_listxattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind,
			      int64_t id, char **out, size_t *out_len)
{
	struct entry e;
	int err;

	(void)v;
	(void)now;
	*out = NULL;
	*out_len = 0;
	if (kind == ENTRY_DIR)
		return 0;
	err = entry_by_row(db, id, &e);
	return err ? err : base_listxattr(db, &e, out, out_len);
}

static void count(struct view *v, enum entry_kind kind, int64_t id, int by)
{
	struct versions *vs = versions_of(v);
	struct vpath *p;

	if (kind != ENTRY_DIR || id == STORE_ROOT_DIR)
		return;
	lock_take(&vs->lock);
	HASH_FIND(by_id, vs->ids, &id, sizeof(id), p);
	if (p)
		p->refs += by;
	lock_drop(&vs->lock);
}

static void versions_node_get(struct view *v, enum entry_kind kind, int64_t id)
{
	count(v, kind, id, 1);
}

static void versions_node_put(struct view *v, enum entry_kind kind, int64_t id)
{
	count(v, kind, id, -1);
}

static void versions_destroy(struct view *v)
{
	(void)v; /* core's, to its end: versions_fini */
}

static const struct view_ops versions_ops = {
	.lookup = versions_lookup,
	.getattr = versions_getattr,
	.readlink = versions_readlink,
	.list = versions_list,
	.getxattr = versions_getxattr,
	.listxattr = versions_listxattr,
	.node_get = versions_node_get,
	.node_put = versions_node_put,
	.destroy = versions_destroy,
};

int versions_init(struct core *c)
{
	struct versions *vs = calloc(1, sizeof(*vs));

	if (!vs)
		return -ENOMEM;
	view_init(&vs->view, c, &versions_ops, false);
	vs->view.uncached = true;
	lock_init(&vs->lock, LOCK_VERSIONS);
	vs->next_id = STORE_ROOT_DIR;
	c->versions = vs;
	return 0;
}

void versions_fini(struct core *c)
{
	struct versions *vs = c->versions;
	struct vpath *p, *next;

	lock_take(&vs->lock);
	HASH_ITER(by_id, vs->ids, p, next)
		p->refs = 0;
	drop_idle_locked(vs);
	lock_drop(&vs->lock);
	lock_fini(&vs->lock);
	free(vs);
}

struct view *versions_view(struct core *c)
{
	return &c->versions->view;
}
