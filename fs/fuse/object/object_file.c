/* SPDX-License-Identifier: MIT */
/*
 * Opening the files of a view. Layer: fuse.
 *
 * ESTALE from OPEN, CREATE and SETATTR makes the kernel walk the path once more with LOOKUP_REVAL,
 * in which each component is looked up again; when that gives another nodeid, the old dentry is
 * dropped and the new inode is opened (Linux 6.18: do_filp_open(), do_sys_truncate(),
 * fuse_dentry_revalidate()). So a first write to an unmodified file arrives at the copy that core
 * has made for it meanwhile, with or without O_TRUNC or O_CREAT.
 */
#include "fuse/object/object_file.h"

#include "core/session/content.h"
#include "core/view/view.h"
#include "fuse/object/copy_wait.h"
#include "fuse/object/open_file.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_opened.h"

#include <errno.h>

static int open_content(fuse_req_t req, const struct inode *inode, int flags, struct copy_wait *w,
			struct content **out)
{
	bool passthrough = atomic_load(&fs_of(req)->passthrough);

	return content_open(inode->view, inode->id, flags, fuse_req_ctx(req)->uid, passthrough,
			    w ? copy_wait_done : NULL, w, out);
}

int object_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	bool may_wait = (fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC;
	struct copy_wait *w = may_wait ? copy_wait_new(req, inode) : NULL;
	struct content *content;
	int err;

	if (may_wait && !w)
		return -ENOMEM;
	err = open_content(req, inode, fi->flags, w, &content);
	if (w)
		err = copy_wait_begun(w, err);
	if (!err)
		err = open_file_new(req, inode, content, fi);
	if (!err && view_is_uncached(inode->view))
		inode_opened_keep(fs_of(req), inode);
	return err;
}

int object_file_open_new(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct content *content;
	int err = open_content(req, inode, fi->flags & ~O_TRUNC, NULL, &content);

	return err < 0 ? err : open_file_new(req, inode, content, fi);
}
