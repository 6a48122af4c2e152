/* SPDX-License-Identifier: MIT */
/*
 * Content that is known to be damaged, or seen to be, is not handed out: EIO, not wrong bytes.
 * Known is what has a mark (store/blob/damaged.h), which fence fsck --data sets, and verify.h, and
 * an open that does not find the file. Seen is, at every open, content that lies in the database.
 *
 * A mark is for later opens. Who has the file open reads on, what he opened (P4), and as long as he
 * does, the kernel hands his file also to who opens it after it was found good again.
 */
#ifndef FENCE_CORE_TRUST_TRUST_H
#define FENCE_CORE_TRUST_TRUST_H

#include "store/blob/blob.h"

#include <stdbool.h>
#include <stdint.h>

struct blob_id;
struct blob_info;
struct core;
struct db;
struct verify_file;

/* Whether there are marks; when core starts. */
int trust_init(struct core *c);
/* 0, or -EBADMSG: it is damaged. @info->data is compared with its hash if it is there. */
int trust_blob(struct core *c, struct db *db, const struct blob_info *info);
/*
 * What an open is to answer when blob @id, of version @row (of entry; 0: unknown), gave @err. -EIO
 * and a line in the log, and a mark if there was none, for -EBADMSG, -ENOENT (the caller has made
 * sure that gc has not removed it), -EUCLEAN and -ELOOP; other errors stay.
 */
int trust_report(struct core *c, struct db *db, int64_t row, const struct blob_id *id, int err);
/*
 * The file @f is not what was sealed: mark it, soon. @why: static; said in the log if that is news.
 */
void trust_lost(struct core *c, const struct verify_file *f, const char *why);
/*
 * Mark content @id as damaged, or (@good) take the mark away: @done with 0, -ENOENT (no such content)
 * or a database error, once, from another thread. -ENOMEM, -ESHUTDOWN: not begun.
 */
int trust_mark(struct core *c, const struct blob_id *id, bool good,
	       void (*done)(void *arg, int err), void *arg);
/*
 * It was marked in this daemon's life and found good again: what the kernel has cached of it may be
 * from before.
 */
bool trust_was_lost(struct core *c, const struct blob_id *id);

#endif
