/* SPDX-License-Identifier: MIT */
/*
 * Open files. Layer: fuse.
 *
 * ESTALE from OPEN, CREATE and SETATTR makes the kernel walk the path once more with LOOKUP_REVAL,
 * in which each component is looked up again; when that gives another nodeid, the old dentry is
 * dropped and the new inode is opened (Linux 6.18: do_filp_open(), do_sys_truncate(),
 * fuse_dentry_revalidate()). So a first write to an unmodified file arrives at the copy that core
 * has made for it meanwhile, with or without O_TRUNC or O_CREAT.
 */
#include "fuse/ops/open.h"

#include "base/cleanup.h"
#include "core/session/content.h"
#include "core/publish/salvage.h"
#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/ops/attr.h"
#include "fuse/ops/backing.h"
#include "fuse/ops/copy_wait.h"
#include "fuse/control/ctl_file.h"
#include "fuse/control/events_file.h"
#include "fuse/control/report_file.h"

#include <errno.h>

static void file_close(struct handle *h)
{
	struct open_file *f = (struct open_file *)h;

	content_close(f->content);
	handle_fini(f->fs, &f->h);
	free(f);
}

static const struct handle_type file_type = { file_close };

struct open_file *open_file_of(const struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	return h && h->type == &file_type ? (struct open_file *)h : NULL;
}

int open_file_for_change(const struct fuse_file_info *fi, struct open_file **out)
{
	struct open_file *f = open_file_of(fi);

	if (!f || !content_is_writable(f->content))
		return -EBADF;
	content_confirm(f->content);
	*out = f;
	return 0;
}

/* @content is consumed, also on failure. */
static int handle_new(struct fs *fs, fuse_req_t req, struct inode *inode, struct content *content,
		      struct fuse_file_info *fi)
{
	struct open_file *f = calloc(1, sizeof(*f));
	bool writable = content_is_writable(content);
	int fd = content_fd(content);

	if (!f) {
		content_close(content);
		return -ENOMEM;
	}
	handle_init(fs, &f->h, &file_type, inode);
	f->fs = fs;
	f->content = content;
	if (fd >= 0) {
		f->uses_backing = true;
		fi->backing_id = backing_open(fs, req, inode, fd);
	}
	metric_add(&fs->metrics.opens[fd < 0		 ? OPEN_INLINE :
				      fi->backing_id > 0 ? OPEN_KERNEL :
							   OPEN_DAEMON],
		   1);
	/*
	 * Sealed content never changes, so its pages stay right; with passthrough there are none
	 * (and -EINVAL for this flag).
	 */
	fi->keep_cache = fi->backing_id == 0 && content_keeps_cache(content);
	/* FLUSH says of a writer that its open was completed; of a reader it says nothing. */
	fi->noflush = !writable;
	fi->fh = (uintptr_t)f;
	return 0;
}

static void handle_release(fuse_req_t req, struct open_file *f)
{
	if (f->uses_backing)
		backing_close(req, f->h.inode);
	handle_put(&f->h);
}

/* 0 with *out, -errno, or 1: the request is parked. */
static int open_content(struct fs *fs, fuse_req_t req, struct inode *inode, int flags,
			struct content **out)
{
	bool may_wait = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct copy_wait *w = may_wait ? copy_wait_new(req, inode) : NULL;
	int err;

	if (may_wait && !w)
		return -ENOMEM;
	err = content_open(inode->view, inode->id, flags, fuse_req_ctx(req)->uid,
			   atomic_load(&fs->passthrough), copy_wait_done, w, out);
	return w ? copy_wait_begun(w, err) : err;
}

static int open_reject(struct fs *fs, const struct inode *inode, int flags, struct content **out)
{
	if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC)
		return -EROFS;
	return salvage_open(fs->core, inode->id, out);
}

void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = inode_get(fs->inodes, ino);
	struct content *content;
	int err = -ESTALE;

	if (inode && inode->kind == INODE_CTL) {
		ctl_file_open(req, inode, fi);
		return;
	}
	if (inode && inode->kind == INODE_EVENTS) {
		events_file_open(req, inode, fi);
		return;
	}
	if (inode && inode->kind == INODE_REPORT) {
		report_file_open(req, inode, fi);
		return;
	}
	if (inode && inode->kind == INODE_FILE)
		err = open_content(fs, req, inode, fi->flags, &content);
	else if (inode && inode->kind == INODE_REJECT)
		err = open_reject(fs, inode, fi->flags, &content);
	if (err == 1)
		return;
	if (!err)
		err = handle_new(fs, req, inode, content, fi);
	if (!err)
		attr_remember(fs, inode);
	if (err < 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_open(req, fi) < 0)
		handle_release(req, open_file_of(fi));
}

/* A new file below @dir, open. *out_e counts one lookup. */
static int create(struct fs *fs, fuse_req_t req, const struct inode *dir, const char *name,
		  mode_t mode, struct fuse_file_info *fi, struct fuse_entry_param *out_e)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	auto_inode struct inode *inode = NULL;
	struct content *content;
	struct node n;
	int err = session_create(dir->view, dir->id, name, mode & 07777, ctx->uid, ctx->gid, &n);

	if (err < 0)
		return err;
	err = attr_entry(fs, dir->view, &n, out_e);
	if (err < 0)
		return err;
	inode = inode_get(fs->inodes, out_e->ino);
	/* A new file is empty: there is nothing to copy, so this never waits. */
	err = content_open(dir->view, n.id, fi->flags & ~O_TRUNC, ctx->uid,
			   atomic_load(&fs->passthrough), NULL, NULL, &content);
	if (!err)
		err = handle_new(fs, req, inode, content, fi);
	if (err < 0)
		inode_forget(fs->inodes, out_e->ino, 1);
	return err;
}

void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *dir = inode_get(fs->inodes, parent);
	struct fuse_entry_param e;
	int err = dir ? name_check(name) : -ESTALE;

	if (!err)
		err = dir->kind == INODE_DIR ? create(fs, req, dir, name, mode, fi, &e) : -EPERM;
	/*
	 * The name came into being after the kernel had looked (a commit made it, beneath the
	 * session's own tree). Without O_EXCL that file is to be opened, which the kernel does,
	 * with the permission checks that it leaves out for a new file, when it looks again.
	 */
	if (err == -EEXIST && !(fi->flags & O_EXCL))
		err = -ESTALE;
	if (err < 0) {
		fuse_reply_err(req, -err);
	} else if (fuse_reply_create(req, &e, fi) < 0) {
		handle_release(req, open_file_of(fi));
		inode_forget(fs->inodes, e.ino, 1);
	}
}

/* Comes with every close of every descriptor: it executes nothing, and publishes nothing. */
void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct open_file *f = open_file_of(fi);

	(void)ino;
	if (f && content_is_writable(f->content))
		content_confirm(f->content);
	fuse_reply_err(req, 0);
}

void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct open_file *f = open_file_of(fi);
	struct handle *h = handle_of(fi);

	(void)ino;
	if (f)
		handle_release(req, f);
	else if (h)
		handle_put(h);
	fuse_reply_err(req, 0);
}
