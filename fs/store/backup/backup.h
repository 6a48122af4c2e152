/* SPDX-License-Identifier: MIT */
/*
 * Backup and restore of a whole store.
 *
 * A backup is a directory:
 *   backup        one line: "fencefs-backup 1" and the UUID of the store; what says that it is one
 *   lock          one backup or restore at a time
 *   meta.db       the database of the last backup that was completed
 *   blobs/xx/ID   content, at least all that meta.db refers to
 *   staging/      what is being copied
 * It is no store: it has no `format`, so it cannot be mounted, and is changed by nobody else.
 *
 * It is valid at every moment: a new backup first takes the database, from one snapshot, into
 * meta.db.new; copies the content which that refers to and which is not there yet; makes all of it
 * durable; and only then renames meta.db.new to meta.db. Content that is not referred to any more
 * goes last. Cut off anywhere, the old backup is whole, and what was copied need not be again.
 *
 * Database before content: content is immutable, so it is the same whenever it is copied. Only gc
 * can take it away in between (versions were pruned and their grace is over): content that is
 * missing and that the store by now does not know any more has the database be taken once again.
 * So no gc need be held back, and a running daemon need not be asked.
 *
 * Content is copied by reflink where the file system can, else byte by byte, and its hash compared.
 * Hard links are for who asks for them: damage to a linked file is damage to both.
 */
#ifndef FENCE_STORE_BACKUP_BACKUP_H
#define FENCE_STORE_BACKUP_BACKUP_H

#include "base/errmsg.h"
#include "store/blob/blob.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

struct backup_options {
	bool link; /* hard links, where source and destination are on one file system */
	/* How many bytes of how many are done, often; negative stops. May be NULL. */
	int (*progress)(void *arg, int64_t done, int64_t total);
	/* Content that is missing or damaged in the source; @path is one that refers to it. */
	void (*lost)(void *arg, const char *path, int64_t version, const struct blob_id *id,
		     const char *why);
	void *arg;
};

struct backup_result {
	int64_t revision, at;	      /* of the copy, and when that was made (ns) */
	int64_t blobs, bytes;	      /* content in files that it refers to */
	int64_t new_blobs, new_bytes; /* that had to be copied */
	int64_t removed;	      /* files that nothing refers to any more */
	int64_t lost;		      /* content that could not be had */
};

/*
 * Back @s up into @dest, which is made, or is a backup of the same store.
 * -EXDEV: of another store.  -ENOTEMPTY: something else.  -EBUSY: another backup runs.
 */
int backup_make(struct store *s, const char *dest, const struct backup_options *opt,
		struct backup_result *out, struct errmsg *err);

struct restore_result {
	struct backup_result copied;
	int64_t token_before, token_after; /* the counter of the backup, and where it stands now */
	int64_t leases, sessions;	   /* dropped */
	char uuid_before[37], uuid[37];
};

/*
 * Make a store at @path of the backup @src, under a new UUID. Its directory may exist if it is
 * empty, or holds what an interrupted restore has left. The token counter jumps, so that it is
 * above all that was issued since the backup.
 */
int backup_restore(const char *src, const char *path, const struct backup_options *opt,
		   struct restore_result *out, struct errmsg *err);

#endif
