/* SPDX-License-Identifier: MIT */
/* What a view shows at a name: the attributes of one file, directory or symlink. Plain data. */
#ifndef FENCE_CORE_VIEW_NODE_H
#define FENCE_CORE_VIEW_NODE_H

#include "store/tree/entry.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct node {
	/*
	 * Identity within the view. Directories: their directory id (> 0 in the store, < 0 made in
	 * this session). Files and symlinks: > 0 the row of an unmodified version, < 0 content made
	 * in this session. A file and a directory may have the same number: (kind == ENTRY_DIR, id)
	 * is the key.
	 */
	int64_t id;
	uint64_t ino; /* st_ino: stays when a session begins to change a file, while id does not */
	enum entry_kind kind;
	uint32_t mode; /* 07777 */
	uint32_t uid, gid;
	int64_t size;
	int64_t mtime, ctime; /* ns since the epoch */
	int64_t blocks;	      /* 512-byte units */
	bool cacheable; /* false: a commit is becoming visible just now; reply with timeout 0 */
};

struct named_node {
	struct node node;
	char name[FENCE_NAME_MAX + 1];
};

/* What setattr changes: the fields of struct node_change whose bit is set. */
enum {
	NODE_MODE = 1 << 0,
	NODE_UID = 1 << 1,
	NODE_GID = 1 << 2,
	NODE_MTIME = 1 << 3,
	NODE_SIZE = 1 << 4,
};

struct node_change {
	unsigned int set;
	uint32_t mode, uid, gid;
	int64_t mtime; /* ns */
	int64_t size;
};

#endif
