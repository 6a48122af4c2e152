/* SPDX-License-Identifier: MIT */
/* See report_file.h. Layer: fuse. */
#include "fuse/control/report_file.h"

#include "core/access/caller.h"
#include "fuse/control/ctl_file.h"
#include "fuse/ops/fs.h"
#include "fuse/ops/fs_metrics.h"
#include "fuse/ops/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

const char *const report_names[REPORTS] = { "metrics", "status" };

struct report_handle {
	struct handle h;
	struct fs *fs;
	char *text; /* owned */
	size_t len;
};

static void report_file_close(struct handle *h)
{
	struct report_handle *r = (struct report_handle *)h;

	handle_fini(r->fs, &r->h);
	free(r->text);
	free(r);
}

static const struct handle_type report_type = { report_file_close };

bool report_file_is(const struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);

	return h && h->type == &report_type;
}

static int make_metrics(struct fs *fs, struct report_handle *r)
{
	struct metric_text t = { 0 };
	int err = fs_metrics_write(fs, &t);

	if (err < 0) {
		metric_text_fini(&t);
		return err;
	}
	r->text = t.s;
	r->len = t.len;
	return 0;
}

static int make(fuse_req_t req, enum report which, struct report_handle *r)
{
	struct caller who;

	if (which == REPORT_METRICS)
		return make_metrics(r->fs, r);
	ctl_file_caller(req, &who);
	return status_text(r->fs->core, &who, &r->text, &r->len);
}

static int report_new(fuse_req_t req, struct inode *inode, int flags, struct report_handle **out)
{
	struct report_handle *r;
	int err;

	if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC)
		return -EROFS;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->fs = fs_of(req);
	err = make(req, (enum report)inode->id, r);
	if (err < 0) {
		free(r);
		return err;
	}
	handle_init(r->fs, &r->h, &report_type, inode);
	*out = r;
	return 0;
}

void report_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct report_handle *r;
	int err = report_new(req, inode, fi->flags, &r);

	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	fi->fh = (uintptr_t)r;
	fi->direct_io = 1; /* else the kernel would stop at the size, 0 */
	fi->noflush = 1;
	if (fuse_reply_open(req, fi) < 0)
		report_file_close(&r->h);
}

void report_file_read(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct report_handle *r = (struct report_handle *)handle_of(fi);
	size_t at = off < 0 || (size_t)off > r->len ? r->len : (size_t)off;

	/* RELEASE may come while the reply is still being made from the text. */
	handle_get(&r->h);
	fuse_reply_buf(req, r->text + at, size < r->len - at ? size : r->len - at);
	handle_put(&r->h);
}
