/* SPDX-License-Identifier: MIT */
/* The inside of backup and restore, for the backup*.c files. */
#ifndef FENCE_STORE_BACKUP_BACKUP_IMPL_H
#define FENCE_STORE_BACKUP_BACKUP_IMPL_H

#include "store/backup/backup.h"
#include "store/layout.h"
#include "base/uuid.h"

struct db;

#define BACKUP_MARK   "backup"
#define BACKUP_DB_NEW LAYOUT_DB ".new"

/* An open directory with blobs/ and staging/: a backup, or a store that is being made. */
struct backup_dir {
	const char *path;		/* borrowed; for messages */
	int root, blobs, staging, lock; /* owned; -1: none */
	char db[PATH_MAX];		/* of meta.db */
	char uuid[UUID_LEN + 1];
};

#define BACKUP_DIR_CLOSED                                          \
	{                                                          \
		.root = -1, .blobs = -1, .staging = -1, .lock = -1 \
	}

/* Open or make the backup @path of store @uuid, for writing; staging/ is empty then. */
int backup_dir_make(const char *path, const char *uuid, struct backup_dir *out, struct errmsg *err);
/* Open the backup @path to restore from it. -EMEDIUMTYPE: it is none, or has nothing complete. */
int backup_dir_open(const char *path, struct backup_dir *out, struct errmsg *err);
/* lock, staging/, blobs/ and its directories below @d->root, as far as they are missing. */
int backup_dir_fill(struct backup_dir *d);
void backup_dir_close(struct backup_dir *d);

static inline void cleanup_backup_dir(struct backup_dir *d)
{
	backup_dir_close(d);
}
#define auto_backup_dir __attribute__((cleanup(cleanup_backup_dir)))

/* A database from one snapshot of @from as file @name of @d; checked and durable. */
int backup_copy_db(struct db *from, struct backup_dir *d, const char *name,
		   const struct backup_options *opt);

struct blob_copy {
	int from;	       /* blobs/ of the source; borrowed */
	struct backup_dir *to; /* borrowed */
	struct db *db;	       /* the copied database, which says what is needed; borrowed */
	struct db *origin; /* of the source, to ask whether it still knows a blob; NULL: as db */
	const struct backup_options *opt;
	int64_t done, total; /* bytes */
	struct backup_result *result;
};

/*
 * Everything that c->db refers to is in c->to, durable. -EAGAIN: something is gone that the origin
 * does not know any more.
 */
int backup_copy_blobs(struct blob_copy *c);
/* Files in blobs/ of @d that @db does not know go; the count or -errno. Foreign ones stay. */
int backup_drop_unknown(struct backup_dir *d, struct db *db);

#endif
