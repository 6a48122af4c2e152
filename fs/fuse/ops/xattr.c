/* SPDX-License-Identifier: MIT */
/* Extended attributes: those of user.* only. Layer: fuse. */
#include "fuse/ops/handlers.h"

#include "base/cleanup.h"
#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>
#include <string.h>

/*
 * What an object of a view is asked for. The kernel asks for security.capability of each inode that
 * is written (once, because HANDLE_KILLPRIV_V2 is on), and programs ask for ACLs and labels:
 * answered here, core is not troubled.
 */
static int check_name(const struct inode *inode, const char *name)
{
	if (!inode)
		return -ESTALE;
	if (strncmp(name, "security.", 9) == 0)
		return -ENODATA;
	if (strncmp(name, "user.", 5) != 0)
		return -EOPNOTSUPP;
	return inode->view ? 0 : -ENODATA;
}

static int check_change(const struct inode *inode, const char *name)
{
	int err = check_name(inode, name);

	/* There is no such attribute, and there will not be one. */
	return err == -ENODATA ? -EOPNOTSUPP : err;
}

static int getxattr(const struct inode *inode, const char *name, void **out, size_t *out_len)
{
	int err = check_name(inode, name);

	return err < 0 ?
		       err :
		       view_getxattr(inode->view, inode->type->kind, inode->id, name, out, out_len);
}

void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	auto_free void *value = NULL;
	size_t len = 0;
	int err = getxattr(inode, name, &value, &len);

	if (err < 0)
		fuse_reply_err(req, -err);
	else if (size == 0)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value, len);
}

static int listxattr(const struct inode *inode, char **out, size_t *out_len)
{
	if (!inode)
		return -ESTALE;
	if (!inode->view)
		return 0;
	return view_listxattr(inode->view, inode->type->kind, inode->id, out, out_len);
}

void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	auto_free char *names = NULL;
	size_t len = 0;
	int err = listxattr(inode, &names, &len);

	if (err < 0)
		fuse_reply_err(req, -err);
	else if (size == 0)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, names, len);
}

void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	int err = check_change(inode, name);

	if (!err)
		err = session_setxattr(inode->view, inode->type->kind, inode->id, name, value, size,
				       flags);
	fuse_reply_err(req, -err);
}

void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	auto_inode struct inode *inode = inode_get(fs_of(req)->inodes, ino);
	int err = check_change(inode, name);

	if (!err)
		err = session_removexattr(inode->view, inode->type->kind, inode->id, name);
	fuse_reply_err(req, -err);
}
