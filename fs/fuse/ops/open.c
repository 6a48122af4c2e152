/* SPDX-License-Identifier: MIT */
/* Opening and closing files: OPEN, CREATE, FLUSH, RELEASE. Layer: fuse. */
#include "fuse/ops/handlers.h"

#include "core/session/session.h"
#include "fuse/object/object.h"
#include "fuse/object/object_file.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>

/*
 * The reply is put together here, because libfuse (3.18) has no way to say FOPEN_STREAM: without it
 * the kernel holds the file's position lock while a read waits, and no other thread or child could
 * write to the same descriptor. FLUSH would execute nothing, but a process that is killed waits for
 * its answer, however long the daemon is stopped: FOPEN_NOFLUSH.
 */
static int reply_stream(fuse_req_t req, const struct fuse_file_info *fi)
{
	struct fuse_open_out out = { .fh = fi->fh,
				     .open_flags = FOPEN_DIRECT_IO | FOPEN_NONSEEKABLE |
						   FOPEN_STREAM | FOPEN_NOFLUSH };

	return fuse_reply_buf(req, (const char *)&out, sizeof(out));
}

static int reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
	return handle_of(fi)->type->is_stream ? reply_stream(req, fi) : fuse_reply_open(req, fi);
}

void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	int err = inode && inode->type->open ? inode->type->open(req, inode, fi) : -ESTALE;

	if (err == 1) /* parked */
		return;
	if (err < 0)
		fuse_reply_err(req, -err);
	else if (reply_open(req, fi) < 0)
		handle_release(req, handle_of(fi));
}

/*
 * The name may have come into being after the kernel had looked (a commit made it, beneath the
 * session's own tree). Without O_EXCL that file is to be opened, which the kernel does, with the
 * permission checks that it leaves out for a new file, when it looks again.
 */
static int make_file(fuse_req_t req, const struct inode *dir, const char *name, mode_t mode,
		     struct node *out)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	int err = dir ? object_name_check(name) : -ESTALE;

	if (err < 0)
		return err;
	if (!object_is_dir(dir))
		return -EPERM;
	return session_create(dir->view, dir->id, name, mode & 07777, ctx->uid, ctx->gid, out);
}

/* The new file @n below @dir, open. *out_e counts one lookup. */
static int enter_file(fuse_req_t req, const struct inode *dir, const struct node *n,
		      struct fuse_file_info *fi, struct fuse_entry_param *out_e)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = NULL;
	int err = object_entry(fs, dir->view, n, out_e);

	if (err < 0)
		return err;
	inode = inode_get(fs->inodes, out_e->ino);
	err = object_file_open_new(req, inode, fi);
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
	struct node n;
	int err = make_file(req, dir, name, mode, &n);

	if (!err)
		err = enter_file(req, dir, &n, fi, &e);
	if (err == -EEXIST && !(fi->flags & O_EXCL))
		err = -ESTALE;
	if (err < 0) {
		fuse_reply_err(req, -err);
	} else if (fuse_reply_create(req, &e, fi) < 0) {
		handle_release(req, handle_of(fi));
		inode_forget(fs->inodes, e.ino, 1);
	}
}

/* Comes with every close of every descriptor: it executes nothing, and publishes nothing. */
void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	(void)ino;
	if (h && h->type->flush)
		h->type->flush(h);
	fuse_reply_err(req, 0);
}

void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	(void)ino;
	if (h)
		handle_release(req, h);
	fuse_reply_err(req, 0);
}
