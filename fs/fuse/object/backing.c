/* SPDX-License-Identifier: MIT */
/*
 * Passthrough, inode by inode. Layer: fuse.
 *
 * The kernel (6.18, fs/fuse/iomode.c) fails an open with EIO
 * - if it names another backing file than the one that the inode has open already;
 * - if it asks for passthrough while the inode is open through the page cache, or the reverse. So
 *   the first open of an inode decides, all later ones share its backing id, and that id is closed
 *   with the last handle. The kernel lets go of the backing file before it sends the last RELEASE:
 *   a new id is never too early.
 */
#include "fuse/object/backing.h"

#include "base/log.h"
#include "core/core.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table_impl.h"

const char *backing_features(const struct fs *fs)
{
	static const char *const names[2][2] = { { "", "io_uring" },
						 { "passthrough", "passthrough,io_uring" } };

	return names[atomic_load(&fs->passthrough)][atomic_load(&fs->uring)];
}

/*
 * The id, or 0. The first refusal ends it: whatever the reason, it holds for every file of this
 * mount.
 */
static int32_t register_fd(struct fs *fs, fuse_req_t req, int fd)
{
	int id;

	if (!atomic_load(&fs->passthrough))
		return 0;
	id = fuse_passthrough_open(req, fd);
	if (id > 0)
		return id;
	if (atomic_exchange(&fs->passthrough, false)) {
		log_warning("the kernel refuses passthrough: file contents go through the daemon");
		core_set_features(fs->core, backing_features(fs));
	}
	return 0;
}

int backing_open(struct fs *fs, fuse_req_t req, struct inode *inode, int fd)
{
	struct inode_table *t = inode->table;
	int32_t id;

	lock_take(&t->lock);
	while (inode->backing == BACKING_DECIDING)
		lock_wait(&t->lock, &t->decided);
	inode->opens++;
	if (inode->backing == BACKING_DECIDED) {
		id = inode->backing_id;
		lock_drop(&t->lock);
		return id;
	}
	inode->backing = BACKING_DECIDING;
	lock_drop(&t->lock);

	id = register_fd(fs, req, fd);

	lock_take(&t->lock);
	inode->backing_id = id;
	inode->backing = BACKING_DECIDED;
	pthread_cond_broadcast(&t->decided);
	lock_drop(&t->lock);
	return id;
}

void backing_close(fuse_req_t req, struct inode *inode)
{
	struct inode_table *t = inode->table;
	int32_t id = 0;

	lock_take(&t->lock);
	if (--inode->opens == 0) {
		id = inode->backing_id;
		inode->backing_id = 0;
		inode->backing = BACKING_NONE;
	}
	lock_drop(&t->lock);
	if (id > 0)
		fuse_passthrough_close(req, id);
}
