/* SPDX-License-Identifier: MIT */
/*
 * Which directories a path was, and when. The past of a path a/b is the union of the pasts of name
 * b in every directory that a ever resolved to, each clipped to the time in which it did.
 */
#ifndef FENCE_STORE_TREE_HISTORY_H
#define FENCE_STORE_TREE_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct db;

/*
 * Directory @dir was at the path from revision @from on, up to but not at @until (INT64_MAX: it
 * still is).
 */
struct history_span {
	int64_t dir, from, until;
};

struct history {
	struct history_span *span; /* owned; by `from`, ascending */
	size_t n, room;
};

void history_fini(struct history *h);
static inline void cleanup_history(struct history *h)
{
	history_fini(h);
}
#define auto_history __attribute__((cleanup(cleanup_history)))

/* The directories that @path ever was, into the zeroed @out. */
int history_dirs(struct db *db, const char *path, struct history *out);
/* The same for the one name of directory 0, which is the root. */
int history_of_root(struct history *out);
/* The highest version number that @name ever had in the directories @h; 0: it never existed. */
int history_seq(struct db *db, const struct history *h, const char *name, int64_t *out);

#endif
