/* SPDX-License-Identifier: MIT */
/* .fence/versions/PATH/N: version N of a path; the root of a view of its own. Layer: fuse. */
#include "core/view/snapshot.h"
#include "fuse/control/control_file.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"

static int versions_entry(struct fs *fs, const struct control_file *f, uint64_t nodeid,
			  struct fuse_entry_param *out)
{
	(void)f;
	(void)nodeid;
	return object_root_entry(fs, versions_view(fs->core), out);
}

static const struct inode_type versions_type = { .kind = ENTRY_DIR, .mode = 0755 };

const struct control_file versions_dir = { "versions", &versions_type, versions_entry };
