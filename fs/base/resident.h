/* SPDX-License-Identifier: MIT */
/* What the kernel has in its page cache. Nothing is read, and no page is brought in by asking. */
#ifndef FENCE_BASE_RESIDENT_H
#define FENCE_BASE_RESIDENT_H

#include <sys/types.h>

/*
 * Whether all pages of the file from @off, a multiple of the page size, up to @off + @len are in
 * the page cache: 1 or 0, or -errno. A page may be there that could not be read. Of files that the
 * caller does not own and may not write the kernel does not tell: then 1.
 */
int resident(int fd, off_t off, off_t len);

#endif
