/* SPDX-License-Identifier: MIT */
/*
 * Staged files that nobody needs any more are emptied and kept for the next that is staged. A job
 * that commits many small files would otherwise have them made and removed each time, and ext4 is
 * slow at that: it does not give an inode out again for minutes, and searches past all that it has
 * freed (measured: 3000 files took 0.4 ms each in a fresh directory, 0.8 after 9000 had been
 * removed, 5 in a busy one).
 */
#ifndef FENCE_STORE_BLOB_SPARE_H
#define FENCE_STORE_BLOB_SPARE_H

#include "store/blob/blob.h"

struct spares;

int spares_new(struct spares **out);
/* Removes the files. */
void spares_free(struct store *s, struct spares *spares);

#endif
