/* SPDX-License-Identifier: MIT */
/* Changing names. Layer: fuse. */
#include "fuse/ops/handlers.h"

#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"

#include <errno.h>
#include <stdio.h> /* RENAME_EXCHANGE */
#include <sys/stat.h>

/* Whether @name may be changed in @dir as far as this layer knows; core knows the rest. */
static int check_dir(const struct inode *dir, const char *name)
{
	if (!dir)
		return -ESTALE;
	if (!object_is_dir(dir))
		return -EPERM;
	return object_name_check(name);
}

/* Reply for a new @n below @dir, or for the @err that there is instead of it. */
static int entry_of_new(struct fs *fs, const struct inode *dir, int err, const struct node *n,
			struct fuse_entry_param *out)
{
	return err < 0 ? err : object_entry(fs, dir->view, n, out);
}

void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fs *fs = fs_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	auto_inode struct inode *dir = inode_get(fs->inodes, parent);
	struct fuse_entry_param e;
	struct node n;
	int err = check_dir(dir, name);

	if (!err)
		err = session_mkdir(dir->view, dir->id, name, mode & 07777, ctx->uid, ctx->gid, &n);
	err = entry_of_new(fs, dir, err, &n, &e);
	if (err < 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_entry(req, &e) < 0)
		inode_forget(fs->inodes, e.ino, 1);
}

void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	auto_inode struct inode *dir = inode_get(fs->inodes, parent);
	struct fuse_entry_param e;
	struct node n;
	int err = check_dir(dir, name);

	if (!err)
		err = session_symlink(dir->view, dir->id, name, target, ctx->uid, ctx->gid, &n);
	err = entry_of_new(fs, dir, err, &n, &e);
	if (err < 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_entry(req, &e) < 0)
		inode_forget(fs->inodes, e.ino, 1);
}

void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct fs *fs = fs_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	auto_inode struct inode *dir = inode_get(fs->inodes, parent);
	struct fuse_entry_param e;
	struct node n;
	int err = check_dir(dir, name);

	(void)rdev;
	if (!err && !S_ISREG(mode))
		err = -EPERM;
	if (!err)
		err = session_create(dir->view, dir->id, name, mode & 07777, ctx->uid, ctx->gid,
				     &n);
	err = entry_of_new(fs, dir, err, &n, &e);
	if (err < 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_entry(req, &e) < 0)
		inode_forget(fs->inodes, e.ino, 1);
}

/*
 * Not left out: kernels before 6.14 would hand ENOSYS through, which no program expects of link(2).
 */
void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}

void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	auto_inode struct inode *dir = inode_get(fs_of(req)->inodes, parent);
	int err = check_dir(dir, name);

	if (!err)
		err = session_unlink(dir->view, dir->id, name);
	fuse_reply_err(req, -err);
}

void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	auto_inode struct inode *dir = inode_get(fs_of(req)->inodes, parent);
	int err = check_dir(dir, name);

	if (!err)
		err = session_rmdir(dir->view, dir->id, name);
	fuse_reply_err(req, -err);
}

/*
 * Between two views nothing can be moved. EXDEV makes programs copy and remove instead, which is
 * right between two sessions and of no use where the removal or the copy is bound to fail.
 */
static int check_views(const struct inode *from, const struct inode *to)
{
	if (!view_is_writable(from->view) || !view_is_writable(to->view))
		return -EROFS;
	return from->view == to->view ? 0 : -EXDEV;
}

void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
	       const char *to_name, unsigned int flags)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *from = inode_get(fs->inodes, parent);
	auto_inode struct inode *to = inode_get(fs->inodes, to_parent);
	int err = check_dir(from, name);

	if (!err)
		err = check_dir(to, to_name);
	if (!err)
		err = check_views(from, to);
	if (!err && flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		err = -EINVAL;
	if (!err)
		err = session_rename(from->view, from->id, name, to->id, to_name, flags);
	fuse_reply_err(req, -err);
}
