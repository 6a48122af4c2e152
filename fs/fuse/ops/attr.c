/* SPDX-License-Identifier: MIT */
/* Attributes: GETATTR, SETATTR, READLINK, STATFS. Layer: fuse. */
#include "fuse/ops/attr.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/core.h"
#include "core/publish/salvage.h"
#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/control/control.h"
#include "fuse/ops/copy_wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

static const struct {
	mode_t type;
	blksize_t blksize;
} shapes[] = {
	[ENTRY_FILE] = { S_IFREG, 128 * 1024 },
	[ENTRY_DIR] = { S_IFDIR, 4096 },
	[ENTRY_SYMLINK] = { S_IFLNK, 4096 },
};

static struct timespec time_of(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (ts.tv_nsec < 0) {
		ts.tv_sec--;
		ts.tv_nsec += NS_PER_S;
	}
	return ts;
}

/* Saturates: the store's times end in the year 2262. */
static int64_t ns_of(struct timespec ts)
{
	int64_t ns;

	if (__builtin_mul_overflow(ts.tv_sec, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, ts.tv_nsec, &ns))
		return ts.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void attr_fill(const struct node *n, struct stat *out)
{
	memset(out, 0, sizeof(*out));
	out->st_ino = n->ino;
	out->st_mode = shapes[n->kind].type | n->mode;
	out->st_nlink = 1;
	out->st_uid = n->uid;
	out->st_gid = n->gid;
	out->st_size = n->size;
	out->st_blocks = n->blocks;
	out->st_blksize = shapes[n->kind].blksize;
	out->st_mtim = time_of(n->mtime);
	out->st_ctim = time_of(n->ctime);
	out->st_atim = out->st_mtim;
}

double attr_timeout(const struct node *n)
{
	return n->cacheable ? CACHE_FOREVER : 0;
}

int attr_entry(struct fs *fs, struct view *view, const struct node *n, struct fuse_entry_param *out)
{
	uint64_t nodeid;
	int err = inode_learn(fs->inodes, view, inode_kind_of(n->kind), n->id, &nodeid);

	if (err < 0)
		return err;
	memset(out, 0, sizeof(*out));
	out->ino = nodeid;
	attr_fill(n, &out->attr);
	out->attr_timeout = out->entry_timeout = attr_timeout(n);
	return 0;
}

int attr_of_view(struct view *view, enum entry_kind kind, int64_t id, struct node *out)
{
	int err = view_getattr(view, kind, id, out);

	if (err < 0)
		return err;
	if (kind == ENTRY_DIR && id == VIEW_ROOT_DIR && view_is_writable(view))
		err = session_owner(view, &out->uid, &out->gid, &out->mode);
	return err;
}

int attr_of_inode(struct fs *fs, const struct inode *inode, struct node *out)
{
	switch (inode->kind) {
	case INODE_FILE:
	case INODE_DIR:
	case INODE_SYMLINK:
		return attr_of_view(inode->view, inode_entry_kind(inode), inode->id, out);
	case INODE_CONTROL:
		return control_attr(fs, (int)inode->id, out);
	case INODE_CTL:
	case INODE_EVENTS:
	case INODE_REPORT:
		return control_stream_attr(fs, inode, out);
	case INODE_REJECT:
		return salvage_lookup(fs->core, inode->id, out);
	}
	return -ESTALE;
}

void attr_remember(struct fs *fs, struct inode *inode)
{
	struct node *n, *none = NULL;

	if (inode->kind != INODE_REJECT &&
	    (inode->kind != INODE_FILE || !view_is_uncached(inode->view)))
		return;
	if (atomic_load(&inode->opened) || !(n = malloc(sizeof(*n))))
		return;
	if (attr_of_inode(fs, inode, n) < 0 ||
	    !atomic_compare_exchange_strong(&inode->opened, &none, n))
		free(n);
}

/* Of what cannot be found by a name any more, so only a descriptor can ask. */
static bool attr_of_opened(struct inode *inode, struct node *out)
{
	const struct node *n = atomic_load(&inode->opened);

	if (n)
		*out = *n;
	return n;
}

void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = inode_get(fs->inodes, ino);
	struct node n;
	struct stat st;
	int err = inode ? attr_of_inode(fs, inode, &n) : -ESTALE;

	(void)fi;
	if ((err == -ENOENT || err == -ESTALE) && inode && attr_of_opened(inode, &n))
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

static int setattr(struct fs *fs, const struct inode *inode, const struct node_change *ch,
		   uint32_t uid, struct node *out)
{
	if (!ch->set)
		return attr_of_inode(fs, inode, out);
	switch (inode->kind) {
	case INODE_FILE:
	case INODE_DIR:
	case INODE_SYMLINK: {
		int err = session_setattr(inode->view, inode_entry_kind(inode), inode->id, ch, uid,
					  out);

		/* Of a session's root, what its owner sees is not what was set. */
		return err < 0 ? err : attr_of_inode(fs, inode, out);
	}
	case INODE_CTL:
	case INODE_EVENTS:
		/* `>` truncates and `touch` touches: neither means anything to a stream. */
		if (ch->set & ~(unsigned int)(NODE_SIZE | NODE_MTIME))
			return -EPERM;
		return attr_of_inode(fs, inode, out);
	case INODE_CONTROL:
	case INODE_REJECT:
	case INODE_REPORT:
		return -EPERM;
	}
	return -ESTALE;
}

/* 0: to go on. 1: the request is parked, see copy_wait.h. */
static int prepare_size(fuse_req_t req, struct inode *inode, const struct node_change *ch)
{
	struct copy_wait *w;

	if (!(ch->set & NODE_SIZE) || inode->kind != INODE_FILE)
		return 0;
	w = copy_wait_new(req, inode);
	if (!w)
		return -ENOMEM;
	return copy_wait_begun(w, session_prepare_size(inode->view, inode->id, ch->size,
						       copy_wait_done, w));
}

void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = inode_get(fs->inodes, ino);
	struct node_change ch = change_of(attr, to_set);
	struct node n;
	struct stat st;
	int err = inode ? prepare_size(req, inode, &ch) : -ESTALE;

	(void)fi;
	if (err == 1)
		return;
	if (!err)
		err = setattr(fs, inode, &ch, fuse_req_ctx(req)->uid, &n);
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
	int err = inode && inode->kind == INODE_SYMLINK ?
			  view_readlink(inode->view, inode->id, &target) :
			  -EINVAL;

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
