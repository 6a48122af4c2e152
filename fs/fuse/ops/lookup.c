/* SPDX-License-Identifier: MIT */
/* LOOKUP and FORGET. Layer: fuse. */
#include "fuse/ops/handlers.h"

#include "fuse/control/control.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>
#include <string.h>

static bool is_control_root(const struct inode *dir, const char *name)
{
	return dir->nodeid == NODEID_ROOT && strcmp(name, CONTROL_ROOT_NAME) == 0;
}

static int lookup(struct fs *fs, const struct inode *dir, const char *name,
		  struct fuse_entry_param *out)
{
	int err = object_name_check(name);

	if (err < 0)
		return err;
	if (is_control_root(dir, name)) {
		control_root_entry(fs, out);
		return 0;
	}
	return dir->type->lookup ? dir->type->lookup(fs, dir, name, out) : -ENOTDIR;
}

void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *dir = inode_get(fs->inodes, parent);
	struct fuse_entry_param e;
	int err = dir ? lookup(fs, dir, name, &e) : -ESTALE;

	if (err < 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_entry(req, &e) < 0 && e.ino)
		inode_forget(fs->inodes, e.ino, 1);
}

void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	inode_forget(fs_of(req)->inodes, ino, lookups);
	fuse_reply_none(req);
}

void fs_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		inode_forget(fs_of(req)->inodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}
