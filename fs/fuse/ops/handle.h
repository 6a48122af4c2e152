/* SPDX-License-Identifier: MIT */
/*
 * Open handles: what fuse_file_info.fh points to. All are in one list, so that those the kernel
 * leaves open (a forced end of the daemon) are closed before core is.
 */
#ifndef FENCE_FUSE_OPS_HANDLE_H
#define FENCE_FUSE_OPS_HANDLE_H

#include "fuse/ops/inode.h"

#include <stdatomic.h>

#include <fuse_lowlevel.h>

struct fs;
struct handle;
struct handle_list;

struct handle_type {
	/*
	 * Closes what is behind @h and frees it. The kernel closes backing files itself when its
	 * connection ends.
	 */
	void (*close)(struct handle *h);
};

/* The first member of every handle. */
struct handle {
	const struct handle_type *type;
	/*
	 * The kernel's one, and one for each request at work on it: with the reply the kernel is
	 * done with a request, and RELEASE may come while the thread that sent it has yet to
	 * return.
	 */
	atomic_uint refs;
	struct inode *inode;	    /* a reference */
	struct handle *prev, *next; /* guarded by the list's lock */
};

int handle_list_new(struct handle_list **out);
/* Closes all that are left. */
void handle_list_free(struct handle_list *l);
size_t handle_count(struct handle_list *l);

/* @h takes a reference on @inode. */
void handle_init(struct fs *fs, struct handle *h, const struct handle_type *type,
		 struct inode *inode);
void handle_get(struct handle *h);
/* Closes it when nobody has it any more. */
void handle_put(struct handle *h);

/* For `close`: the reverse of handle_init(); the caller frees the memory. */
void handle_fini(struct fs *fs, struct handle *h);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

#endif
