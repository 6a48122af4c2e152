/* SPDX-License-Identifier: MIT */
/*
 * The control tree: .fence at the root of the live tree, reachable and never listed there.
 *
 *   .fence/ctl           conversations (ctl_file.h); every lookup gives a fresh inode
 *   .fence/sessions/ID   the root of that session's view
 *   .fence/rejects/ID    what a refused writer had written
 *   .fence/at/REV        the whole tree at a revision
 *   .fence/versions/PATH/N   version N of a path
 *   .fence/events        what happens, a line each (events_file.h)
 *   .fence/metrics, .fence/status   how it stands (report_file.h)
 *
 * A new node is one line in the table of control.c, with a number here.
 */
#ifndef FENCE_FUSE_CONTROL_CONTROL_H
#define FENCE_FUSE_CONTROL_CONTROL_H

#include "fuse/ops/fs.h"

#define CONTROL_ROOT_NAME ".fence"

/* Control directories by their nodeids; all below CONTROL_NODE_MAX. */
enum {
	CONTROL_ROOT = 2,
	CONTROL_SESSIONS,
	CONTROL_REJECTS,
	CONTROL_AT,
};

int control_attr(struct fs *fs, int id, struct node *out);
/* Of ctl, events and the reports. */
int control_stream_attr(struct fs *fs, const struct inode *inode, struct node *out);
/* The entry of the control node itself. */
int control_entry(struct fs *fs, int id, struct fuse_entry_param *out);
int control_lookup(struct fs *fs, int id, const char *name, struct fuse_entry_param *out);

/* What one listing has to remember; zeroed at its start. */
struct control_listing {
	char (*sessions)[33]; /* owned */
	int n_sessions;
};

/*
 * The entry at @off (0 is the first) of control directory @id, and the offset after it. 1, 0 at the
 * end, -errno.
 */
int control_next(struct fs *fs, int id, struct control_listing *l, int64_t off,
		 struct named_node *out, int64_t *out_next);
void control_fill(struct fs *fs, enum entry_kind kind, uint32_t mode, uint64_t nodeid,
		  struct node *out);
/* A number as it is printed: no sign, no leading zeros. -1: it is none. */
int64_t control_parse_number(const char *s);
void control_listing_fini(struct control_listing *l);

#endif
