/* SPDX-License-Identifier: MIT */
/* LOOKUP and FORGET. Layer: fuse. */
#include "fuse/ops/lookup.h"

#include "core/view/view.h"
#include "fuse/ops/attr.h"
#include "fuse/control/control.h"

#include <errno.h>
#include <string.h>

static bool is_control_root(const struct inode *dir, const char *name)
{
	return dir->nodeid == NODEID_ROOT && strcmp(name, CONTROL_ROOT_NAME) == 0;
}

static int lookup_in_view(struct fs *fs, const struct inode *dir, const char *name,
			  struct fuse_entry_param *out)
{
	struct node n;
	bool absence = false;
	int err = view_lookup(dir->view, dir->id, name, &n, &absence);

	if (err == -ENOENT && absence) {
		/* An entry without an inode: the kernel remembers that there is none. */
		*out = (struct fuse_entry_param){ .entry_timeout = CACHE_FOREVER };
		return 0;
	}
	return err < 0 ? err : attr_entry(fs, dir->view, &n, out);
}

static int lookup(struct fs *fs, const struct inode *dir, const char *name,
		  struct fuse_entry_param *out)
{
	int err = name_check(name);

	if (err < 0)
		return err;
	if (is_control_root(dir, name))
		return control_entry(fs, CONTROL_ROOT, out);
	if (dir->kind == INODE_DIR)
		return lookup_in_view(fs, dir, name, out);
	if (dir->kind == INODE_CONTROL)
		return control_lookup(fs, (int)dir->id, name, out);
	return -ENOTDIR;
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
