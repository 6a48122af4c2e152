/* SPDX-License-Identifier: MIT */
/*
 * Reading the tree: the temporal table `entry`. A row is visible at revision R when born <= R and
 * (died IS NULL or died > R).
 * All functions take any connection; @rev is a revision, or ENTRY_NOW for what is current in this
 * connection's snapshot.
 */
#ifndef FENCE_STORE_TREE_ENTRY_H
#define FENCE_STORE_TREE_ENTRY_H

#include "base/path.h"
#include "store/blob/blob.h"
#include "store/fence/owner.h"

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_NOW      INT64_MAX
#define STORE_ROOT_DIR INT64_C(1) /* directory id of the root; its own entry is (dir 0, name "") */

struct db;

enum entry_kind { ENTRY_FILE = 1, ENTRY_DIR = 2, ENTRY_SYMLINK = 3 };

struct entry {
	int64_t row; /* rowid: unique for each version of each name, never reused (AUTOINCREMENT) */
	int64_t dir;
	int64_t born, died; /* died 0: current */
	int64_t seq;	    /* the path's version number */
	int64_t child;	    /* directories: their id, else 0 */
	int64_t size;	    /* bytes; symlinks: length of the target */
	int64_t mtime;	    /* nanoseconds since the epoch */
	int64_t token;
	enum entry_kind kind;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t uid, gid;
	bool has_blob; /* false: empty content, or not a file */
	struct blob_id blob;
	char name[FENCE_NAME_MAX + 1];
};

/*
 * (dir, name) at @rev. One indexed query when @rev is current: the partial index over current rows
 * first, the general index (dir, name, born) only if that row is younger than @rev or missing.
 * -ENOENT.
 * A directory's mtime is that of its own row, or of the last change of its names (table dirtime) if
 * a later revision made that: a time that came with the directory itself, as tar and rsync set it
 * after they filled it, is kept.
 */
int entry_lookup(struct db *db, int64_t dir, const char *name, int64_t rev, struct entry *out);
int entry_by_row(struct db *db, int64_t row, struct entry *out);
/* The entry of directory @child itself. -ENOENT when it is gone at @rev. */
int entry_by_child(struct db *db, int64_t child, int64_t rev, struct entry *out);
/*
 * What stood at the place of @e last, as of @rev: of a directory its own newest entry, wherever
 * that is, else the newest at its (dir, name); dead or not.
 */
int entry_newest(struct db *db, const struct entry *e, int64_t rev, struct entry *out);
/* Walk @path (normalised) from the root; symlinks are not followed. -ENOENT, -ENOTDIR. */
int entry_resolve(struct db *db, const char *path, int64_t rev, struct entry *out);
/*
 * Path of directory @dir at @rev into @out (FENCE_PATH_MAX + 1). -ENOENT: not reachable from the
 * root. -ELOOP: a cycle.
 */
int entry_path(struct db *db, int64_t dir, int64_t rev, char *out);

/*
 * Up to @max entries of @dir at @rev in memcmp order of names, those after @after ("" = from the
 * start), into @out.
 * The count; 0 at the end; -errno.
 */
int entry_list(struct db *db, int64_t dir, int64_t rev, const char *after, struct entry *out,
	       int max);
/* 1 if @dir has any entry at @rev, 0 if not. */
int entry_has_children(struct db *db, int64_t dir, int64_t rev);

/* Symlink target, malloc'd, NUL-terminated. */
int entry_target(struct db *db, int64_t row, char **out);

struct entry_origin {
	int64_t token;
	int64_t revision; /* = born */
	int64_t at;	  /* wall clock of that revision, nanoseconds */
	char owner[OWNER_MAX + 1];
	char op[OWNER_MAX + 1]; /* "" if none */
};
/* Who made this version. */
int entry_origin(struct db *db, int64_t row, struct entry_origin *out);

/* Extended attributes of a version. -ENODATA. *out malloc'd. */
int entry_xattr_get(struct db *db, int64_t row, const char *name, void **out, size_t *out_len);
typedef int (*entry_xattr_fn)(void *arg, const char *name, const void *value, size_t len);
/* Calls @fn for each; stops at its first non-zero return and returns that. */
int entry_xattr_each(struct db *db, int64_t row, entry_xattr_fn fn, void *arg);

/*
 * Versions of a path, newest first, over every directory that its parent path ever resolved to (a
 * removed and re-created parent has another id). A row counts if it was visible at this path at
 * some revision. @fn non-zero stops.
 */
typedef int (*entry_version_fn)(void *arg, const struct entry *e);
int entry_history(struct db *db, const char *path, entry_version_fn fn, void *arg);
/*
 * The revisions between which a version was at the path, as it was seen there last; INT64_MAX: it
 * still is.
 */
struct entry_visible {
	int64_t from, until;
};
/* One of them: the first after the one of row @after (0: the newest). -ENOENT. */
int entry_history_next(struct db *db, const char *path, int64_t after, struct entry *out,
		       struct entry_visible *out_visible);
/* Version @seq of @path (the newest row with that number). -ENOENT. */
int entry_version(struct db *db, const char *path, int64_t seq, struct entry *out);

/*
 * Names that were ever in the directories that @path ever was: up to @max of them after @after (""
 * from the start), in memcmp order, each once. The count.
 */
int entry_past_names(struct db *db, const char *path, const char *after,
		     char (*out)[FENCE_NAME_MAX + 1], int max);

#endif
