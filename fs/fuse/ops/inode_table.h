/* SPDX-License-Identifier: MIT */
/* The table behind inode.h, for the files that keep state in inodes. */
#ifndef FENCE_FUSE_OPS_INODE_TABLE_H
#define FENCE_FUSE_OPS_INODE_TABLE_H

#include "base/lock.h"
#include "fuse/ops/inode.h"

#include <stddef.h>

/* A chained hash whose links are in the inodes themselves. */
struct inode_hash {
	struct inode **bucket; /* owned */
	size_t mask;	       /* buckets - 1, a power of two */
	size_t used;
};

struct inode_table {
	struct lock
		lock; /* LOCK_INODES: guards all below and the inodes' fields that inode.h names */
	pthread_cond_t decided;	     /* some inode has left BACKING_DECIDING */
	struct inode_hash by_nodeid; /* all but the control nodes */
	struct inode_hash by_key;    /* files, directories, symlinks, rejects, reports */
	struct inode_hash by_dir;    /* directories, by id alone */
	uint64_t next_nodeid;
	struct inode control[CONTROL_NODE_MAX];
};

#endif
