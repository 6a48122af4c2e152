/* SPDX-License-Identifier: MIT */
/*
 * .fence/events. Layer: fuse.
 *
 * Reads wait parked until there is a line; writes choose where to begin. Like ctl it has an inode
 * of its own for each lookup, so that readers do not wait for one another.
 */
#include "core/access/caller.h"
#include "core/events/events.h"
#include "fuse/control/control_file.h"
#include "fuse/control/opener.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/parked.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define SEEK_LINE_MAX 64

struct events_handle {
	struct handle h;
	struct event_reader *reader; /* owned */
};

struct events_request {
	struct parked parked;
	struct events_handle *e; /* a reference */
};

static void request_interrupt(struct parked *p)
{
	events_interrupt(((struct events_request *)p)->e->reader, p);
}

static void request_free(struct parked *p)
{
	handle_put(&((struct events_request *)p)->e->h);
	free(p);
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

static void reader_read(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	struct events_request *r = calloc(1, sizeof(*r));

	(void)off;
	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	r->e = (struct events_handle *)h;
	handle_get(h);
	parked_init(&r->parked, req, request_interrupt, request_free);
	events_read(r->e->reader, size, read_done, &r->parked);
	parked_started(&r->parked);
	parked_put(&r->parked);
}

static void reader_write(fuse_req_t req, struct handle *h, struct fuse_bufvec *in, off_t off)
{
	struct events_handle *e = (struct events_handle *)h;
	char line[SEEK_LINE_MAX];
	struct fuse_bufvec to = FUSE_BUFVEC_INIT(sizeof(line));
	size_t size = fuse_buf_size(in);
	ssize_t n = -EINVAL;
	int err;

	(void)off;
	to.buf[0].mem = line;
	if (size <= sizeof(line))
		n = fuse_buf_copy(&to, in, 0);
	err = n < 0 ? (int)n : events_seek(e->reader, line, (size_t)n);
	if (err < 0)
		fuse_reply_err(req, -err);
	else
		fuse_reply_write(req, size);
}

static void wake(void *arg)
{
	struct fuse_pollhandle *ph = arg;

	fuse_lowlevel_notify_poll(ph);
	fuse_pollhandle_destroy(ph);
}

static void reader_poll(fuse_req_t req, struct handle *h, struct fuse_pollhandle *ph)
{
	struct events_handle *e = (struct events_handle *)h;
	bool ready = events_poll(e->reader, ph ? wake : NULL, ph);

	if (ready && ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, ready ? POLLIN | POLLRDNORM | POLLOUT : POLLOUT);
}

static void reader_close(struct handle *h)
{
	struct events_handle *e = (struct events_handle *)h;

	events_close(e->reader);
	handle_fini(h);
	free(e);
}

static const struct handle_type reader = {
	.is_stream = true,
	.read = reader_read,
	.write = reader_write,
	.poll = reader_poll,
	.close = reader_close,
};

static int reader_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct events_handle *e = calloc(1, sizeof(*e));
	struct fs *fs = fs_of(req);
	struct caller who;
	int err;

	if (!e)
		return -ENOMEM;
	opener_of(req, &who);
	err = events_open(fs->core, &who, &e->reader);
	if (err < 0) {
		free(e);
		return err;
	}
	handle_init(fs->handles, &e->h, &reader, inode);
	fi->fh = (uintptr_t)e;
	return 0;
}

static const struct inode_type events_type = {
	.kind = ENTRY_FILE,
	.mode = 0666,
	.is_fresh = true,
	.attr = control_file_attr,
	.setattr = control_file_setattr,
	.open = reader_open,
};

const struct control_file events_file = { "events", &events_type, control_file_fresh };
