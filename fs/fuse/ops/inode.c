/* SPDX-License-Identifier: MIT */
/*
 * The inode table. Layer: fuse.
 *
 * References on core's objects (view_get, view_node_get) are taken before an inode is inserted and
 * given back after it was removed, never under the table's lock: a lookup that loses the race to
 * insert gives its own back.
 */
#include "fuse/ops/inode_table.h"

#include "base/cleanup.h"
#include "core/view/view.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define BUCKETS_FIRST 1024

/* The finalizer of SplitMix64: every bit of @x moves every bit of the result. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t hash_key(const struct view *view, enum inode_kind kind, int64_t id)
{
	return mix((uint64_t)id ^ mix((uint64_t)(uintptr_t)view + (uint64_t)kind));
}

static uint64_t hash_nodeid(const struct inode *inode)
{
	return mix(inode->nodeid);
}

static uint64_t hash_inode_key(const struct inode *inode)
{
	return hash_key(inode->view, inode->kind, inode->id);
}

static uint64_t hash_dir(const struct inode *inode)
{
	return mix((uint64_t)inode->id);
}

/* One of the three ways to find an inode: where its link is, and what it hashes. */
struct index {
	size_t link;
	uint64_t (*hash)(const struct inode *inode);
};

static const struct index index_nodeid = { offsetof(struct inode, next_by_nodeid), hash_nodeid };
static const struct index index_key = { offsetof(struct inode, next_by_key), hash_inode_key };
static const struct index index_dir = { offsetof(struct inode, next_by_dir), hash_dir };

static struct inode **link_of(const struct index *x, struct inode *inode)
{
	return (struct inode **)((char *)inode + x->link);
}

static int hash_init(struct inode_hash *h)
{
	h->bucket = calloc(BUCKETS_FIRST, sizeof(*h->bucket));
	if (!h->bucket)
		return -ENOMEM;
	h->mask = BUCKETS_FIRST - 1;
	h->used = 0;
	return 0;
}

/* Twice the buckets. Without memory for that the chains just get longer. */
static void hash_grow(struct inode_hash *h, const struct index *x)
{
	size_t count = (h->mask + 1) * 2;
	struct inode **bucket = calloc(count, sizeof(*bucket));

	if (!bucket)
		return;
	for (size_t i = 0; i <= h->mask; i++) {
		struct inode *next;

		for (struct inode *inode = h->bucket[i]; inode; inode = next) {
			struct inode **to = &bucket[x->hash(inode) & (count - 1)];

			next = *link_of(x, inode);
			*link_of(x, inode) = *to;
			*to = inode;
		}
	}
	free(h->bucket);
	h->bucket = bucket;
	h->mask = count - 1;
}

static void hash_insert(struct inode_hash *h, const struct index *x, struct inode *inode)
{
	struct inode **to;

	if (h->used > h->mask)
		hash_grow(h, x);
	to = &h->bucket[x->hash(inode) & h->mask];
	*link_of(x, inode) = *to;
	*to = inode;
	h->used++;
}

static void hash_remove(struct inode_hash *h, const struct index *x, struct inode *inode)
{
	struct inode **at = &h->bucket[x->hash(inode) & h->mask];

	while (*at != inode)
		at = link_of(x, *at);
	*at = *link_of(x, inode);
	h->used--;
}

static bool has_key(const struct inode *inode)
{
	return inode->kind != INODE_CTL && inode->kind != INODE_EVENTS &&
	       inode->kind != INODE_CONTROL;
}

static struct inode *find_nodeid_locked(struct inode_table *t, uint64_t nodeid)
{
	struct inode *inode;

	if (nodeid != NODEID_ROOT && nodeid < NODEID_FIRST)
		return nodeid < CONTROL_NODE_MAX ? &t->control[nodeid] : NULL;
	inode = t->by_nodeid.bucket[mix(nodeid) & t->by_nodeid.mask];
	while (inode && inode->nodeid != nodeid)
		inode = inode->next_by_nodeid;
	return inode;
}

static struct inode *find_key_locked(struct inode_table *t, const struct view *view,
				     enum inode_kind kind, int64_t id)
{
	struct inode *inode = t->by_key.bucket[hash_key(view, kind, id) & t->by_key.mask];

	while (inode && (inode->view != view || inode->kind != kind || inode->id != id))
		inode = inode->next_by_key;
	return inode;
}

static void insert_locked(struct inode_table *t, struct inode *inode)
{
	hash_insert(&t->by_nodeid, &index_nodeid, inode);
	if (has_key(inode))
		hash_insert(&t->by_key, &index_key, inode);
	if (inode->kind == INODE_DIR)
		hash_insert(&t->by_dir, &index_dir, inode);
}

/* Whether @inode is nobody's any more; then it is out of the table and for the caller to free. */
static bool remove_unused_locked(struct inode_table *t, struct inode *inode)
{
	if (inode->lookups || inode->refs || inode->kind == INODE_CONTROL)
		return false;
	hash_remove(&t->by_nodeid, &index_nodeid, inode);
	if (has_key(inode))
		hash_remove(&t->by_key, &index_key, inode);
	if (inode->kind == INODE_DIR)
		hash_remove(&t->by_dir, &index_dir, inode);
	return true;
}

static struct inode *inode_new(struct inode_table *t, struct view *view, enum inode_kind kind,
			       int64_t id)
{
	struct inode *inode = calloc(1, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->table = t;
	inode->kind = kind;
	inode->id = id;
	inode->lookups = 1;
	if (view) {
		inode->view = view_get(view);
		view_node_get(view, inode_entry_kind(inode), id);
	}
	return inode;
}

static void inode_free(struct inode *inode)
{
	free(atomic_load(&inode->opened));
	if (inode->view) {
		view_node_put(inode->view, inode_entry_kind(inode), inode->id);
		view_put(inode->view);
	}
	free(inode);
}

int inode_table_new(struct view *live, struct inode_table **out)
{
	struct inode_table *t = calloc(1, sizeof(*t));
	struct inode *root;

	if (!t)
		return -ENOMEM;
	lock_init(&t->lock, LOCK_INODES);
	lock_cond_init(&t->decided);
	t->next_nodeid = NODEID_FIRST;
	for (uint64_t i = 0; i < CONTROL_NODE_MAX; i++)
		t->control[i] = (struct inode){
			.table = t, .kind = INODE_CONTROL, .id = (int64_t)i, .nodeid = i
		};
	root = hash_init(&t->by_nodeid) || hash_init(&t->by_key) || hash_init(&t->by_dir) ?
		       NULL :
		       inode_new(t, live, INODE_DIR, VIEW_ROOT_DIR);
	if (!root) {
		inode_table_free(t);
		return -ENOMEM;
	}
	root->nodeid = NODEID_ROOT;
	insert_locked(t, root);
	*out = t;
	return 0;
}

void inode_table_free(struct inode_table *t)
{
	for (size_t i = 0; t->by_nodeid.bucket && i <= t->by_nodeid.mask; i++) {
		struct inode *next;

		for (struct inode *inode = t->by_nodeid.bucket[i]; inode; inode = next) {
			next = inode->next_by_nodeid;
			inode_free(inode);
		}
	}
	free(t->by_nodeid.bucket);
	free(t->by_key.bucket);
	free(t->by_dir.bucket);
	pthread_cond_destroy(&t->decided);
	lock_fini(&t->lock);
	free(t);
}

struct inode *inode_get(struct inode_table *t, uint64_t nodeid)
{
	struct inode *inode;

	lock_take(&t->lock);
	inode = find_nodeid_locked(t, nodeid);
	if (inode)
		inode->refs++;
	lock_drop(&t->lock);
	return inode;
}

void inode_ref(struct inode *inode)
{
	struct inode_table *t = inode->table;

	lock_take(&t->lock);
	inode->refs++;
	lock_drop(&t->lock);
}

void inode_put(struct inode *inode)
{
	struct inode_table *t = inode->table;
	bool unused;

	lock_take(&t->lock);
	assert(inode->refs > 0);
	inode->refs--;
	unused = remove_unused_locked(t, inode);
	lock_drop(&t->lock);
	if (unused)
		inode_free(inode);
}

static struct inode *find_and_count(struct inode_table *t, const struct view *view,
				    enum inode_kind kind, int64_t id)
{
	struct inode *inode;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, kind, id);
	if (inode)
		inode->lookups++;
	lock_drop(&t->lock);
	return inode;
}

int inode_learn(struct inode_table *t, struct view *view, enum inode_kind kind, int64_t id,
		uint64_t *out_nodeid)
{
	struct inode *inode = find_and_count(t, view, kind, id);
	struct inode *spare;

	if (inode) {
		*out_nodeid = inode->nodeid;
		return 0;
	}
	spare = inode_new(t, view, kind, id);
	if (!spare)
		return -ENOMEM;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, kind, id);
	if (inode) {
		inode->lookups++;
	} else {
		inode = take_ptr(&spare);
		inode->nodeid = t->next_nodeid++;
		insert_locked(t, inode);
	}
	*out_nodeid = inode->nodeid;
	lock_drop(&t->lock);

	if (spare)
		inode_free(spare);
	return 0;
}

int inode_learn_fresh(struct inode_table *t, enum inode_kind kind, uint64_t *out_nodeid)
{
	struct inode *inode = inode_new(t, NULL, kind, 0);

	if (!inode)
		return -ENOMEM;
	lock_take(&t->lock);
	inode->nodeid = t->next_nodeid++;
	*out_nodeid = inode->nodeid;
	insert_locked(t, inode);
	lock_drop(&t->lock);
	return 0;
}

void inode_forget(struct inode_table *t, uint64_t nodeid, uint64_t lookups)
{
	struct inode *inode;
	bool unused = false;

	lock_take(&t->lock);
	inode = find_nodeid_locked(t, nodeid);
	if (inode && inode->kind != INODE_CONTROL && nodeid != NODEID_ROOT) {
		/*
		 * A count below zero would be the kernel's bug; an inode kept too long is the
		 * smaller harm.
		 */
		inode->lookups -= lookups < inode->lookups ? lookups : inode->lookups;
		unused = remove_unused_locked(t, inode);
	}
	lock_drop(&t->lock);
	if (unused)
		inode_free(inode);
}

uint64_t inode_find(struct inode_table *t, const struct view *view, enum inode_kind kind,
		    int64_t id)
{
	const struct inode *inode;
	uint64_t nodeid;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, kind, id);
	nodeid = inode ? inode->nodeid : 0;
	lock_drop(&t->lock);
	return nodeid;
}

int inode_of_dir(struct inode_table *t, int64_t dir, uint64_t **out)
{
	uint64_t *nodeids = NULL;
	int count = 0, room = 0;

	for (;;) {
		struct inode *inode;

		count = 0;
		lock_take(&t->lock);
		inode = t->by_dir.bucket[mix((uint64_t)dir) & t->by_dir.mask];
		for (; inode; inode = inode->next_by_dir) {
			if (inode->id != dir)
				continue;
			if (count < room)
				nodeids[count] = inode->nodeid;
			count++;
		}
		lock_drop(&t->lock);
		if (count <= room)
			break;
		/* No allocation under the lock; more views may come to know it meanwhile. */
		free(nodeids);
		room = count + 16;
		nodeids = malloc((size_t)room * sizeof(*nodeids));
		if (!nodeids)
			return -ENOMEM;
	}
	*out = nodeids;
	return count;
}

size_t inode_count(struct inode_table *t)
{
	size_t n;

	lock_take(&t->lock);
	n = t->by_nodeid.used;
	lock_drop(&t->lock);
	return n;
}

enum entry_kind inode_entry_kind(const struct inode *inode)
{
	if (inode->kind == INODE_DIR || inode->kind == INODE_CONTROL)
		return ENTRY_DIR;
	return inode->kind == INODE_SYMLINK ? ENTRY_SYMLINK : ENTRY_FILE;
}

enum inode_kind inode_kind_of(enum entry_kind kind)
{
	if (kind == ENTRY_DIR)
		return INODE_DIR;
	return kind == ENTRY_SYMLINK ? INODE_SYMLINK : INODE_FILE;
}
