/* SPDX-License-Identifier: MIT */
/*
 * .fence/events. Layer: fuse.
 *
 * Reads wait parked until there is a line; writes choose where to begin. Like ctl it has an inode
 * of its own for each lookup, so that readers do not wait for one another.
 */
#include "fuse/control/events_file.h"

#include "core/events/events.h"
#include "fuse/control/ctl_file.h"
#include "fuse/ops/fs.h"
#include "fuse/ops/handle.h"
#include "fuse/ops/parked.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define SEEK_LINE_MAX 64

struct events_handle {
	struct handle h;
	struct fs *fs;
	struct event_reader *reader; /* owned */
};

static void events_file_close(struct handle *h)
{
	struct events_handle *e = (struct events_handle *)h;

	events_close(e->reader);
	handle_fini(e->fs, &e->h);
	free(e);
}

static const struct handle_type events_type = { events_file_close };

bool events_file_is(const struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);

	return h && h->type == &events_type;
}

static struct events_handle *events_handle_of(const struct fuse_file_info *fi)
{
	return (struct events_handle *)handle_of(fi);
}

void events_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct events_handle *e = calloc(1, sizeof(*e));
	struct caller who;
	int err = -ENOMEM;

	if (e) {
		ctl_file_caller(req, &who);
		err = events_open(fs->core, &who, &e->reader);
	}
	if (err < 0) {
		free(e);
		fuse_reply_err(req, -err);
		return;
	}
	e->fs = fs;
	handle_init(fs, &e->h, &events_type, inode);
	if (ctl_file_reply_stream(req, &e->h, fi) < 0)
		events_file_close(&e->h);
}

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

void events_file_read(fuse_req_t req, size_t size, struct fuse_file_info *fi)
{
	struct events_request *r = calloc(1, sizeof(*r));

	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	r->e = events_handle_of(fi);
	handle_get(&r->e->h);
	parked_init(&r->parked, req, request_interrupt, request_free);
	events_read(r->e->reader, size, read_done, &r->parked);
	parked_started(&r->parked);
	parked_put(&r->parked);
}

void events_file_write(fuse_req_t req, struct fuse_bufvec *in, struct fuse_file_info *fi)
{
	char line[SEEK_LINE_MAX];
	struct fuse_bufvec to = FUSE_BUFVEC_INIT(sizeof(line));
	size_t size = fuse_buf_size(in);
	ssize_t n = -EINVAL;
	int err;

	to.buf[0].mem = line;
	if (size <= sizeof(line))
		n = fuse_buf_copy(&to, in, 0);
	err = n < 0 ? (int)n : events_seek(events_handle_of(fi)->reader, line, (size_t)n);
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

void events_file_poll(fuse_req_t req, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	bool ready = events_poll(events_handle_of(fi)->reader, ph ? wake : NULL, ph);

	if (ready && ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, ready ? POLLIN | POLLRDNORM | POLLOUT : POLLOUT);
}
