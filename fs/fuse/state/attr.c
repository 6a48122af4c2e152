/* SPDX-License-Identifier: MIT */
/* See attr.h. Layer: fuse. */
#include "fuse/state/attr.h"

#include "fuse/state/fs.h"

#include <string.h>

#define NS_PER_S INT64_C(1000000000)

static const struct {
	mode_t type;
	blksize_t blksize;
} shapes[] = {
	[ENTRY_FILE] = { S_IFREG, 128 * 1024 },
	[ENTRY_DIR] = { S_IFDIR, 4096 },
	[ENTRY_SYMLINK] = { S_IFLNK, 4096 },
};

static struct timespec time_of(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	if (ts.tv_nsec < 0) {
		ts.tv_sec--;
		ts.tv_nsec += NS_PER_S;
	}
	return ts;
}

void attr_fill(const struct node *n, struct stat *out)
{
	memset(out, 0, sizeof(*out));
	out->st_ino = n->ino;
	out->st_mode = shapes[n->kind].type | n->mode;
	out->st_nlink = 1;
	out->st_uid = n->uid;
	out->st_gid = n->gid;
	out->st_size = n->size;
	out->st_blocks = n->blocks;
	out->st_blksize = shapes[n->kind].blksize;
	out->st_mtim = time_of(n->mtime);
	out->st_ctim = time_of(n->ctime);
	out->st_atim = out->st_mtim;
}

double attr_timeout(const struct node *n)
{
	return n->cacheable ? CACHE_FOREVER : 0;
}

void attr_entry(const struct node *n, uint64_t nodeid, struct fuse_entry_param *out)
{
	*out = (struct fuse_entry_param){ .ino = nodeid,
					  .attr_timeout = attr_timeout(n),
					  .entry_timeout = attr_timeout(n) };
	attr_fill(n, &out->attr);
}
