/* SPDX-License-Identifier: MIT */
/*
 * Applying one commit: the only code that changes the tree. Runs inside the caller's savepoint of
 * the writing connection; on any non-zero return the caller rolls back to it. Fence, preconditions
 * and pointers are checked and moved in that same transaction (P1, P3).
 */
#ifndef FENCE_STORE_TREE_CHANGE_H
#define FENCE_STORE_TREE_CHANGE_H

#include "store/fence/refusal.h"
#include "store/blob/blob.h"

#include <stdbool.h>

struct db;

enum change_kind { CHANGE_REMOVE, CHANGE_FILE, CHANGE_DIR, CHANGE_SYMLINK };

struct change_xattr {
	const char *name;
	const void *value;
	size_t len;
};

/* Everything borrowed from the caller for the duration of the call. */
struct change {
	enum change_kind kind;
	/*
	 * CHANGE_DIR of parents=1: only if nothing is there; a directory that is there by now is
	 * used instead. Not fenced.
	 */
	bool implied;
	/*
	 * Directory that holds the name: > 0 a directory id of the store; < 0 the `child` of an
	 * earlier CHANGE_DIR of this commit.
	 */
	int64_t dir;
	const char *name;
	const char *path; /* full path of the name, for the fence */
	/*
	 * CHANGE_DIR: > 0 an existing directory (moved, or its attributes changed), < 0 a new one,
	 * known by this number within the commit.
	 */
	int64_t child;
	uint32_t mode, uid, gid;
	int64_t mtime;
	int64_t size;
	bool has_blob;
	/* CHANGE_FILE with content. Its row in table blob must exist by now. */
	struct blob_id blob;
	const char *target; /* CHANGE_SYMLINK */
	const struct change_xattr *xattrs;
	size_t n_xattrs;
};

struct expect {
	const char *path;
	enum { EXPECT_VERSION, EXPECT_ABSENT, EXPECT_HASH } kind;
	int64_t version;
	struct blob_hash hash;
};

struct commit_request {
	const struct change *changes;
	size_t n_changes;
	const struct expect *expects;
	size_t n_expects;
	const char *path; /* the claimed path */
	int64_t token;
	const char *owner;
	const char *op;	     /* NULL: none */
	const char *session; /* hex id; NULL for put and remove */
	int64_t seq;	     /* -1: none */
	bool once;
	int64_t now_ns;
};

struct commit_result {
	int64_t revision;
	int64_t changed; /* names changed */
	bool replayed;	 /* op= or once=: an earlier outcome, nothing was changed now */
	bool dirs_moved; /* a directory was moved or removed: cached paths are void */
	struct refusal refusal;
};

/*
 * Order of checks: op (same op on the same claimed path: the first outcome is returned, replayed);
 * token of the claimed path against highest(path); once; seq; expects (ECANCELED; EEXIST for
 * absent=1), each against the state before this commit; then for each changed path q: token >=
 * highest(q), for removed, moved or replaced directories also every row beneath their old and new
 * path (implied directories are not fenced).
 * Then all old rows die, new rows are born at revision+1, and the structure is verified: a removed
 * or replaced directory must be empty (ENOTEMPTY, naming it); a directory that holds a change must
 * be reachable, before or after, under the path the change says (ENOENT: moved or removed
 * meanwhile); a moved directory's old row must be one that this commit removes (ENOENT); no cycle
 * (EINVAL); a file in the place of a parent: ENOTDIR. A commit without effective changes makes no
 * revision (it returns the current one, changed=0), unless it has an op, which an empty revision
 * then records.
 * seq of the new rows: 1 + the highest of the path's history (entry_history semantics).
 * dirtime of every directory whose names changed is set to (revision, now).
 * Blobs whose last current row died are not garbage: history keeps them.
 * 0, or -errno: a refusal when out->refusal.err is set, otherwise a database error.
 */
int change_commit(struct db *db, const struct commit_request *req, struct commit_result *out);

#endif
