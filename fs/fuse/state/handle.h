/* SPDX-License-Identifier: MIT */
/*
 * Open handles: what fuse_file_info.fh points to. All are in one list, so that those the kernel
 * leaves open (a forced end of the daemon) are closed before core is. Layer: fuse.
 */
#ifndef FENCE_FUSE_STATE_HANDLE_H
#define FENCE_FUSE_STATE_HANDLE_H

#include "fuse/state/inode.h"

#include <stdbool.h>

#include <fuse_lowlevel.h>

struct handle;
struct handle_list;

/* What can be done with an open file. Those that reply do so once, now or, parked, later. */
struct handle_type {
	bool is_stream; /* has no positions: reads and writes do not wait for each other */

	/* Replies. NULL: EBADF. */
	void (*read)(fuse_req_t req, struct handle *h, size_t size, off_t off);
	void (*write)(fuse_req_t req, struct handle *h, struct fuse_bufvec *in, off_t off);
	/* Replies; @ph is consumed. NULL: it can always be read and written. */
	void (*poll)(fuse_req_t req, struct handle *h, struct fuse_pollhandle *ph);
	/* Some descriptor of it was closed. May be NULL. */
	void (*flush)(struct handle *h);
	/* The last one was, which the kernel may still have to be told something for. May be NULL. */
	void (*release)(fuse_req_t req, struct handle *h);
	/*
	 * Closes what is behind @h and frees it: handle_fini(), then the memory. The kernel closes
	 * backing files itself when its connection ends.
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
	struct handle_list *list;   /* borrowed */
	struct handle *prev, *next; /* guarded by the list's lock */
};

int handle_list_new(struct handle_list **out);
/* Closes all that are left. */
void handle_list_free(struct handle_list *l);
size_t handle_count(struct handle_list *l);

/* @h takes a reference on @inode; undone by handle_fini(). */
void handle_init(struct handle_list *l, struct handle *h, const struct handle_type *type,
		 struct inode *inode);
void handle_fini(struct handle *h);
void handle_get(struct handle *h);
/* Closes it when nobody has it any more. */
void handle_put(struct handle *h);
/* RELEASE has come for it, or its OPEN could not be answered. */
void handle_release(fuse_req_t req, struct handle *h);

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

#endif
