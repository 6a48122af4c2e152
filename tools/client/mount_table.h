/* SPDX-License-Identifier: MIT */
/* /proc/self/mountinfo. */
#ifndef FENCE_TOOLS_CLIENT_MOUNT_TABLE_H
#define FENCE_TOOLS_CLIENT_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_row {
	uint64_t id; /* of the mount, as statx(2) gives it */
	dev_t dev;
	char *root;   /* what of the file system is mounted; "/" is all */
	char *point;  /* where */
	char *source; /* for fencefs: the store, as it was given, also of a dead mount */
	bool is_fencefs;
};

struct mount_table {
	struct mount_row *rows; /* owned, with their strings */
	int n;
};

int mount_table_read(struct mount_table *out);
void mount_table_fini(struct mount_table *t);

/* NULL: none. */
const struct mount_row *mount_by_id(const struct mount_table *t, uint64_t id);
/* The last (topmost) mount at exactly @point. */
const struct mount_row *mount_by_point(const struct mount_table *t, const char *point);
/* A mount of all of the file system on @dev. */
const struct mount_row *mount_whole(const struct mount_table *t, dev_t dev);

/*
 * One line of mountinfo, without LF, is changed while it is taken apart. False: malformed. The
 * strings of *out are malloc'd.
 */
bool mount_row_parse(char *line, struct mount_row *out);

#define auto_mount_table __attribute__((cleanup(mount_table_fini)))

#endif
