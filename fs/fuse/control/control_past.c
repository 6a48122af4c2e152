/* SPDX-License-Identifier: MIT */
/* .fence/at/REV and .fence/versions/PATH/N. Layer: fuse. */
#include "fuse/control/control_past.h"

#include "base/cleanup.h"
#include "core/view/snapshot.h"
#include "core/view/view.h"
#include "fuse/ops/attr.h"

#include <errno.h>
#include <stdio.h>

static int root_of(struct fs *fs, struct view *view, struct fuse_entry_param *out)
{
	struct node n;
	int err = attr_of_view(view, ENTRY_DIR, VIEW_ROOT_DIR, &n);

	return err ? err : attr_entry(fs, view, &n, out);
}

int at_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out)
{
	int64_t rev = control_parse_number(name);
	struct view *view;
	int err;

	if (rev < 0)
		return -ENOENT;
	err = snapshot_at(fs->core, rev, &view);
	if (err < 0)
		return err;
	err = root_of(fs, view, out);
	view_put(view);
	return err;
}

/* Every revision can be entered; only the newest is listed. */
int at_next(struct fs *fs, struct control_listing *l, int64_t off, struct named_node *out,
	    int64_t *out_next)
{
	(void)l;
	if (off > 0)
		return 0;
	*out_next = 1;
	snprintf(out->name, sizeof(out->name), "%lld", (long long)snapshot_newest(fs->core));
	control_fill(fs, ENTRY_DIR, 0755, UINT32_MAX, &out->node);
	return 1;
}

int versions_entry(struct fs *fs, struct fuse_entry_param *out)
{
	return root_of(fs, versions_view(fs->core), out);
}
