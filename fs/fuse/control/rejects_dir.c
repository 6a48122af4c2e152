/* SPDX-License-Identifier: MIT */
/* .fence/rejects/ID: what a refused writer had written, until gc's grace ends (P9). Layer: fuse. */
#include "core/publish/salvage.h"
#include "fuse/control/control_file.h"
#include "fuse/object/open_file.h"
#include "fuse/state/attr.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_opened.h"
#include "fuse/state/inode_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int reject_attr(struct fs *fs, const struct inode *inode, struct node *out)
{
	return salvage_lookup(fs->core, inode->id, out);
}

static int reject_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	struct content *content;
	int err = -EROFS;

	if ((fi->flags & O_ACCMODE) == O_RDONLY && !(fi->flags & O_TRUNC))
		err = salvage_open(fs->core, inode->id, &content);
	if (!err)
		err = open_file_new(req, inode, content, fi);
	if (!err)
		inode_opened_keep(fs, inode);
	return err;
}

static const struct inode_type reject_type = {
	.kind = ENTRY_FILE,
	.attr = reject_attr,
	.open = reject_open,
};

static int rejects_lookup(struct fs *fs, const struct inode *dir, const char *name,
			  struct fuse_entry_param *out)
{
	int64_t row;
	uint64_t nodeid;
	struct node n;
	int err = control_file_number(name, &row);

	(void)dir;
	if (!err)
		err = salvage_lookup(fs->core, row, &n);
	if (!err)
		err = inode_learn(fs->inodes, NULL, &reject_type, row, &nodeid);
	if (err < 0)
		return err;
	/* gc removes rejects without telling the kernel: the name is asked for each time. */
	*out = (struct fuse_entry_param){ .ino = nodeid };
	attr_fill(&n, &out->attr);
	return 0;
}

/* The offset after a row is its number. */
static int rejects_next(struct fs *fs, void **state, int64_t off, struct named_node *out,
			int64_t *out_next)
{
	int64_t row;
	int n = salvage_list(fs->core, off, &row, 1);

	(void)state;
	if (n <= 0)
		return n;
	snprintf(out->name, sizeof(out->name), "%lld", (long long)row);
	control_file_listed(fs, ENTRY_FILE, 0400, &out->node);
	*out_next = row;
	return 1;
}

/* 0711: as sessions_dir.c has it. */
static const struct inode_type rejects_type = {
	.kind = ENTRY_DIR,
	.mode = 0711,
	.attr = control_file_attr,
	.lookup = rejects_lookup,
	.next = rejects_next,
};

const struct control_file rejects_dir = { "rejects", &rejects_type, control_file_fixed };
