/* SPDX-License-Identifier: MIT */
/* The table behind inode_table.h, for the files that keep state in inodes. Layer: fuse. */
#ifndef FENCE_FUSE_STATE_INODE_TABLE_IMPL_H
#define FENCE_FUSE_STATE_INODE_TABLE_IMPL_H

#include "base/lock.h"
#include "fuse/state/inode_hash.h"
#include "fuse/state/inode_table.h"

struct inode_table {
	/* LOCK_INODES: guards all below, and the inodes' fields that inode.h names. */
	struct lock lock;
	pthread_cond_t decided;	     /* some inode has left BACKING_DECIDING */
	struct inode_hash by_nodeid; /* all but the fixed ones */
	struct inode_hash by_key;    /* those that are not fresh */
	struct inode_hash by_dir;    /* directories of views, by id alone */
	uint64_t next_nodeid;
	struct inode fixed[NODEID_FIXED_MAX]; /* by nodeid; without a type: there is none */
};

#endif
