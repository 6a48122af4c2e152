/* SPDX-License-Identifier: MIT */
/* The list of open handles. Layer: fuse. */
#include "fuse/state/handle.h"

#include "base/cleanup.h"
#include "base/lock.h"
#include "fuse/state/inode_table.h"

#include <errno.h>
#include <stdlib.h>

struct handle_list {
	struct lock lock; /* guards the links and the count */
	struct handle *first;
	size_t n;
};

int handle_list_new(struct handle_list **out)
{
	struct handle_list *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	lock_init(&l->lock, LOCK_HANDLES);
	*out = l;
	return 0;
}

void handle_list_free(struct handle_list *l)
{
	while (l->first)
		l->first->type->close(l->first);
	lock_fini(&l->lock);
	free(l);
}

size_t handle_count(struct handle_list *l)
{
	size_t n;

	lock_take(&l->lock);
	n = l->n;
	lock_drop(&l->lock);
	return n;
}

void handle_init(struct handle_list *l, struct handle *h, const struct handle_type *type,
		 struct inode *inode)
{
	inode_ref(inode);
	h->type = type;
	atomic_init(&h->refs, 1);
	h->inode = inode;
	h->list = l;
	h->prev = NULL;
	lock_take(&l->lock);
	h->next = l->first;
	if (h->next)
		h->next->prev = h;
	l->first = h;
	l->n++;
	lock_drop(&l->lock);
}

void handle_fini(struct handle *h)
{
	struct handle_list *l = h->list;

	lock_take(&l->lock);
	if (h->next)
		h->next->prev = h->prev;
	*(h->prev ? &h->prev->next : &l->first) = h->next;
	l->n--;
	lock_drop(&l->lock);
	inode_put(h->inode);
}

void handle_get(struct handle *h)
{
	atomic_fetch_add(&h->refs, 1);
}

void handle_put(struct handle *h)
{
	if (atomic_fetch_sub(&h->refs, 1) == 1)
		h->type->close(h);
}

void handle_release(fuse_req_t req, struct handle *h)
{
	if (h->type->release)
		h->type->release(req, h);
	handle_put(h);
}
