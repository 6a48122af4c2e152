/* SPDX-License-Identifier: MIT */
/* The line of fstab(5) for a mount. Layer: tools. */
#ifndef FENCE_TOOLS_PARSE_FSTAB_LINE_H
#define FENCE_TOOLS_PARSE_FSTAB_LINE_H

#include "parse/buf.h"

/*
 * The line of fstab(5), without line feed, that mounts @store at @dir on first use. Both become
 * absolute, with symlinks resolved as far as they exist: mount(8) compares them with what is
 * mounted. @options may be NULL.
 */
void fstab_line(struct buf *out, const char *store, const char *dir, const char *options);

#endif
