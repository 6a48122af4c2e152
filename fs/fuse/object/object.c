/* SPDX-License-Identifier: MIT */
/* What can be done with an object of a view; how files are opened: object_file.h. Layer: fuse. */
#include "fuse/object/object.h"

#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/object/copy_wait.h"
#include "fuse/object/object_file.h"
#include "fuse/state/attr.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>
#include <string.h>

/* The root of a session's view is its owner's alone. */
static int attr_in_view(struct view *view, enum entry_kind kind, int64_t id, struct node *out)
{
	int err = view_getattr(view, kind, id, out);

	if (err < 0)
		return err;
	if (kind == ENTRY_DIR && id == VIEW_ROOT_DIR && view_is_writable(view))
		err = session_owner(view, &out->uid, &out->gid, &out->mode);
	return err;
}

static int object_attr(struct fs *fs, const struct inode *inode, struct node *out)
{
	(void)fs;
	return attr_in_view(inode->view, inode->type->kind, inode->id, out);
}

static int object_setattr(fuse_req_t req, struct inode *inode, const struct node_change *ch,
			  struct node *out)
{
	int err = session_setattr(inode->view, inode->type->kind, inode->id, ch,
				  fuse_req_ctx(req)->uid, out);

	/* Of a session's root, what its owner sees is not what was set. */
	return err < 0 ? err : object_attr(fs_of(req), inode, out);
}

/* 0: to go on. 1: the request is parked, see copy_wait.h. */
static int prepare_size(fuse_req_t req, struct inode *inode, const struct node_change *ch)
{
	struct copy_wait *w;

	if (!(ch->set & NODE_SIZE))
		return 0;
	w = copy_wait_new(req, inode);
	if (!w)
		return -ENOMEM;
	return copy_wait_begun(w, session_prepare_size(inode->view, inode->id, ch->size,
						       copy_wait_done, w));
}

static int file_setattr(fuse_req_t req, struct inode *inode, const struct node_change *ch,
			struct node *out)
{
	int err = prepare_size(req, inode, ch);

	return err ? err : object_setattr(req, inode, ch, out);
}

static int symlink_read(const struct inode *inode, char **out)
{
	return view_readlink(inode->view, inode->id, out);
}

static int dir_lookup(struct fs *fs, const struct inode *dir, const char *name,
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
	return err < 0 ? err : object_entry(fs, dir->view, &n, out);
}

const struct inode_type object_file = {
	.kind = ENTRY_FILE,
	.attr = object_attr,
	.setattr = file_setattr,
	.open = object_file_open,
};

const struct inode_type object_dir = {
	.kind = ENTRY_DIR,
	.attr = object_attr,
	.setattr = object_setattr,
	.lookup = dir_lookup,
};

const struct inode_type object_symlink = {
	.kind = ENTRY_SYMLINK,
	.attr = object_attr,
	.setattr = object_setattr,
	.readlink = symlink_read,
};

int object_entry(struct fs *fs, struct view *view, const struct node *n,
		 struct fuse_entry_param *out)
{
	static const struct inode_type *const types[] = {
		[ENTRY_FILE] = &object_file,
		[ENTRY_DIR] = &object_dir,
		[ENTRY_SYMLINK] = &object_symlink,
	};
	uint64_t nodeid;
	int err = inode_learn(fs->inodes, view, types[n->kind], n->id, &nodeid);

	if (err < 0)
		return err;
	attr_entry(n, nodeid, out);
	return 0;
}

int object_root_entry(struct fs *fs, struct view *view, struct fuse_entry_param *out)
{
	struct node n;
	int err = attr_in_view(view, ENTRY_DIR, VIEW_ROOT_DIR, &n);

	return err < 0 ? err : object_entry(fs, view, &n, out);
}

int object_name_check(const char *name)
{
	return strnlen(name, FENCE_NAME_MAX + 1) > FENCE_NAME_MAX ? -ENAMETOOLONG : 0;
}
