/* SPDX-License-Identifier: MIT */
/* The table of handlers, and what is agreed with the kernel at INIT. Layer: fuse. */
#include "fuse/ops/fs_ops.h"

#include "base/io.h"
#include "base/log.h"
#include "core/core.h"
#include "fuse/control/control.h"
#include "fuse/mount/watchdog.h"
#include "fuse/object/backing.h"
#include "fuse/object/object.h"
#include "fuse/ops/handlers.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/inode_table.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_WRITE      (1024 * 1024)
#define MAX_BACKGROUND 64

int fs_new(struct fs **out)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	int err;

	if (!fs)
		return -ENOMEM;
	err = handle_list_new(&fs->handles);
	if (err < 0) {
		free(fs);
		return err;
	}
	fs->uid = getuid();
	fs->gid = getgid();
	fs->started = io_now_ns();
	*out = fs;
	return 0;
}

int fs_attach(struct fs *fs, struct core *core)
{
	int err = inode_table_new(core_live_view(core), &object_dir, &fs->inodes);

	if (err < 0)
		return err;
	fs->core = core;
	control_attach(fs);
	return 0;
}

void fs_detach(struct fs *fs)
{
	handle_list_free(fs->handles);
	fs->handles = NULL;
	if (fs->inodes)
		inode_table_free(fs->inodes);
	fs->inodes = NULL;
}

void fs_free(struct fs *fs)
{
	if (fs->handles)
		handle_list_free(fs->handles);
	free(fs);
}

/*
 * Asked for:
 *  EXPLICIT_INVAL_DATA, not AUTO_INVAL_DATA: content under a nodeid changes through this kernel
 *    only, so a new mtime is no reason to drop pages;
 *  HANDLE_KILLPRIV_V2: core clears suid and sgid when a file is opened for writing; without this
 *    each write(2) would ask for security.capability (it makes the kernel set SB_NOSEC);
 *  SPLICE_WRITE, not SPLICE_READ: where content is not passed through, reads get a third faster and
 *    writes do not, while each small request would take one more system call;
 *  no POSIX or BSD locks: the kernel keeps them itself, which is all that one machine needs;
 *  no WRITEBACK_CACHE: it excludes passthrough, and content would change after FLUSH.
 */
static void fs_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	fuse_unset_feature_flag(conn, FUSE_CAP_AUTO_INVAL_DATA);
	fuse_set_feature_flag(conn, FUSE_CAP_EXPLICIT_INVAL_DATA);
	fuse_set_feature_flag(conn, FUSE_CAP_PARALLEL_DIROPS);
	fuse_set_feature_flag(conn, FUSE_CAP_CACHE_SYMLINKS);
	fuse_set_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV_V2);
	fuse_unset_feature_flag(conn, FUSE_CAP_SPLICE_READ);
	fuse_set_feature_flag(conn, FUSE_CAP_SPLICE_WRITE);
	if (fs->want_passthrough && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH)) {
		/* The store may lie on overlayfs, as in a container. */
		conn->max_backing_stack_depth = FUSE_BACKING_STACKED_OVER;
		atomic_store(&fs->passthrough, true);
	}
#ifdef FUSE_CAP_OVER_IO_URING /* libfuse 3.18 */
	atomic_store(&fs->uring, fs->want_uring && conn->capable_ext & FUSE_CAP_OVER_IO_URING);
#endif
	conn->max_write = MAX_WRITE;
	conn->max_background = MAX_BACKGROUND;
	conn->time_gran = 1;
	core_set_features(fs->core, backing_features(fs));
	if (fs->ready)
		fs->ready(fs->ready_arg);
	watchdog_start(&fs->watchdog, fs->core);
}

/*
 * Left out, so that libfuse answers ENOSYS and the kernel does not ask again:
 *  fsync, fsyncdir: succeed without us; nothing is durable before commit, and commit makes all of
 *    it durable;
 *  access: default_permissions; getlk, setlk, flock: see above; tmpfile: EOPNOTSUPP; ioctl: ENOTTY.
 */
const struct fuse_lowlevel_ops fs_ops = {
	.init = fs_init,
	.lookup = fs_lookup,
	.forget = fs_forget,
	.forget_multi = fs_forget_multi,
	.getattr = fs_getattr,
	.setattr = fs_setattr,
	.readlink = fs_readlink,
	.statfs = fs_statfs,
	.mknod = fs_mknod,
	.mkdir = fs_mkdir,
	.symlink = fs_symlink,
	.link = fs_link,
	.unlink = fs_unlink,
	.rmdir = fs_rmdir,
	.rename = fs_rename,
	.create = fs_create,
	.open = fs_open,
	.read = fs_read,
	.write_buf = fs_write_buf,
	.flush = fs_flush,
	.release = fs_release,
	.fallocate = fs_fallocate,
	.lseek = fs_lseek,
	.poll = fs_poll,
	.copy_file_range = fs_copy_file_range,
	.opendir = fs_opendir,
	.readdir = fs_readdir,
	.readdirplus = fs_readdirplus,
	.releasedir = fs_release,
	.getxattr = fs_getxattr,
	.setxattr = fs_setxattr,
	.listxattr = fs_listxattr,
	.removexattr = fs_removexattr,
};
