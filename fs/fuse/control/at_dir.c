/* SPDX-License-Identifier: MIT */
/* .fence/at/REV: the whole tree at a revision, a view for each. Layer: fuse. */
#include "core/view/snapshot.h"
#include "core/view/view.h"
#include "fuse/control/control_file.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"

#include <stdio.h>

static int at_lookup(struct fs *fs, const struct inode *dir, const char *name,
		     struct fuse_entry_param *out)
{
	int64_t rev;
	struct view *view;
	int err = control_file_number(name, &rev);

	(void)dir;
	if (!err)
		err = snapshot_at(fs->core, rev, &view);
	if (err < 0)
		return err;
	err = object_root_entry(fs, view, out);
	view_put(view);
	return err;
}

/* Every revision can be entered; only the newest is listed. */
static int at_next(struct fs *fs, void **state, int64_t off, struct named_node *out,
		   int64_t *out_next)
{
	(void)state;
	if (off > 0)
		return 0;
	snprintf(out->name, sizeof(out->name), "%lld", (long long)snapshot_newest(fs->core));
	control_file_listed(fs, ENTRY_DIR, 0755, &out->node);
	*out_next = 1;
	return 1;
}

static const struct inode_type at_type = {
	.kind = ENTRY_DIR,
	.mode = 0755,
	.attr = control_file_attr,
	.lookup = at_lookup,
	.next = at_next,
};

const struct control_file at_dir = { "at", &at_type, control_file_fixed };
