/* SPDX-License-Identifier: MIT */
/*
 * From a path as the user gave it to the mount it is in and the path in the tree that the protocol
 * wants.
 */
#ifndef FENCE_TOOLS_CLIENT_TARGET_H
#define FENCE_TOOLS_CLIENT_TARGET_H

#include "base/errmsg.h"
#include "base/path.h"

#include <stdbool.h>

struct target {
	char *mount;		       /* owned; the mount point of the whole tree */
	char path[FENCE_PATH_MAX + 1]; /* normalised */
	bool is_dir;		       /* it was given with a '/' at the end */
	char session[33];	       /* it was given within this session's view; "" otherwise */
};

/*
 * @given need not exist, nor its parents; its last component is not followed when it is a symlink
 * in the tree. A path within .fence/sessions/ID/ stands for the same path of the tree.
 * -EMEDIUMTYPE: it is not in a fencefs mount.  -ENOTCONN: its daemon is gone.  -EINVAL: another
 * path beneath .fence.
 */
int target_find(const char *given, struct target *out, struct errmsg *err);

/*
 * The mount that is meant where a verb has no path: @dir if given, else $FENCE_DIR, the working
 * directory, or the only fencefs mount there is.
 */
int target_default(const char *dir, struct target *out, struct errmsg *err);

/* The path for the protocol: with '/' at the end if it was given so and does not name the root. */
const char *target_protocol_path(const struct target *t, char *room /* FENCE_PATH_MAX + 2 */);
void target_fini(struct target *t);

#define auto_target __attribute__((cleanup(target_fini)))

#endif
