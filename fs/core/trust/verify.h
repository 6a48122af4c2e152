/* SPDX-License-Identifier: MIT */
/*
 * Whether content that was read is what was sealed (P5). The kernel reads files for programs,
 * mostly without asking us, so this looks afterwards: when a handle is closed and the whole file
 * lies in the page cache, then somebody may have read all of it, by read(2) or through a mapping,
 * with passthrough or without. It is hashed there, which takes no disk, by one thread of the lowest
 * priority; what is not what was sealed is read from the disk once more, and then marked as fence
 * fsck --data marks it: later opens give EIO, also after a restart. Whoever has it open reads on
 * (P4).
 *
 * It is a chance to find damage, not a promise to find all: what does not fit in memory, is read
 * past the page cache (O_DIRECT) or is read while many other files are, is found by fence fsck
 * --data, for which there is a timer.
 *
 * What was hashed already, here or when it was sealed, is not hashed again until an open finds that
 * it is not all in the page cache any more: then it comes from the disk anew. Of which files that
 * holds is kept in a table of constant size that forgets.
 *
 * Threads: everything but start, stop and fini may be called from any, with any lock held. No lock
 * is taken: the thread here may be kept from running for long, and nobody waits for it.
 */
#ifndef FENCE_CORE_TRUST_VERIFY_H
#define FENCE_CORE_TRUST_VERIFY_H

#include "store/blob/blob.h"

#include <stdbool.h>
#include <stdint.h>

struct core;

/* A file of sealed content, as the database has it. */
struct verify_file {
	struct blob_id id;
	struct blob_hash hash;
	int64_t size;
	int64_t row; /* of entry, to name it by; 0: unknown */
};

int verify_start(struct core *c);
/* What waits is dropped, what is being read is given up. Afterwards the others do nothing. */
void verify_stop(struct core *c);
void verify_fini(struct core *c);

/* @fd is open on @f. */
void verify_opened(struct core *c, int fd, const struct verify_file *f);
/* A handle is about to be closed, whose descriptor is @fd. */
void verify_closed(struct core *c, int fd, const struct verify_file *f);
/* Its content was hashed to be sealed. */
void verify_sealed(struct core *c, const struct blob_id *id);

#endif
