/* SPDX-License-Identifier: MIT */
/*
 * A chained hash of inodes whose links are in the inodes themselves, so that inserting takes no
 * memory. Three of them are the three ways to find an inode (inode_table.c), whose lock guards
 * them. Layer: fuse.
 */
#ifndef FENCE_FUSE_STATE_INODE_HASH_H
#define FENCE_FUSE_STATE_INODE_HASH_H

#include "fuse/state/inode.h"

#include <stddef.h>

struct inode_hash {
	struct inode **bucket; /* owned */
	size_t mask;	       /* buckets - 1, a power of two */
	size_t used;
	size_t link; /* where in an inode the next one's address is */
	uint64_t (*hash)(const struct inode *inode);
};

/* The finalizer of SplitMix64: every bit of @x moves every bit of the result. */
static inline uint64_t inode_hash_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

int inode_hash_init(struct inode_hash *h, size_t link, uint64_t (*hash)(const struct inode *inode));
void inode_hash_fini(struct inode_hash *h);
void inode_hash_insert(struct inode_hash *h, struct inode *inode);
/* @inode is in it. */
void inode_hash_remove(struct inode_hash *h, struct inode *inode);

/* The chain of all whose hash is @hash, and of others. */
static inline struct inode *inode_hash_first(const struct inode_hash *h, uint64_t hash)
{
	return h->bucket[hash & h->mask];
}

#endif
