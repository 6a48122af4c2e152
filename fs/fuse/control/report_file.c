/* SPDX-License-Identifier: MIT */
/* See report_file.h. Layer: fuse. */
#include "fuse/control/report_file.h"

#include "fuse/state/fs.h"
#include "fuse/state/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

struct report_handle {
	struct handle h;
	char *text; /* owned */
	size_t len;
};

static void report_read(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	const struct report_handle *r = (struct report_handle *)h;
	size_t at = off < 0 || (size_t)off > r->len ? r->len : (size_t)off;

	/* RELEASE may come while the reply is still being made from the text. */
	handle_get(h);
	fuse_reply_buf(req, r->text + at, size < r->len - at ? size : r->len - at);
	handle_put(h);
}

static void report_close(struct handle *h)
{
	struct report_handle *r = (struct report_handle *)h;

	handle_fini(h);
	free(r->text);
	free(r);
}

static const struct handle_type report = { .read = report_read, .close = report_close };

int report_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi,
		     report_make_fn make)
{
	struct report_handle *r;
	int err;

	if ((fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC)
		return -EROFS;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	err = make(req, &r->text, &r->len);
	if (err < 0) {
		free(r);
		return err;
	}
	handle_init(fs_of(req)->handles, &r->h, &report, inode);
	fi->fh = (uintptr_t)r;
	fi->direct_io = 1; /* else the kernel would stop at the size, 0 */
	fi->noflush = 1;
	return 0;
}
