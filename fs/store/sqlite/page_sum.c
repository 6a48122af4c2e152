/* SPDX-License-Identifier: MIT */
/* See page_sum.h. Layer: store. */
#include "store/sqlite/page_sum.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#define VFS_NAME  "fencefs"
#define HEADER	  100
#define RESERVED  20 /* the byte of the header that says how much of each page is left free */
#define SUM_BYTES 8
#define SUM_AT	  (PAGE_SUM_PAGE - SUM_BYTES)
#define ROWS	  13 /* the first byte of a leaf of a table's tree */

/* Operations of our own for sqlite3_file_control(); SQLite leaves numbers from 100 on to others. */
enum { CONTROL_ASK = 0x66656e63, CONTROL_SET, CONTROL_TOLERATE };

/*
 * Like the VFS itself, of the process: SQLite gives a file of it nothing that leads to its owner.
 */
static atomic_uint_fast64_t misses, last_miss;

/* What SQLite has of a database's file. The system's own follows in memory. */
struct sum_file {
	sqlite3_file base; /* first */
	bool is_on;
	bool has_tolerated;
	enum page_sum_tolerance tolerance;
};

struct tolerate {
	enum page_sum_tolerance how;
	bool has_tolerated; /* set by the call */
};

static struct sum_file *sum_file_of(sqlite3_file *file)
{
	return (struct sum_file *)(void *)file;
}

static sqlite3_file *real(sqlite3_file *file)
{
	return (sqlite3_file *)(void *)(sum_file_of(file) + 1);
}

static bool is_page(int n, sqlite3_int64 at)
{
	return n == PAGE_SUM_PAGE && at % PAGE_SUM_PAGE == 0;
}

static uint64_t sum_of(const unsigned char *page, sqlite3_int64 at)
{
	return XXH3_64bits_withSeed(page, SUM_AT, (uint64_t)(at / PAGE_SUM_PAGE + 1));
}

static void put_sum(unsigned char *page, uint64_t sum)
{
	for (int i = 0; i < SUM_BYTES; i++)
		page[SUM_AT + i] = (unsigned char)(sum >> (8 * i));
}

static uint64_t get_sum(const unsigned char *page)
{
	uint64_t sum = 0;

	for (int i = 0; i < SUM_BYTES; i++)
		sum |= (uint64_t)page[SUM_AT + i] << (8 * i);
	return sum;
}

static bool is_blank(const unsigned char *page)
{
	return page[0] == 0 && memcmp(page, page + 1, PAGE_SUM_PAGE - 1) == 0;
}

static bool is_right(const unsigned char *page, sqlite3_int64 at)
{
	return get_sum(page) == sum_of(page, at) || is_blank(page);
}

static bool has_room(const unsigned char *header)
{
	return memcmp(header, "SQLite format 3", 16) == 0 && header[RESERVED] == SUM_BYTES;
}

/* A header whose very byte about it was damaged must not switch the sums off. */
static bool had_room(unsigned char *page)
{
	page[RESERVED] = SUM_BYTES;
	return get_sum(page) == sum_of(page, 0);
}

/*
 * Whether the file has sums. Where that cannot be read it must not be opened: pages would be
 * written without.
 */
static int find_sums(sqlite3_file *file, bool *out)
{
	unsigned char page[PAGE_SUM_PAGE];
	int code = file->pMethods->xRead(file, page, PAGE_SUM_PAGE, 0);

	if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)
		return code;
	/* Short: new, and empty; or nothing that SQLite takes for a database of ours. */
	*out = code == SQLITE_OK && (has_room(page) || had_room(page));
	return SQLITE_OK;
}

/* ------------------------------------------------------------------------------------- the file */

static int sum_close(sqlite3_file *file)
{
	return real(file)->pMethods->xClose(real(file));
}

/* Whoever reads it again is told with an error; the log need not be filled with one page. */
static void say_miss(uint64_t pgno)
{
	atomic_fetch_add(&misses, 1);
	if (atomic_exchange(&last_miss, pgno) != pgno)
		log_error("database: page %" PRIu64 " is damaged: it does not match its checksum",
			  pgno);
}

/*
 * Of a page that is damaged, so the byte itself may be; then SQLite takes the rest for what it is
 * not.
 */
static bool is_tolerated(const struct sum_file *f, const unsigned char *page)
{
	return f->tolerance == PAGE_SUM_ALL || (f->tolerance == PAGE_SUM_ROWS && page[0] == ROWS);
}

static int sum_read(sqlite3_file *file, void *buf, int n, sqlite3_int64 at)
{
	struct sum_file *f = sum_file_of(file);
	int code = real(file)->pMethods->xRead(real(file), buf, n, at);

	if (code != SQLITE_OK || !f->is_on || !is_page(n, at) || is_right(buf, at))
		return code;
	say_miss((uint64_t)(at / PAGE_SUM_PAGE + 1));
	if (!is_tolerated(f, buf))
		return SQLITE_IOERR_DATA;
	f->has_tolerated = true;
	return SQLITE_OK;
}

static int sum_write(sqlite3_file *file, const void *buf, int n, sqlite3_int64 at)
{
	struct sum_file *f = sum_file_of(file);
	unsigned char page[PAGE_SUM_PAGE];

	if (at == 0 && n >= HEADER)
		f->is_on = has_room(buf);
	if (f->is_on && is_page(n, at)) {
		memcpy(page, buf, PAGE_SUM_PAGE);
		put_sum(page, sum_of(page, at));
		buf = page;
	}
	return real(file)->pMethods->xWrite(real(file), buf, n, at);
}

static int sum_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return real(file)->pMethods->xTruncate(real(file), size);
}

static int sum_sync(sqlite3_file *file, int flags)
{
	return real(file)->pMethods->xSync(real(file), flags);
}

static int sum_size(sqlite3_file *file, sqlite3_int64 *out)
{
	return real(file)->pMethods->xFileSize(real(file), out);
}

static int sum_lock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xLock(real(file), level);
}

static int sum_unlock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xUnlock(real(file), level);
}

static int sum_is_reserved(sqlite3_file *file, int *out)
{
	return real(file)->pMethods->xCheckReservedLock(real(file), out);
}

static void tolerate(struct sum_file *f, struct tolerate *t)
{
	t->has_tolerated = f->has_tolerated;
	f->has_tolerated = false;
	f->tolerance = t->how;
}

static int sum_control(sqlite3_file *file, int op, void *arg)
{
	if (op == CONTROL_ASK)
		*(bool *)arg = sum_file_of(file)->is_on;
	else if (op == CONTROL_SET)
		sum_file_of(file)->is_on = *(const bool *)arg;
	else if (op == CONTROL_TOLERATE)
		tolerate(sum_file_of(file), arg);
	else
		return real(file)->pMethods->xFileControl(real(file), op, arg);
	return SQLITE_OK;
}

static int sum_sector(sqlite3_file *file)
{
	return real(file)->pMethods->xSectorSize(real(file));
}

static int sum_device(sqlite3_file *file)
{
	return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int sum_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
	return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}

static int sum_shm_lock(sqlite3_file *file, int from, int n, int flags)
{
	return real(file)->pMethods->xShmLock(real(file), from, n, flags);
}

static void sum_shm_barrier(sqlite3_file *file)
{
	real(file)->pMethods->xShmBarrier(real(file));
}

static int sum_shm_unmap(sqlite3_file *file, int remove)
{
	return real(file)->pMethods->xShmUnmap(real(file), remove);
}

/* Never mapped: pages are to be compared as they are read. */
static int sum_fetch(sqlite3_file *file, sqlite3_int64 at, int n, void **out)
{
	(void)file;
	(void)at;
	(void)n;
	*out = NULL;
	return SQLITE_OK;
}

static int sum_unfetch(sqlite3_file *file, sqlite3_int64 at, void *page)
{
	(void)file;
	(void)at;
	(void)page;
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	.iVersion = 3,
	.xClose = sum_close,
	.xRead = sum_read,
	.xWrite = sum_write,
	.xTruncate = sum_truncate,
	.xSync = sum_sync,
	.xFileSize = sum_size,
	.xLock = sum_lock,
	.xUnlock = sum_unlock,
	.xCheckReservedLock = sum_is_reserved,
	.xFileControl = sum_control,
	.xSectorSize = sum_sector,
	.xDeviceCharacteristics = sum_device,
	.xShmMap = sum_shm_map,
	.xShmLock = sum_shm_lock,
	.xShmBarrier = sum_shm_barrier,
	.xShmUnmap = sum_shm_unmap,
	.xFetch = sum_fetch,
	.xUnfetch = sum_unfetch,
};

/* -------------------------------------------------------------------------------------- the VFS */

static sqlite3_vfs *system_of(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	struct sum_file *f = sum_file_of(file);
	int code;

	if (!(flags & SQLITE_OPEN_MAIN_DB)) /* the WAL, journals: theirs alone */
		return system_of(vfs)->xOpen(system_of(vfs), name, file, flags, out);
	memset(f, 0, sizeof(*f));
	code = system_of(vfs)->xOpen(system_of(vfs), name, real(file), flags, out);
	if (code != SQLITE_OK)
		return code;
	code = find_sums(real(file), &f->is_on);
	if (code != SQLITE_OK) {
		real(file)->pMethods->xClose(real(file));
		return code;
	}
	f->base.pMethods = &methods;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return system_of(vfs)->xDelete(system_of(vfs), name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	return system_of(vfs)->xAccess(system_of(vfs), name, flags, out);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	return system_of(vfs)->xFullPathname(system_of(vfs), name, room, out);
}

static int vfs_random(sqlite3_vfs *vfs, int n, char *out)
{
	return system_of(vfs)->xRandomness(system_of(vfs), n, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return system_of(vfs)->xSleep(system_of(vfs), us);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
	return system_of(vfs)->xCurrentTime(system_of(vfs), out);
}

static int vfs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
	return system_of(vfs)->xCurrentTimeInt64(system_of(vfs), out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int room, char *out)
{
	return system_of(vfs)->xGetLastError(system_of(vfs), room, out);
}

/*
 * SQLite keeps it in a list of the process for good: the one object here that is not on a stack or
 * owned.
 */
static sqlite3_vfs sum_vfs = {
	.iVersion = 2,
	.zName = VFS_NAME,
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_path,
	.xRandomness = vfs_random,
	.xSleep = vfs_sleep,
	.xCurrentTime = vfs_time,
	.xCurrentTimeInt64 = vfs_time_ms,
	.xGetLastError = vfs_last_error,
};

static void register_vfs(void)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);

	if (!system || system->iVersion < 2)
		return;
	sum_vfs.szOsFile = (int)sizeof(struct sum_file) + system->szOsFile;
	sum_vfs.mxPathname = system->mxPathname;
	sum_vfs.pAppData = system;
	sqlite3_vfs_register(&sum_vfs, 0);
}

const char *page_sum_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_vfs);
	return sqlite3_vfs_find(VFS_NAME) ? VFS_NAME : NULL;
}

uint64_t page_sum_misses(void)
{
	return atomic_load(&misses);
}

int page_sum_want(sqlite3 *sq)
{
	int room = SUM_BYTES;

	return sqlite3_file_control(sq, "main", SQLITE_FCNTL_RESERVE_BYTES, &room);
}

bool page_sum_is_on(sqlite3 *sq)
{
	bool on = false;

	return sqlite3_file_control(sq, "main", CONTROL_ASK, &on) == SQLITE_OK && on;
}

bool page_sum_tolerate(sqlite3 *sq, enum page_sum_tolerance how)
{
	struct tolerate t = { how, false };

	sqlite3_file_control(sq, "main", CONTROL_TOLERATE, &t);
	return t.has_tolerated;
}

void page_sum_as(sqlite3 *to, sqlite3 *from)
{
	bool on = page_sum_is_on(from);

	sqlite3_file_control(to, "main", CONTROL_SET, &on);
}

static sqlite3_file *file_of(sqlite3 *sq)
{
	sqlite3_file *file = NULL;
	int code = sqlite3_file_control(sq, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	return code == SQLITE_OK && file && file->pMethods == &methods ? file : NULL;
}

static sqlite3_int64 place_of(uint32_t pgno)
{
	return (sqlite3_int64)(pgno - 1) * PAGE_SUM_PAGE;
}

int page_sum_check(sqlite3 *sq, uint32_t pgno)
{
	unsigned char page[PAGE_SUM_PAGE];
	sqlite3_file *file = file_of(sq);
	int code;

	if (!file)
		return -EBADF;
	code = real(file)->pMethods->xRead(real(file), page, PAGE_SUM_PAGE, place_of(pgno));
	if (code == SQLITE_IOERR_SHORT_READ)
		return -ENODATA;
	return code == SQLITE_OK ? is_right(page, place_of(pgno)) : -EIO;
}

int page_sum_renew(sqlite3 *sq, uint32_t pgno)
{
	unsigned char page[PAGE_SUM_PAGE];
	sqlite3_file *file = file_of(sq);

	if (!file || real(file)->pMethods->xRead(real(file), page, PAGE_SUM_PAGE, place_of(pgno)) !=
			     SQLITE_OK)
		return -EIO;
	put_sum(page, sum_of(page, place_of(pgno)));
	if (real(file)->pMethods->xWrite(real(file), page, PAGE_SUM_PAGE, place_of(pgno)) !=
	    SQLITE_OK)
		return -EIO;
	return 1;
}

int page_sum_sync(sqlite3 *sq)
{
	sqlite3_file *file = file_of(sq);

	return file && real(file)->pMethods->xSync(real(file), SQLITE_SYNC_FULL) == SQLITE_OK ?
		       0 :
		       -EIO;
}
