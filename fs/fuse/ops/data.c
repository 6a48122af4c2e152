/* SPDX-License-Identifier: MIT */
/*
 * What is done with open files, where the kernel does not do it itself (passthrough). READ, WRITE
 * and POLL are the handle's type's; the rest makes sense for content only. Layer: fuse.
 */
#include "fuse/ops/handlers.h"

#include "core/session/content.h"
#include "fuse/object/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* A worker is busy for as long as one request copies; the kernel asks again for the rest. */
#define COPY_MAX (64 * 1024 * 1024)

void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	(void)ino;
	if (h && h->type->read)
		h->type->read(req, h, size, off);
	else
		fuse_reply_err(req, EBADF);
}

void fs_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
		  struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	(void)ino;
	if (h && h->type->write)
		h->type->write(req, h, in, off);
	else
		fuse_reply_err(req, EBADF);
}

void fs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct handle *h = handle_of(fi);

	(void)ino;
	if (h && h->type->poll) {
		h->type->poll(req, h, ph);
		return;
	}
	if (ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM);
}

void fs_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		  struct fuse_file_info *fi)
{
	struct open_file *f;
	int fd;
	int err = open_file_for_change(fi, &f);

	(void)ino;
	if (!err)
		err = content_write_begin(f->content, &fd);
	if (!err) {
		err = fallocate(fd, mode, off, len) < 0 ? -errno : 0;
		content_write_end(f->content);
	}
	fuse_reply_err(req, -err);
}

/* Inline content is one piece of data without a hole before its end. */
static off_t seek_inline(size_t size, off_t off, int whence)
{
	if (off < 0 || (size_t)off >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? off : (off_t)size;
}

/* Only SEEK_DATA and SEEK_HOLE come here; the kernel knows the rest. */
void fs_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	struct open_file *f = open_file_of(fi);
	size_t size = 0;
	off_t at;

	(void)ino;
	if (!f || (whence != SEEK_DATA && whence != SEEK_HOLE)) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (content_fd(f->content) < 0) {
		(void)content_data(f->content, &size);
		at = seek_inline(size, off, whence);
	} else {
		at = lseek(content_fd(f->content), off, whence);
		if (at < 0)
			at = -errno;
	}
	if (at < 0)
		fuse_reply_err(req, (int)-at);
	else
		fuse_reply_lseek(req, at);
}

static ssize_t copy_to(const struct content *from, off_t off_in, int fd, off_t off_out, size_t len)
{
	const char *data;
	size_t size = 0;
	ssize_t n;

	if (len > COPY_MAX)
		len = COPY_MAX;
	if (content_fd(from) >= 0) {
		n = copy_file_range(content_fd(from), &off_in, fd, &off_out, len, 0);
		return n < 0 ? -errno : n;
	}
	data = content_data(from, &size);
	if ((size_t)off_in >= size)
		return 0;
	n = pwrite(fd, data + off_in, len < size - (size_t)off_in ? len : size - (size_t)off_in,
		   off_out);
	return n < 0 ? -errno : n;
}

void fs_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			struct fuse_file_info *fi_out, size_t len, int flags)
{
	struct open_file *from = open_file_of(fi_in);
	struct open_file *to;
	ssize_t n;
	int fd;
	int err = open_file_for_change(fi_out, &to);

	(void)ino_in;
	(void)ino_out;
	if (!err && (!from || flags))
		err = -EINVAL;
	if (!err)
		err = content_write_begin(to->content, &fd);
	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	n = copy_to(from->content, off_in, fd, off_out, len);
	content_write_end(to->content);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}
