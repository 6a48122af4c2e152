/* SPDX-License-Identifier: MIT */
/*
 * The inode table. Layer: fuse.
 *
 * References on core's objects (view_get, view_node_get) are taken before an inode is inserted and
 * given back after it was removed, never under the table's lock: a lookup that loses the race to
 * insert gives its own back.
 */
#include "fuse/state/inode_table_impl.h"

#include "base/cleanup.h"
#include "core/view/view.h"
#include "fuse/state/inode_type.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static uint64_t hash_of_nodeid(uint64_t nodeid)
{
	return inode_hash_mix(nodeid);
}

static uint64_t hash_of_dir(int64_t dir)
{
	return inode_hash_mix((uint64_t)dir);
}

static uint64_t hash_of_key(const struct view *view, const struct inode_type *type, int64_t id)
{
	uint64_t in = inode_hash_mix((uint64_t)(uintptr_t)view + (uint64_t)(uintptr_t)type);

	return inode_hash_mix((uint64_t)id ^ in);
}

static uint64_t nodeid_of_inode(const struct inode *inode)
{
	return hash_of_nodeid(inode->nodeid);
}

static uint64_t key_of_inode(const struct inode *inode)
{
	return hash_of_key(inode->view, inode->type, inode->id);
}

static uint64_t dir_of_inode(const struct inode *inode)
{
	return hash_of_dir(inode->id);
}

static bool is_fixed(const struct inode *inode)
{
	return inode->nodeid < NODEID_FIXED_MAX && inode->nodeid != NODEID_ROOT;
}

static bool is_dir_of_view(const struct inode *inode)
{
	return inode->view && inode->type->kind == ENTRY_DIR;
}

static struct inode *find_nodeid_locked(struct inode_table *t, uint64_t nodeid)
{
	struct inode *inode;

	lock_assert_held(&t->lock);
	if (nodeid != NODEID_ROOT && nodeid < NODEID_FIXED_MAX)
		return t->fixed[nodeid].type ? &t->fixed[nodeid] : NULL;
	inode = inode_hash_first(&t->by_nodeid, hash_of_nodeid(nodeid));
	while (inode && inode->nodeid != nodeid)
		inode = inode->next_by_nodeid;
	return inode;
}

static struct inode *find_key_locked(struct inode_table *t, const struct view *view,
				     const struct inode_type *type, int64_t id)
{
	struct inode *inode;

	lock_assert_held(&t->lock);
	inode = inode_hash_first(&t->by_key, hash_of_key(view, type, id));
	while (inode && (inode->view != view || inode->type != type || inode->id != id))
		inode = inode->next_by_key;
	return inode;
}

static void insert_locked(struct inode_table *t, struct inode *inode)
{
	lock_assert_held(&t->lock);
	inode_hash_insert(&t->by_nodeid, inode);
	if (!inode->type->is_fresh)
		inode_hash_insert(&t->by_key, inode);
	if (is_dir_of_view(inode))
		inode_hash_insert(&t->by_dir, inode);
}

/* Whether @inode is nobody's any more; then it is out of the table and for the caller to free. */
static bool remove_unused_locked(struct inode_table *t, struct inode *inode)
{
	lock_assert_held(&t->lock);
	if (inode->lookups || inode->refs || is_fixed(inode))
		return false;
	inode_hash_remove(&t->by_nodeid, inode);
	if (!inode->type->is_fresh)
		inode_hash_remove(&t->by_key, inode);
	if (is_dir_of_view(inode))
		inode_hash_remove(&t->by_dir, inode);
	return true;
}

static struct inode *inode_new(struct inode_table *t, struct view *view,
			       const struct inode_type *type, int64_t id)
{
	struct inode *inode = calloc(1, sizeof(*inode));

	if (!inode)
		return NULL;
	inode->table = t;
	inode->type = type;
	inode->id = id;
	inode->lookups = 1;
	if (view) {
		inode->view = view_get(view);
		view_node_get(view, inode->type->kind, id);
	}
	return inode;
}

static void inode_free(struct inode *inode)
{
	free(atomic_load(&inode->opened));
	if (inode->view) {
		view_node_put(inode->view, inode->type->kind, inode->id);
		view_put(inode->view);
	}
	free(inode);
}

static int init_hashes(struct inode_table *t)
{
	int err = inode_hash_init(&t->by_nodeid, offsetof(struct inode, next_by_nodeid),
				  nodeid_of_inode);

	if (!err)
		err = inode_hash_init(&t->by_key, offsetof(struct inode, next_by_key),
				      key_of_inode);
	if (!err)
		err = inode_hash_init(&t->by_dir, offsetof(struct inode, next_by_dir),
				      dir_of_inode);
	return err;
}

int inode_table_new(struct view *live, const struct inode_type *root, struct inode_table **out)
{
	struct inode_table *t = calloc(1, sizeof(*t));
	struct inode *inode;

	if (!t)
		return -ENOMEM;
	lock_init(&t->lock, LOCK_INODES);
	lock_cond_init(&t->decided);
	t->next_nodeid = NODEID_FIRST;
	inode = init_hashes(t) < 0 ? NULL : inode_new(t, live, root, VIEW_ROOT_DIR);
	if (!inode) {
		inode_table_free(t);
		return -ENOMEM;
	}
	inode->nodeid = NODEID_ROOT;
	lock_take(&t->lock);
	insert_locked(t, inode);
	lock_drop(&t->lock);
	*out = t;
	return 0;
}

void inode_table_fix(struct inode_table *t, uint64_t nodeid, const struct inode_type *type)
{
	assert(nodeid > NODEID_ROOT && nodeid < NODEID_FIXED_MAX);
	t->fixed[nodeid] = (struct inode){ .table = t, .type = type, .nodeid = nodeid };
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
	inode_hash_fini(&t->by_nodeid);
	inode_hash_fini(&t->by_key);
	inode_hash_fini(&t->by_dir);
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
				    const struct inode_type *type, int64_t id)
{
	struct inode *inode;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, type, id);
	if (inode)
		inode->lookups++;
	lock_drop(&t->lock);
	return inode;
}

int inode_learn(struct inode_table *t, struct view *view, const struct inode_type *type, int64_t id,
		uint64_t *out_nodeid)
{
	struct inode *inode = find_and_count(t, view, type, id);
	struct inode *spare;

	if (inode) {
		*out_nodeid = inode->nodeid;
		return 0;
	}
	spare = inode_new(t, view, type, id);
	if (!spare)
		return -ENOMEM;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, type, id);
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

int inode_learn_fresh(struct inode_table *t, const struct inode_type *type, uint64_t *out_nodeid)
{
	struct inode *inode = inode_new(t, NULL, type, 0);

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
	if (inode && !is_fixed(inode) && nodeid != NODEID_ROOT) {
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

uint64_t inode_find(struct inode_table *t, const struct view *view, const struct inode_type *type,
		    int64_t id)
{
	const struct inode *inode;
	uint64_t nodeid;

	lock_take(&t->lock);
	inode = find_key_locked(t, view, type, id);
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
		inode = inode_hash_first(&t->by_dir, hash_of_dir(dir));
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
