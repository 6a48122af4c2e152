/* SPDX-License-Identifier: MIT */
/*
 * Is a store what it should be? Every invariant of what is on disk, by number; reports and tests
 * cite these. Nothing here writes: repair is fsck_repair.h.
 *
 *  1 Each page of meta.db matches its sum, and SQLite's own check of it finds nothing.
 *  2 A row of entry has the fields of its kind, and a name that a path can have.
 *  3 Of one name there is at most one current row.
 *  4 Rows of one name never overlap in time.
 *  5 Versions of one path are numbered upwards.
 *  6 A directory id has one row at a time, so it is in one place; the root has its own.
 *  7 The directory that holds a current row is current.
 *  8 Every current directory is reached from the root: no cycles.
 *  9 born and died are not beyond the newest revision.
 * 10 Directory ids are below next_dir.
 * 11 The token counter is not below the token of any lease.
 * 12 A row of fence has a path and a token that a path and a token can be; a lease is whole.
 * 13 The fence over a current file or symlink is not below its token (a reset in the record, and
 *    directories that were made on the way to a claimed path, are no exceptions to mourn).
 * 14 A row of blob has an id, a hash and a size; content in it has that size.
 * 15 A blob that an entry refers to has a row, of the entry's size.
 * 16 No entry refers to what is marked as garbage.
 * 17 A blob that a refusal keeps has a row.
 * 18 Extended attributes belong to a row of entry.
 * 19 Times of directories belong to a directory.
 * 20 A blob whose content is not in its row is a regular file of its size in blobs/xx/ID.
 * 21 Content has the hash that its row says (P5).
 * 22 No content is marked as damaged.
 *
 * What may be there without being damage is a note: files nobody knows, orphans of crashes,
 * versions of directories that are gone, content that was set aside by a repair.
 *
 * Beside a running daemon the tables are read in one snapshot. Files are looked at after it; what
 * seems wrong with one is looked up again in a new snapshot, so neither a commit nor gc makes a
 * false alarm.
 */
#ifndef FENCE_STORE_FSCK_FSCK_H
#define FENCE_STORE_FSCK_FSCK_H

#include "store/blob/blob.h"
#include "base/path.h"

struct fsck;
struct store;

enum fsck_rule {
	FSCK_DATABASE = 1,
	FSCK_ENTRY_FIELDS,
	FSCK_ONE_CURRENT,
	FSCK_OVERLAP,
	FSCK_VERSIONS,
	FSCK_ONE_PLACE,
	FSCK_PARENT,
	FSCK_REACHED,
	FSCK_REVISION,
	FSCK_NEXT_DIR,
	FSCK_TOKEN_COUNTER,
	FSCK_FENCE_FIELDS,
	FSCK_FENCE_LOW,
	FSCK_BLOB_FIELDS,
	FSCK_REFERENCE,
	FSCK_GARBAGE,
	FSCK_REJECT,
	FSCK_XATTR,
	FSCK_DIRTIME,
	FSCK_BLOB_FILE,
	FSCK_CONTENT,
	FSCK_MARKED,
	/* notes */
	FSCK_FOREIGN,
	FSCK_ORPHAN,
	FSCK_PAST,
	FSCK_MODE,
	FSCK_SET_ASIDE,
	FSCK_RULES_END
};

/* What fsck_repair() would do about it. */
enum fsck_action {
	FSCK_NOTHING,
	FSCK_REHOME,	     /* the row of entry goes to lost+found in the tree */
	FSCK_MAKE_DIR,	     /* a directory id gets an entry in lost+found again */
	FSCK_ADD_REVISION,   /* the newest revision becomes `number` */
	FSCK_RAISE_NEXT_DIR, /* to `number` */
	FSCK_RAISE_COUNTER,  /* to `number` */
	FSCK_RAISE_FENCE,    /* of `path` to `number` */
	FSCK_UNMARK,	     /* the row of garbage goes */
	FSCK_DROP_XATTR,     /* of row `row`, after they were written down */
	FSCK_DROP_DIRTIME,   /* of directory `number`, after they were written down */
	FSCK_SET_FILE_ASIDE, /* the blob's file goes to lost+found; reads give EIO */
	FSCK_ACTIONS_END
};

struct fsck_finding {
	enum fsck_rule rule;
	bool is_damage;		       /* else a note */
	char path[FENCE_PATH_MAX + 1]; /* of the tree; "" if it belongs to none */
	int64_t version;	       /* of that path; 0: unknown */
	bool is_current;	       /* it is what path shows now */
	int64_t others;		       /* further versions that refer to the same content */
	int64_t row;		       /* of entry; 0: none */
	int64_t number;		       /* see enum fsck_action */
	bool has_blob;
	struct blob_id blob;
	enum fsck_action action;
	char what[320];		 /* what was found */
	const char *consequence; /* what that means to whoever uses the store */
	const char *remedy;
};

/* 0, or a negative number, which stops. */
typedef int (*fsck_fn)(void *arg, const struct fsck_finding *f);

struct fsck_totals {
	int64_t damage, notes;
	int64_t entries, dirs, blobs, files; /* looked at */
	int64_t orphans, orphan_bytes;	     /* blob files without a row */
	int64_t staged;			     /* files in staging/ */
};

struct fsck_options {
	bool is_live;		/* a daemon serves the store */
	bool is_thorough;	/* integrity_check, however large the database is */
	fsck_fn fn;		/* gets every finding */
	void *arg;		/* for fn and tick */
	int (*tick)(void *arg); /* called often; as fn; may be NULL */
};

/* Short and stable, for machines: "one-current". */
const char *fsck_rule_name(enum fsck_rule rule);
/* One sentence without full stop: what the action does. */
const char *fsck_action_text(enum fsck_action action);

/* @s must stay open. */
int fsck_open(struct store *s, const struct fsck_options *opt, struct fsck **out);
void fsck_close(struct fsck *f);
const struct fsck_totals *fsck_totals(const struct fsck *f);
/* All but 21. Goes on after damage; -errno when it could not look, or what fn or tick returned. */
int fsck_structure(struct fsck *f);

/* Content to be read, one blob. */
struct fsck_blob {
	int64_t n; /* its number, by which blobs are ordered */
	struct blob_id id;
	struct blob_hash hash;
	int64_t size;
	bool is_inline;
	bool is_marked; /* as damaged */
	bool is_cached; /* what the kernel has of it in memory is to be read, not the disk */
};

enum fsck_state {
	FSCK_GOOD,
	FSCK_MISSING,  /* no file */
	FSCK_BAD_SIZE, /* of file or row */
	FSCK_BAD_HASH,
	FSCK_UNREADABLE, /* the disk says so */
};

/* Up to @max blobs with n > @after, in that order; the count. */
int fsck_blobs(struct fsck *f, int64_t after, struct fsck_blob *out, int max);
/* Number and bytes of the blobs with n > @after. */
int fsck_blobs_total(struct fsck *f, int64_t after, int64_t *out_n, int64_t *out_bytes);
/*
 * Read one and compare. From any thread. @pace is told of each piece that was read and may wait, or
 * return non-zero to stop. *out_err: what the disk said, for FSCK_UNREADABLE.
 */
int fsck_read(struct store *s, const struct fsck_blob *b, int (*pace)(void *arg, int64_t bytes),
	      void *arg, enum fsck_state *out, int *out_err);
/*
 * Report what fsck_read() said, unless the blob is gone by now; one thread at a time. 1: damaged
 * indeed.
 */
int fsck_judge(struct fsck *f, const struct fsck_blob *b, enum fsck_state state, int err);

#endif
