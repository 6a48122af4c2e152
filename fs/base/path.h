/* SPDX-License-Identifier: MIT */
/*
 * Paths as the protocol and the database write them: relative to the mount root, components
 * separated by one '/', no "." or "..", no leading or trailing '/'; the root itself is ".".
 * Any bytes but NUL and '/' in a name; a name has at most 255 bytes, a path at most 4096.
 */
#ifndef FENCE_BASE_PATH_H
#define FENCE_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define FENCE_NAME_MAX 255
#define FENCE_PATH_MAX 4096

/*
 * Normalise @in into @out (FENCE_PATH_MAX + 1 bytes): drops leading, trailing and doubled '/' and
 * "." components.
 * *out_dir (may be NULL): whether @in ended in '/'.
 * -EINVAL: empty, or has a ".." component.  -ENAMETOOLONG: a name or the whole is too long.
 * -EPERM: the first component is the reserved name ".fence".
 */
int path_normalise(const char *in, char *out, bool *out_dir);

/* Whether @path is @top or lies beneath it; both normalised. Everything is beneath ".". */
bool path_is_within(const char *path, const char *top);
/* Strictly beneath. */
bool path_is_beneath(const char *path, const char *top);

/*
 * Parent of @path into @out ("." for a top-level name); the last component is returned (points into
 * @path). "." has no parent: NULL.
 */
const char *path_split(const char *path, char *out_parent);
/* @dir + "/" + @name into @out (FENCE_PATH_MAX + 1). -ENAMETOOLONG. */
int path_join(const char *dir, const char *name, char *out);

#endif
