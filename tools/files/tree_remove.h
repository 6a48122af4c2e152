/* SPDX-License-Identifier: MIT */
/* Removing a directory with all beneath it. Layer: tools. */
#ifndef FENCE_TOOLS_FILES_TREE_REMOVE_H
#define FENCE_TOOLS_FILES_TREE_REMOVE_H

#include "parse/buf.h"

/*
 * Remove @path and all beneath it; symlinks are not followed. -errno with the path of what failed
 * in *out_failed.
 */
int tree_remove(const char *path, struct buf *out_failed);

#endif
