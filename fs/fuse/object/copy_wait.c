/* SPDX-License-Identifier: MIT */
/* Waiting for the copy of a large file. Layer: fuse. */
#include "fuse/object/copy_wait.h"

#include "fuse/state/inode_table.h"
#include "fuse/state/parked.h"

#include <errno.h>
#include <stdlib.h>

struct copy_wait {
	struct parked parked; /* first */
	struct inode *inode;  /* a reference: keeps the view */
};

static void copy_wait_free(struct parked *p)
{
	struct copy_wait *w = (struct copy_wait *)p;

	inode_put(w->inode);
	free(w);
}

static void copy_wait_interrupt(struct parked *p)
{
	fuse_req_t req = p->req;

	/* The copy goes on, and the next request will find it. */
	if (parked_claim(p))
		fuse_reply_err(req, EINTR);
}

struct copy_wait *copy_wait_new(fuse_req_t req, struct inode *inode)
{
	struct copy_wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	parked_init(&w->parked, req, copy_wait_interrupt, copy_wait_free);
	inode_ref(inode);
	w->inode = inode;
	return w;
}

void copy_wait_done(void *arg, int err)
{
	struct copy_wait *w = arg;

	if (parked_claim(&w->parked))
		fuse_reply_err(w->parked.req, err < 0 ? -err : ESTALE);
	parked_put(&w->parked);
}

int copy_wait_begun(struct copy_wait *w, int err)
{
	if (err == 1) {
		parked_started(&w->parked);
	} else {
		/* Always won: nobody else was told of the request. */
		(void)parked_claim(&w->parked);
		parked_put(&w->parked);
	}
	parked_put(&w->parked);
	return err;
}
