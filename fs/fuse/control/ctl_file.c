/* SPDX-License-Identifier: MIT */
/*
 * .fence/ctl. Layer: fuse.
 *
 * What the caller may do is decided by who opened the file: a WRITE may carry uid 0, or come from
 * another process. Offsets mean nothing. Reads and writes wait parked; an interrupt ends the wait,
 * never the work.
 */
#include "fuse/control/ctl_file.h"

#include "base/cleanup.h"
#include "core/ctl/ctl.h"
#include "fuse/ops/fs.h"
#include "fuse/ops/handle.h"
#include "fuse/ops/parked.h"

#include <errno.h>
#include <linux/fuse.h>

struct ctl_handle {
	struct handle h;
	struct fs *fs;
	struct ctl *ctl; /* owned */
};

static void ctl_file_close(struct handle *h)
{
	struct ctl_handle *c = (struct ctl_handle *)h;

	ctl_close(c->ctl);
	handle_fini(c->fs, &c->h);
	free(c);
}

static const struct handle_type ctl_type = { ctl_file_close };

static struct ctl_handle *ctl_handle_of(const struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	return h && h->type == &ctl_type ? (struct ctl_handle *)h : NULL;
}

void ctl_file_caller(fuse_req_t req, struct caller *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int n;

	out->uid = ctx->uid;
	out->gid = ctx->gid;
	out->pid = ctx->pid;
	/*
	 * The caller waits in open(2), so its pid is its own. Groups that cannot be read, or do not
	 * fit, give no rights.
	 */
	n = fuse_req_getgroups(req, CALLER_GROUPS_MAX, out->groups);
	out->n_groups = n < 0 ? 0 : n;
	if (out->n_groups > CALLER_GROUPS_MAX)
		out->n_groups = CALLER_GROUPS_MAX;
}

static int open_conversation(struct fs *fs, fuse_req_t req, struct inode *inode,
			     struct ctl_handle **out)
{
	struct ctl_handle *c = calloc(1, sizeof(*c));
	struct caller who;
	int err;

	if (!c)
		return -ENOMEM;
	ctl_file_caller(req, &who);
	err = ctl_open(fs->core, &who, &c->ctl);
	if (err < 0) {
		free(c);
		return err;
	}
	c->fs = fs;
	handle_init(fs, &c->h, &ctl_type, inode);
	*out = c;
	return 0;
}

/*
 * The reply is put together here, because libfuse (3.18) has no way to say FOPEN_STREAM: without it
 * the kernel holds the file's position lock while a read waits, and no other thread or child could
 * write to the same descriptor. FLUSH would execute nothing, but a process that is killed waits for
 * its answer, however long the daemon is stopped: FOPEN_NOFLUSH.
 */
int ctl_file_reply_stream(fuse_req_t req, struct handle *h, struct fuse_file_info *fi)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO | FOPEN_NONSEEKABLE |
						   FOPEN_STREAM | FOPEN_NOFLUSH };

	(void)fi;
	out.fh = (uintptr_t)h;
	return fuse_reply_buf(req, (const char *)&out, sizeof(out));
}

void ctl_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct ctl_handle *c;
	int err = open_conversation(fs_of(req), req, inode, &c);

	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	if (ctl_file_reply_stream(req, &c->h, fi) < 0)
		ctl_file_close(&c->h);
}

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

void ctl_file_read(fuse_req_t req, size_t size, struct fuse_file_info *fi)
{
	struct ctl_handle *c = ctl_handle_of(fi);
	struct ctl_request *r = c ? ctl_request_new(req, c, 0) : NULL;

	if (!r) {
		fuse_reply_err(req, c ? ENOMEM : EBADF);
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

void ctl_file_write(fuse_req_t req, struct fuse_bufvec *in, struct fuse_file_info *fi)
{
	struct ctl_handle *c = ctl_handle_of(fi);
	size_t size = fuse_buf_size(in);
	auto_free char *copy = NULL;
	struct ctl_request *r = NULL;
	int err = c ? flatten(in, size, &copy) : -EBADF;

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
