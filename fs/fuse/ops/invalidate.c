/* SPDX-License-Identifier: MIT */
/*
 * Making the kernel forget: core's notifier thread calls these while a commit becomes visible.
 * Layer: fuse.
 *
 * FUSE_NOTIFY_INVAL_ENTRY waits for the parent directory's lock, so a lookup that is being answered
 * is over, and its dentry made, when the name is dropped: nothing older stays behind. It is never
 * called from a handler, which the holder of that lock may be waiting for. Errors mean that there
 * was nothing to drop.
 */
#include "fuse/ops/invalidate.h"

#include "base/cleanup.h"
#include "core/core.h"
#include "fuse/control/control.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"

#include <string.h>

static void drop_name(void *arg, int64_t dir, const char *name)
{
	struct fs *fs = arg;
	struct fuse_session *se = atomic_load(&fs->session);
	auto_free uint64_t *nodeids = NULL;
	int n = se ? inode_of_dir(fs->inodes, dir, &nodeids) : 0;

	for (int i = 0; i < n; i++) {
		metric_add(&fs->counters.dropped[DROPPED_NAME], 1);
		fuse_lowlevel_notify_inval_entry(se, nodeids[i], name, strlen(name));
	}
}

static void drop_dir(void *arg, int64_t dir)
{
	struct fs *fs = arg;
	struct fuse_session *se = atomic_load(&fs->session);
	auto_free uint64_t *nodeids = NULL;
	int n = se ? inode_of_dir(fs->inodes, dir, &nodeids) : 0;

	for (int i = 0; i < n; i++) {
		metric_add(&fs->counters.dropped[DROPPED_DIR], 1);
		fuse_lowlevel_notify_inval_inode(se, nodeids[i], 0, 0);
	}
}

static void drop_session(void *arg, const char *id)
{
	struct fs *fs = arg;
	struct fuse_session *se = atomic_load(&fs->session);

	if (!se)
		return;
	metric_add(&fs->counters.dropped[DROPPED_SESSION], 1);
	fuse_lowlevel_notify_inval_entry(se, control_sessions_nodeid(), id, strlen(id));
}

/*
 * Letting go of pages has the kernel write the changed ones back first, and unmap them: a later
 * store faults anew.
 */
static void flush_file(void *arg, const struct view *v, int64_t id)
{
	struct fs *fs = arg;
	struct fuse_session *se = atomic_load(&fs->session);
	uint64_t nodeid = se ? inode_find(fs->inodes, v, &object_file, id) : 0;

	if (!nodeid)
		return;
	metric_add(&fs->counters.dropped[DROPPED_PAGES], 1);
	fuse_lowlevel_notify_inval_inode(se, nodeid, 0, 0);
}

void invalidate_hooks(struct fs *fs, struct kernel_hooks *out)
{
	*out = (struct kernel_hooks){ .arg = fs,
				      .drop_name = drop_name,
				      .drop_dir = drop_dir,
				      .drop_session = drop_session,
				      .flush_file = flush_file };
}
