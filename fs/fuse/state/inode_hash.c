/* SPDX-License-Identifier: MIT */
/* See inode_hash.h. Layer: fuse. */
#include "fuse/state/inode_hash.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_FIRST 1024

static struct inode **link_of(const struct inode_hash *h, struct inode *inode)
{
	return (struct inode **)((char *)inode + h->link);
}

int inode_hash_init(struct inode_hash *h, size_t link, uint64_t (*hash)(const struct inode *inode))
{
	*h = (struct inode_hash){ .link = link, .hash = hash, .mask = BUCKETS_FIRST - 1 };
	h->bucket = calloc(BUCKETS_FIRST, sizeof(*h->bucket));
	return h->bucket ? 0 : -ENOMEM;
}

void inode_hash_fini(struct inode_hash *h)
{
	free(h->bucket);
}

/* Twice the buckets. Without memory for that the chains just get longer. */
static void grow(struct inode_hash *h)
{
	size_t count = (h->mask + 1) * 2;
	struct inode **bucket = calloc(count, sizeof(*bucket));

	if (!bucket)
		return;
	for (size_t i = 0; i <= h->mask; i++) {
		struct inode *next;

		for (struct inode *inode = h->bucket[i]; inode; inode = next) {
			struct inode **to = &bucket[h->hash(inode) & (count - 1)];

			next = *link_of(h, inode);
			*link_of(h, inode) = *to;
			*to = inode;
		}
	}
	free(h->bucket);
	h->bucket = bucket;
	h->mask = count - 1;
}

void inode_hash_insert(struct inode_hash *h, struct inode *inode)
{
	struct inode **to;

	if (h->used > h->mask)
		grow(h);
	to = &h->bucket[h->hash(inode) & h->mask];
	*link_of(h, inode) = *to;
	*to = inode;
	h->used++;
}

void inode_hash_remove(struct inode_hash *h, struct inode *inode)
{
	struct inode **at = &h->bucket[h->hash(inode) & h->mask];

	while (*at != inode)
		at = link_of(h, *at);
	*at = *link_of(h, inode);
	h->used--;
}
