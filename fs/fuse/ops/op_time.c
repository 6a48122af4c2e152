/* SPDX-License-Identifier: MIT */
/*
 * How long handlers take. Layer: fuse.
 *
 * The clock is read twice for each request, which takes no system call. What is measured is the
 * time that a worker was busy with a request: one that waits is parked, and answered by somebody
 * else.
 */
#include "fuse/ops/op_time.h"

#include "base/io.h"
#include "fuse/ops/fs_ops.h"
#include "fuse/state/fs.h"

/* The request is gone when its handler returns: what is needed of it is taken before. */
#define TIMED(op, handler, params, args)                                                \
	static void timed_##handler params                                              \
	{                                                                               \
		struct fs *fs = fs_of(req);                                             \
		int64_t begin = io_boot_ns();                                           \
                                                                                        \
		watchdog_handler_begins(&fs->watchdog);                                 \
		fs_ops.handler args;                                                    \
		watchdog_handler_ends(&fs->watchdog);                                   \
		histogram_add(&fs->counters.op_time[FS_OP_##op], io_boot_ns() - begin); \
	}

TIMED(LOOKUP, lookup, (fuse_req_t req, fuse_ino_t dir, const char *name), (req, dir, name))
TIMED(GETATTR, getattr, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi), (req, ino, fi))
TIMED(SETATTR, setattr,
      (fuse_req_t req, fuse_ino_t ino, struct stat *st, int set, struct fuse_file_info *fi),
      (req, ino, st, set, fi))
TIMED(READLINK, readlink, (fuse_req_t req, fuse_ino_t ino), (req, ino))
TIMED(STATFS, statfs, (fuse_req_t req, fuse_ino_t ino), (req, ino))
TIMED(MKNOD, mknod, (fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, dev_t dev),
      (req, dir, name, mode, dev))
TIMED(MKDIR, mkdir, (fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode),
      (req, dir, name, mode))
TIMED(SYMLINK, symlink, (fuse_req_t req, const char *to, fuse_ino_t dir, const char *name),
      (req, to, dir, name))
TIMED(LINK, link, (fuse_req_t req, fuse_ino_t ino, fuse_ino_t dir, const char *name),
      (req, ino, dir, name))
TIMED(UNLINK, unlink, (fuse_req_t req, fuse_ino_t dir, const char *name), (req, dir, name))
TIMED(RMDIR, rmdir, (fuse_req_t req, fuse_ino_t dir, const char *name), (req, dir, name))
TIMED(RENAME, rename,
      (fuse_req_t req, fuse_ino_t dir, const char *name, fuse_ino_t to, const char *to_name,
       unsigned int flags),
      (req, dir, name, to, to_name, flags))
TIMED(CREATE, create,
      (fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode, struct fuse_file_info *fi),
      (req, dir, name, mode, fi))
TIMED(OPEN, open, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi), (req, ino, fi))
TIMED(READ, read,
      (fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi),
      (req, ino, size, off, fi))
TIMED(WRITE, write_buf,
      (fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
       struct fuse_file_info *fi),
      (req, ino, in, off, fi))
TIMED(FLUSH, flush, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi), (req, ino, fi))
TIMED(RELEASE, release, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi), (req, ino, fi))
TIMED(FALLOCATE, fallocate,
      (fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi),
      (req, ino, mode, off, len, fi))
TIMED(LSEEK, lseek,
      (fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi),
      (req, ino, off, whence, fi))
TIMED(POLL, poll,
      (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph),
      (req, ino, fi, ph))
TIMED(COPY_FILE_RANGE, copy_file_range,
      (fuse_req_t req, fuse_ino_t from, off_t from_off, struct fuse_file_info *from_fi,
       fuse_ino_t to, off_t to_off, struct fuse_file_info *to_fi, size_t len, int flags),
      (req, from, from_off, from_fi, to, to_off, to_fi, len, flags))
TIMED(OPENDIR, opendir, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi), (req, ino, fi))
TIMED(READDIR, readdir,
      (fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi),
      (req, ino, size, off, fi))
TIMED(READDIRPLUS, readdirplus,
      (fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi),
      (req, ino, size, off, fi))
TIMED(RELEASEDIR, releasedir, (fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi),
      (req, ino, fi))
TIMED(GETXATTR, getxattr, (fuse_req_t req, fuse_ino_t ino, const char *name, size_t size),
      (req, ino, name, size))
TIMED(SETXATTR, setxattr,
      (fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags),
      (req, ino, name, value, size, flags))
TIMED(LISTXATTR, listxattr, (fuse_req_t req, fuse_ino_t ino, size_t size), (req, ino, size))
TIMED(REMOVEXATTR, removexattr, (fuse_req_t req, fuse_ino_t ino, const char *name),
      (req, ino, name))

void op_time_install(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = timed_lookup;
	ops->getattr = timed_getattr;
	ops->setattr = timed_setattr;
	ops->readlink = timed_readlink;
	ops->statfs = timed_statfs;
	ops->mknod = timed_mknod;
	ops->mkdir = timed_mkdir;
	ops->symlink = timed_symlink;
	ops->link = timed_link;
	ops->unlink = timed_unlink;
	ops->rmdir = timed_rmdir;
	ops->rename = timed_rename;
	ops->create = timed_create;
	ops->open = timed_open;
	ops->read = timed_read;
	ops->write_buf = timed_write_buf;
	ops->flush = timed_flush;
	ops->release = timed_release;
	ops->fallocate = timed_fallocate;
	ops->lseek = timed_lseek;
	ops->poll = timed_poll;
	ops->copy_file_range = timed_copy_file_range;
	ops->opendir = timed_opendir;
	ops->readdir = timed_readdir;
	ops->readdirplus = timed_readdirplus;
	ops->releasedir = timed_releasedir;
	ops->getxattr = timed_getxattr;
	ops->setxattr = timed_setxattr;
	ops->listxattr = timed_listxattr;
	ops->removexattr = timed_removexattr;
}
