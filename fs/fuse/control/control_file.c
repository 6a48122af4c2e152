/* SPDX-License-Identifier: MIT */
/* What the files of .fence have in common. Layer: fuse. */
#include "fuse/control/control_file.h"

#include "fuse/state/attr.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"

#include <errno.h>

/* Above every st_ino that a store gives out. */
#define CONTROL_INO (UINT64_C(1) << 62)

void control_file_node(struct fs *fs, const struct inode_type *type, uint64_t nodeid,
		       struct node *out)
{
	control_file_listed(fs, type->kind, type->mode, out);
	out->ino = CONTROL_INO | nodeid;
}

void control_file_listed(struct fs *fs, enum entry_kind kind, uint32_t mode, struct node *out)
{
	*out = (struct node){ .ino = CONTROL_INO | CONTROL_NODEID_UNKNOWN,
			      .kind = kind,
			      .mode = mode,
			      .uid = fs->uid,
			      .gid = fs->gid,
			      .mtime = fs->started,
			      .ctime = fs->started,
			      .cacheable = true };
}

int control_file_attr(struct fs *fs, const struct inode *inode, struct node *out)
{
	control_file_node(fs, inode->type, inode->nodeid, out);
	return 0;
}

/* `>` truncates and `touch` touches: neither means anything to a stream. */
int control_file_setattr(fuse_req_t req, struct inode *inode, const struct node_change *ch,
			 struct node *out)
{
	if (ch->set & ~(unsigned int)(NODE_SIZE | NODE_MTIME))
		return -EPERM;
	return control_file_attr(fs_of(req), inode, out);
}

int control_file_fixed(struct fs *fs, const struct control_file *f, uint64_t nodeid,
		       struct fuse_entry_param *out)
{
	struct node n;

	control_file_node(fs, f->type, nodeid, &n);
	attr_entry(&n, nodeid, out);
	return 0;
}

int control_file_fresh(struct fs *fs, const struct control_file *f, uint64_t nodeid,
		       struct fuse_entry_param *out)
{
	uint64_t fresh;
	struct node n;
	int err = inode_learn_fresh(fs->inodes, f->type, &fresh);

	(void)nodeid;
	if (err < 0)
		return err;
	control_file_node(fs, f->type, fresh, &n);
	attr_entry(&n, fresh, out);
	/* The entry expires at once, so the next lookup comes here again. */
	out->entry_timeout = 0;
	return 0;
}

int control_file_number(const char *name, int64_t *out)
{
	int64_t n = 0;

	if (!*name || (*name == '0' && name[1]))
		return -ENOENT;
	for (; *name; name++)
		if (*name < '0' || *name > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *name - '0', &n))
			return -ENOENT;
	*out = n;
	return 0;
}
