/* SPDX-License-Identifier: MIT */
/*
 * Open files with content, and READ and WRITE of them, where there is no passthrough.
 * Layer: fuse.
 */
#include "fuse/object/open_file.h"

#include "core/session/content.h"
#include "fuse/object/backing.h"
#include "fuse/state/fs.h"

#include <errno.h>
#include <stdlib.h>

static void read_inline(fuse_req_t req, const struct content *c, size_t size, size_t off)
{
	size_t len = 0;
	const char *data = content_data(c, &len);

	if (off > len)
		off = len;
	fuse_reply_buf(req, data + off, size < len - off ? size : len - off);
}

static void read_fd(fuse_req_t req, int fd, size_t size, off_t off)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(size);

	buf.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK | FUSE_BUF_FD_RETRY;
	buf.buf[0].fd = fd;
	buf.buf[0].pos = off;
	fuse_reply_data(req, &buf, 0);
}

static void file_read(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	struct open_file *f = (struct open_file *)h;

	/* The reply is made from what the handle holds: memory, or a descriptor for splice. */
	handle_get(h);
	if (content_fd(f->content) < 0)
		read_inline(req, f->content, size, (size_t)off);
	else
		read_fd(req, content_fd(f->content), size, off);
	handle_put(h);
}

static int check_change(const struct open_file *f)
{
	if (!content_is_writable(f->content))
		return -EBADF;
	content_confirm(f->content);
	return 0;
}

/* The kernel has made O_APPEND an offset, under the inode's lock. */
static ssize_t write_content(const struct open_file *f, struct fuse_bufvec *in, off_t off)
{
	struct fuse_bufvec out = FUSE_BUFVEC_INIT(fuse_buf_size(in));
	ssize_t n;
	int err = check_change(f);

	if (err < 0)
		return err;
	err = content_write_begin(f->content, &out.buf[0].fd);
	if (err < 0)
		return err;
	out.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK | FUSE_BUF_FD_RETRY;
	out.buf[0].pos = off;
	n = fuse_buf_copy(&out, in, 0);
	content_write_end(f->content);
	return n;
}

static void file_write(fuse_req_t req, struct handle *h, struct fuse_bufvec *in, off_t off)
{
	ssize_t n = write_content((struct open_file *)h, in, off);

	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void file_flush(struct handle *h)
{
	struct open_file *f = (struct open_file *)h;

	if (content_is_writable(f->content))
		content_confirm(f->content);
}

static void file_release(fuse_req_t req, struct handle *h)
{
	if (((struct open_file *)h)->uses_backing)
		backing_close(req, h->inode);
}

static void file_close(struct handle *h)
{
	struct open_file *f = (struct open_file *)h;

	content_close(f->content);
	handle_fini(h);
	free(f);
}

static const struct handle_type file_type = {
	.read = file_read,
	.write = file_write,
	.flush = file_flush,
	.release = file_release,
	.close = file_close,
};

struct open_file *open_file_of(const struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	return h && h->type == &file_type ? (struct open_file *)h : NULL;
}

int open_file_for_change(const struct fuse_file_info *fi, struct open_file **out)
{
	struct open_file *f = open_file_of(fi);
	int err = f ? check_change(f) : -EBADF;

	if (!err)
		*out = f;
	return err;
}

static enum open_way way_of(int fd, const struct fuse_file_info *fi)
{
	if (fd < 0)
		return OPEN_INLINE;
	return fi->backing_id > 0 ? OPEN_KERNEL : OPEN_DAEMON;
}

int open_file_new(fuse_req_t req, struct inode *inode, struct content *content,
		  struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct open_file *f = calloc(1, sizeof(*f));
	int fd = content_fd(content);

	if (!f) {
		content_close(content);
		return -ENOMEM;
	}
	handle_init(fs->handles, &f->h, &file_type, inode);
	f->content = content;
	if (fd >= 0) {
		f->uses_backing = true;
		fi->backing_id = backing_open(fs, req, inode, fd);
	}
	metric_add(&fs->counters.opens[way_of(fd, fi)], 1);
	/*
	 * Sealed content never changes, so its pages stay right; with passthrough there are none
	 * (and -EINVAL for this flag).
	 */
	fi->keep_cache = fi->backing_id == 0 && content_keeps_cache(content);
	/* FLUSH says of a writer that its open was completed; of a reader it says nothing. */
	fi->noflush = !content_is_writable(content);
	fi->fh = (uintptr_t)f;
	return 0;
}
