/* SPDX-License-Identifier: MIT */
/*
 * Who may do what by ctl, where no kernel checks (P8): the classic owner/group/other rules, as the
 * kernel applies them to the mount (default_permissions). Uid 0 may do everything.
 */
#ifndef FENCE_CORE_ACCESS_PERMISSION_H
#define FENCE_CORE_ACCESS_PERMISSION_H

#include "core/access/caller.h"
#include "store/tree/entry.h"

bool permission_in_group(const struct caller *who, uint32_t gid);
/* The rwx bits (4, 2, 1) that @who has on a node with these attributes. */
uint32_t permission_bits(const struct caller *who, uint32_t mode, uint32_t uid, uint32_t gid);

struct db;
struct refusal;

/* What is at a path, and on what its permission hangs. */
struct permission_target {
	bool exists;
	struct entry entry;  /* if it exists */
	struct entry parent; /* the directory that holds the name, or the deepest that exists */
	bool parent_exists;  /* `parent` is the direct parent; always when exists */
};

/*
 * Walk @path as @who: every directory on the way must let it pass. -EACCES, -ENOTDIR. A missing
 * part is no error: see @out.
 */
int permission_walk(struct db *db, int64_t rev, const struct caller *who, const char *path,
		    struct permission_target *out);
/*
 * May @who claim and write @path? An existing directory: write permission on it. An existing file:
 * on it, or on its directory. Nothing there: on the deepest directory that exists. -EACCES, and
 * what permission_walk says.
 */
int permission_write(struct db *db, int64_t rev, const struct caller *who, const char *path,
		     struct permission_target *out);
/*
 * May @who learn the content at @path, a hash of it included: the way there, and read permission on
 * what is there. -EACCES, -ENOTDIR.
 */
int permission_read(struct db *db, int64_t rev, const struct caller *who, const char *path,
		    struct permission_target *out);
/*
 * permission_write() once more, inside the transaction: since it was asked first somebody may have
 * made what was missing, or closed what was open (P8). Called before the change, whose own refusal
 * comes first: 0, or -EACCES for permission_refuse().
 */
int permission_recheck(struct db *db, const struct caller *who, const char *path);
int permission_refuse(struct refusal *out, const char *path, int64_t token);
/*
 * May @who remove the name: write permission on its directory, and the sticky rule. -ENOENT,
 * -EACCES, -EPERM.
 */
int permission_remove(struct db *db, int64_t rev, const struct caller *who, const char *path,
		      struct permission_target *out);

#endif
