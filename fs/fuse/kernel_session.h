/* SPDX-License-Identifier: MIT */
/* The session with the kernel, as libfuse has it. Layer: fuse. */
#ifndef FENCE_FUSE_KERNEL_SESSION_H
#define FENCE_FUSE_KERNEL_SESSION_H

struct fs;
struct fuse_session;
struct options;

/* What is to be asked of the kernel, and how many threads there may be, into @fs. */
void kernel_session_wants(const struct options *o, struct fs *fs);
/* NULL: libfuse has logged why it refuses the mount options. */
struct fuse_session *kernel_session_new(const struct options *o, struct fs *fs);
/* Serve requests until the session's end, on at most @workers threads. */
int kernel_session_loop(struct fuse_session *se, unsigned int workers);

#endif
