/* SPDX-License-Identifier: MIT */
/* Rows of table entry as struct entry, for the files of this layer that read them. */
#ifndef FENCE_STORE_TREE_ENTRY_ROW_H
#define FENCE_STORE_TREE_ENTRY_ROW_H

#include "store/tree/entry.h"

struct stmt;

#define ENTRY_COLUMNS \
	"id, dir, name, born, died, seq, kind, child, blob, size, mode, uid, gid, mtime, token"

/* The columns of ENTRY_COLUMNS, which come first in @st. -EUCLEAN: not what this layer writes. */
int entry_load(struct stmt *st, struct entry *out);
static inline bool entry_is_visible(const struct entry *e, int64_t rev)
{
	return rev == ENTRY_NOW ? e->died == 0 : e->born <= rev && (e->died == 0 || e->died > rev);
}

/* As entry_lookup() and entry_by_child(), without the time of the last change of names. */
int entry_find(struct db *db, int64_t dir, const char *name, int64_t rev, struct entry *out);
int entry_find_child(struct db *db, int64_t child, int64_t rev, struct entry *out);
/*
 * A directory's names may have changed since its own entry was born: its mtime at @rev is then that
 * of the change. A time that came with the entry itself, in the same or a later revision, is kept:
 * tar and rsync set it after they filled a directory.
 */
int entry_add_dirtime(struct db *db, int64_t rev, struct entry *e);

#endif
