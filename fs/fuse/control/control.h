/* SPDX-License-Identifier: MIT */
/*
 * The control tree: .fence at the root of the live tree, reachable and never listed there.
 *
 *   .fence/ctl               conversations
 *   .fence/events            what happens, a line each
 *   .fence/metrics, status   how it stands
 *   .fence/versions/PATH/N   version N of a path
 *   .fence/sessions/ID       the root of that session's view
 *   .fence/rejects/ID        what a refused writer had written
 *   .fence/at/REV            the whole tree at a revision
 *
 * A new one is a file of this folder, and a row of CONTROL_FILES in control_file.h. Layer: fuse.
 */
#ifndef FENCE_FUSE_CONTROL_CONTROL_H
#define FENCE_FUSE_CONTROL_CONTROL_H

#include <fuse_lowlevel.h>

#define CONTROL_ROOT_NAME ".fence"

struct fs;

/* Before the mount. */
void control_attach(struct fs *fs);
/* The entry of .fence itself. */
void control_root_entry(struct fs *fs, struct fuse_entry_param *out);
/* The nodeid of .fence/sessions, in which a session's name is dropped. */
uint64_t control_sessions_nodeid(void);

#endif
