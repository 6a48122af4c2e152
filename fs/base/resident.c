/* SPDX-License-Identifier: MIT */
/*
 * cachestat(2), which Linux has since 6.5, else mincore(2) on a mapping that is never touched: a
 * file that is shorter than it was would answer that with SIGBUS. On overlayfs cachestat looks at
 * the file of the overlay, which has no pages, and mincore at the one beneath (Linux 6.18:
 * ovl_mmap()). Layer: base.
 */
#include "base/resident.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE_PAGES 4096 /* as many bytes on the stack */

/*
 * Not in the headers of all supported distributions; the number is the same on every machine but
 * Alpha.
 */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

struct range {
	uint64_t off, len;
};

struct counts {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static off_t pages_of(off_t len, off_t page)
{
	return (len + page - 1) / page;
}

static int by_cachestat(int fd, off_t off, off_t len, off_t page)
{
	struct range range = { (uint64_t)off, (uint64_t)len };
	struct counts counts = { 0 };

	if (syscall(SYS_cachestat, fd, &range, &counts, 0) < 0)
		return -errno;
	if (counts.cached == 0)
		return -ENODATA;
	return counts.cached >= (uint64_t)pages_of(len, page);
}

static int by_mincore_piece(int fd, off_t off, size_t len, off_t page)
{
	unsigned char vec[PIECE_PAGES];
	off_t n = pages_of((off_t)len, page);
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, off);
	int res = 1;

	if (map == MAP_FAILED)
		return -errno;
	if (mincore(map, len, vec) < 0)
		res = -errno;
	for (off_t i = 0; res > 0 && i < n; i++)
		res = vec[i] & 1;
	munmap(map, len);
	return res;
}

static int by_mincore(int fd, off_t off, off_t len, off_t page)
{
	const off_t piece = PIECE_PAGES * page;
	int res = 1;

	for (off_t done = 0; res > 0 && done < len; done += piece)
		res = by_mincore_piece(fd, off + done,
				       (size_t)(len - done < piece ? len - done : piece), page);
	return res;
}

int resident(int fd, off_t off, off_t len)
{
	off_t page = sysconf(_SC_PAGESIZE);
	int res;

	if (len <= 0)
		return 1;
	res = by_cachestat(fd, off, len, page);
	return res < 0 ? by_mincore(fd, off, len, page) : res;
}
