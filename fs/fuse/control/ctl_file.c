/* SPDX-License-Identifier: MIT */
/*
 * .fence/ctl. Layer: fuse.
 *
 * What the caller may do is decided by who opened the file: a WRITE may carry uid 0, or come from
 * another process. Offsets mean nothing. Reads and writes wait parked; an interrupt ends the wait,
 * never the work.
 */
#include "base/cleanup.h"
#include "core/access/caller.h"
#include "core/ctl/ctl.h"
#include "fuse/control/control_file.h"
#include "fuse/control/opener.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/parked.h"

#include <errno.h>
#include <stdlib.h>

struct ctl_handle {
	struct handle h;
	struct ctl *ctl; /* owned */
};

struct ctl_request {
	struct parked parked;
	struct ctl_handle *c; /* a reference */
	size_t len;	      /* of a write */
};

static void ctl_request_interrupt(struct parked *p)
{
	ctl_interrupt(((struct ctl_request *)p)->c->ctl, p);
}

static void ctl_request_free(struct parked *p)
{
	handle_put(&((struct ctl_request *)p)->c->h);
	free(p);
}

static struct ctl_request *ctl_request_new(fuse_req_t req, struct ctl_handle *c, size_t len)
{
	struct ctl_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	handle_get(&c->h);
	r->c = c;
	r->len = len;
	parked_init(&r->parked, req, ctl_request_interrupt, ctl_request_free);
	return r;
}

static void read_done(void *arg, int err, const void *data, size_t len)
{
	struct parked *p = arg;

	if (parked_claim(p)) {
		if (err < 0)
			fuse_reply_err(p->req, -err);
		else
			fuse_reply_buf(p->req, data, len);
	}
	parked_put(p);
}

static void conversation_read(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	struct ctl_handle *c = (struct ctl_handle *)h;
	struct ctl_request *r = ctl_request_new(req, c, 0);

	(void)off;
	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	ctl_read(c->ctl, size, read_done, &r->parked);
	parked_started(&r->parked);
	parked_put(&r->parked);
}

static void write_done(void *arg, int err)
{
	struct parked *p = arg;

	if (parked_claim(p)) {
		if (err < 0)
			fuse_reply_err(p->req, -err);
		else
			fuse_reply_write(p->req, ((struct ctl_request *)p)->len);
	}
	parked_put(p);
}

/* The bytes of @in in one piece: *out, or in place and *out stays NULL. */
static int flatten(struct fuse_bufvec *in, size_t size, char **out)
{
	struct fuse_bufvec to = FUSE_BUFVEC_INIT(size);
	ssize_t n;

	if (in->count == 1 && !(in->buf[0].flags & FUSE_BUF_IS_FD))
		return 0;
	*out = malloc(size ? size : 1);
	if (!*out)
		return -ENOMEM;
	to.buf[0].mem = *out;
	n = fuse_buf_copy(&to, in, 0);
	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EIO;
}

static void conversation_write(fuse_req_t req, struct handle *h, struct fuse_bufvec *in, off_t off)
{
	struct ctl_handle *c = (struct ctl_handle *)h;
	size_t size = fuse_buf_size(in);
	auto_free char *copy = NULL;
	struct ctl_request *r = NULL;
	int err = flatten(in, size, &copy);

	(void)off;
	if (!err) {
		r = ctl_request_new(req, c, size);
		if (!r)
			err = -ENOMEM;
	}
	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	ctl_write(c->ctl, copy ? copy : in->buf[0].mem, size, write_done, &r->parked);
	parked_started(&r->parked);
	parked_put(&r->parked);
}

static void conversation_close(struct handle *h)
{
	struct ctl_handle *c = (struct ctl_handle *)h;

	ctl_close(c->ctl);
	handle_fini(h);
	free(c);
}

static const struct handle_type conversation = {
	.is_stream = true,
	.read = conversation_read,
	.write = conversation_write,
	.close = conversation_close,
};

static int conversation_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct ctl_handle *c = calloc(1, sizeof(*c));
	struct fs *fs = fs_of(req);
	struct caller who;
	int err;

	if (!c)
		return -ENOMEM;
	opener_of(req, &who);
	err = ctl_open(fs->core, &who, &c->ctl);
	if (err < 0) {
		free(c);
		return err;
	}
	handle_init(fs->handles, &c->h, &conversation, inode);
	fi->fh = (uintptr_t)c;
	return 0;
}

static const struct inode_type ctl_type = {
	.kind = ENTRY_FILE,
	.mode = 0666,
	.is_fresh = true,
	.attr = control_file_attr,
	.setattr = control_file_setattr,
	.open = conversation_open,
};

const struct control_file ctl_file = { "ctl", &ctl_type, control_file_fresh };
