/* SPDX-License-Identifier: MIT */
/* Attributes: GETATTR, SETATTR, READLINK, STATFS. Layer: fuse. */
#include "fuse/ops/handlers.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "core/core.h"
#include "fuse/state/attr.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_opened.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>

#define NS_PER_S INT64_C(1000000000)

/* Saturates: the store's times end in the year 2262. */
static int64_t ns_of(struct timespec ts)
{
	int64_t ns;

	if (__builtin_mul_overflow(ts.tv_sec, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, ts.tv_nsec, &ns))
		return ts.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = inode_get(fs->inodes, ino);
	struct node n;
	struct stat st;
	int err = inode ? inode->type->attr(fs, inode, &n) : -ESTALE;

	(void)fi;
	if ((err == -ENOENT || err == -ESTALE) && inode && inode_opened_attr(inode, &n))
		err = 0;
	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	attr_fill(&n, &st);
	fuse_reply_attr(req, &st, attr_timeout(&n));
}

/* Access times are not kept, and change times are core's to set. */
static struct node_change change_of(const struct stat *attr, int to_set)
{
	struct node_change ch = { .mode = attr->st_mode & 07777,
				  .uid = attr->st_uid,
				  .gid = attr->st_gid,
				  .size = attr->st_size };

	if (to_set & FUSE_SET_ATTR_MODE)
		ch.set |= NODE_MODE;
	if (to_set & FUSE_SET_ATTR_UID)
		ch.set |= NODE_UID;
	if (to_set & FUSE_SET_ATTR_GID)
		ch.set |= NODE_GID;
	if (to_set & FUSE_SET_ATTR_SIZE)
		ch.set |= NODE_SIZE;
	if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) {
		ch.set |= NODE_MTIME;
		ch.mtime = to_set & FUSE_SET_ATTR_MTIME_NOW ? io_now_ns() : ns_of(attr->st_mtim);
	}
	return ch;
}

static int setattr(fuse_req_t req, struct inode *inode, const struct node_change *ch,
		   struct node *out)
{
	if (!ch->set)
		return inode->type->attr(fs_of(req), inode, out);
	return inode->type->setattr ? inode->type->setattr(req, inode, ch, out) : -EPERM;
}

void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	struct node_change ch = change_of(attr, to_set);
	struct node n;
	struct stat st;
	int err = inode ? setattr(req, inode, &ch, &n) : -ESTALE;

	(void)fi;
	if (err == 1) /* parked */
		return;
	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	attr_fill(&n, &st);
	fuse_reply_attr(req, &st, attr_timeout(&n));
}

void fs_readlink(fuse_req_t req, fuse_ino_t ino)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	auto_free char *target = NULL;
	int err = inode && inode->type->readlink ? inode->type->readlink(inode, &target) : -EINVAL;

	if (err < 0)
		fuse_reply_err(req, -err);
	else
		fuse_reply_readlink(req, target);
}

void fs_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;
	int err = core_statvfs(fs_of(req)->core, &st);

	(void)ino;
	if (err < 0) {
		fuse_reply_err(req, -err);
		return;
	}
	st.f_namemax = FENCE_NAME_MAX;
	fuse_reply_statfs(req, &st);
}
