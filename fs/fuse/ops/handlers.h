/* SPDX-License-Identifier: MIT */
/*
 * The request handlers, as libfuse calls them. Layer: fuse.
 *
 * A handler decodes, finds the inode or the handle, calls one operation of its type or of core, and
 * replies exactly once: itself, or by a parked request. It holds no lock when it replies.
 */
#ifndef FENCE_FUSE_OPS_HANDLERS_H
#define FENCE_FUSE_OPS_HANDLERS_H

#include <fuse_lowlevel.h>

/* Attributes: attr.c. */
void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);
void fs_readlink(fuse_req_t req, fuse_ino_t ino);
void fs_statfs(fuse_req_t req, fuse_ino_t ino);

/* Names to inodes, and their end: lookup.c. */
void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups);
void fs_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);

/* Changing names: names.c. */
void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
	       const char *to_name, unsigned int flags);

/* Opening and closing files; RELEASEDIR is fs_release() too: open.c. */
void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* What is done with open files: data.c. */
void fs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
		  struct fuse_file_info *fi);
void fs_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
		  struct fuse_file_info *fi);
void fs_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void fs_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
			struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
			struct fuse_file_info *fi_out, size_t len, int flags);
void fs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph);

/* Listing directories: readdir.c. */
void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);

/* Extended attributes: xattr.c. */
void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
