/* SPDX-License-Identifier: MIT */
/*
 * FUSE passthrough (Linux 6.9, libfuse 3.17, CAP_SYS_ADMIN): the kernel reads and writes a file's
 * content itself, on a backing file that was registered with it. Layer: fuse.
 */
#ifndef FENCE_FUSE_OBJECT_BACKING_H
#define FENCE_FUSE_OBJECT_BACKING_H

#include "fuse/state/inode.h"

#include <fuse_lowlevel.h>

struct fs;

/*
 * One more open handle of @inode, whose content is @fd (read-only, for writers too: see
 * core/session/content.h). The id for fuse_file_info.backing_id, or 0: this inode's content goes
 * through the daemon for as long as it is open anywhere.
 */
int backing_open(struct fs *fs, fuse_req_t req, struct inode *inode, int fd);
/* That handle is closed. */
void backing_close(fuse_req_t req, struct inode *inode);

/* Names, for `hello`, of what the kernel has granted. */
const char *backing_features(const struct fs *fs);

#endif
