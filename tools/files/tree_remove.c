/* SPDX-License-Identifier: MIT */
/*
 * fts(3) changes into the directories as it goes, so depth is limited neither by PATH_MAX nor by
 * descriptors.
 */
#include "files/tree_remove.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <unistd.h>

static int remove_entry(const FTSENT *e)
{
	switch (e->fts_info) {
	case FTS_D:
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return -e->fts_errno;
	case FTS_DP:
		return rmdir(e->fts_accpath) < 0 ? -errno : 0;
	default:
		return unlink(e->fts_accpath) < 0 ? -errno : 0;
	}
}

int tree_remove(const char *path, struct buf *out_failed)
{
	char *top = str_copy(path);
	char *const tops[] = { top, NULL };
	FTS *fts = fts_open(tops, FTS_PHYSICAL, NULL);
	FTSENT *e;
	int r = fts ? 0 : -errno;

	while (r == 0 && (errno = 0, e = fts_read(fts))) {
		r = remove_entry(e);
		if (r < 0)
			buf_str(out_failed, e->fts_path);
	}
	if (r == 0 && errno)
		r = -errno;
	if (fts)
		fts_close(fts);
	free(top);
	return r;
}
