/* SPDX-License-Identifier: MIT */
/*
 * Invariant 1, the pages: each is as it was written, and if not, what is on it. Layer: store.
 *
 * SQLite's own check sees the shape of a page, not what is in its rows; the sums see all of it
 * (page_sum.h). What a damaged page held cannot be read from there, but most of it is told twice: a
 * row's path stands in an index, too.
 *
 * Beside a running daemon a page may be looked at while it is being written; it is looked at again.
 */
#include "store/tree/entry.h"
#include "store/fsck/fsck_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAGES_TOLD 100 /* one by one; of more than that the number */
#define RECHECKS   5
#define RECHECK_NS 20000000

/* 1: right.  0: not.  -EIO: the disk does not give it.  -errno: there is none, or no sums. */
static int look(struct fsck *f, uint32_t pgno)
{
	const struct timespec pause = { .tv_nsec = RECHECK_NS };
	int res = db_page_check(f->db, pgno);

	for (int i = 0; res == 0 && f->opt.is_live && i < RECHECKS; i++) {
		nanosleep(&pause, NULL);
		res = db_page_check(f->db, pgno);
	}
	return res;
}

static int tell_page(struct fsck *f, uint32_t pgno, int why, int64_t n)
{
	struct fsck_finding x;

	if (n > PAGES_TOLD)
		return 0;
	if (why < 0)
		fsck_finding_init(&x, FSCK_DATABASE, "meta.db: page %" PRIu32 " cannot be read: %s",
				  pgno, strerror(-why));
	else
		fsck_finding_init(&x, FSCK_DATABASE,
				  "meta.db: page %" PRIu32
				  " does not match its checksum: it is damaged",
				  pgno);
	return fsck_report(f, &x);
}

static int tell_rest(struct fsck *f, int64_t n)
{
	struct fsck_finding x;

	if (n <= PAGES_TOLD)
		return 0;
	fsck_finding_init(&x, FSCK_DATABASE, "meta.db: %" PRId64 " pages are damaged", n);
	return fsck_report(f, &x);
}

/* What stands in an index about a row of entry. */
struct entry_key {
	int64_t row, dir, born;
	char name[FENCE_NAME_MAX + 1];
};

static int load_key(struct stmt *st, struct entry_key *out)
{
	out->row = stmt_get_int(st, 0);
	out->dir = stmt_get_int(st, 1);
	out->born = stmt_get_int(st, 2);
	return stmt_get_str(st, 3, out->name, sizeof(out->name));
}

/*
 * The path as it is now: where its directory was then is on the page that is gone, as like as not.
 */
static void name_key(struct fsck *f, const struct entry_key *k, struct fsck_finding *x)
{
	char dir[FENCE_PATH_MAX + 1];

	x->row = k->row;
	if (k->dir == 0)
		memcpy(x->path, ".", 2);
	else if (entry_path(f->db, k->dir, ENTRY_NOW, dir) || path_join(dir, k->name, x->path))
		snprintf(x->path, sizeof(x->path), "#%" PRId64 "/%s", k->dir, k->name);
}

/* The version before it, in the order of revisions, is one less. */
static int64_t version_before(struct fsck *f, const struct entry_key *k)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db,
			  "SELECT seq FROM entry INDEXED BY entry_past WHERE dir = ?1 AND name = ?2"
			  " AND born < ?3 ORDER BY born DESC LIMIT 1",
			  &st);

	if (res)
		return -1;
	stmt_int(st, 1, k->dir);
	stmt_path(st, 2, k->name);
	stmt_int(st, 3, k->born);
	res = stmt_step(st);
	return res > 0 ? stmt_get_int(st, 0) : res < 0 ? -1 : 0;
}

static int tell_row(struct fsck *f, const struct entry_key *k)
{
	struct fsck_finding x;
	int64_t before = version_before(f, k);

	fsck_finding_init(&x, FSCK_DATABASE,
			  "meta.db: the version of revision %" PRId64 " cannot be read", k->born);
	name_key(f, k, &x);
	x.version = before < 0 ? 0 : before + 1;
	return fsck_report(f, &x);
}

/*
 * Whether a query for one row can be answered; what it says does not matter. -errno but -EUCLEAN.
 */
static int can_answer(struct stmt *st, bool *out)
{
	int res = stmt_step(st);

	*out = res >= 0;
	return res == -EUCLEAN ? 0 : res < 0 ? res : 0;
}

static int is_readable(struct fsck *f, int64_t row, bool *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, "SELECT op FROM entry WHERE id = ?1", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	return can_answer(st, out);
}

static int look_at_key(struct fsck *f, struct stmt *st, void *arg)
{
	struct entry_key k;
	bool readable = false;
	int res = load_key(st, &k);

	(void)arg;
	if (!res)
		res = is_readable(f, k.row, &readable);
	return res || readable ? res : tell_row(f, &k);
}

static const char *const searches[] = {
	"SELECT id FROM entry INDEXED BY entry_current"
	" WHERE dir = ?1 AND name = ?2 AND died IS NULL",
	"SELECT id FROM entry INDEXED BY entry_past"
	" WHERE dir = ?1 AND name = ?2 AND born >= ?3",
};

static int can_be_found(struct fsck *f, const struct entry_key *k, const char *sql, bool *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, sql, &st);

	if (res)
		return res;
	stmt_int(st, 1, k->dir);
	stmt_path(st, 2, k->name);
	if (sql == searches[1])
		stmt_int(st, 3, k->born);
	return can_answer(st, out);
}

static int look_for_row(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	struct entry_key k;
	bool found = true;
	int res = load_key(st, &k);

	(void)arg;
	for (size_t i = 0; !res && found && i < sizeof(searches) / sizeof(searches[0]); i++)
		res = can_be_found(f, &k, searches[i], &found);
	if (res || found)
		return res;
	fsck_finding_init(&x, FSCK_DATABASE,
			  "meta.db: this version cannot be found by its name: an index is damaged");
	fsck_name_row(f, k.row, &x);
	return fsck_report(f, &x);
}

/* Content in the database lies on pages, too. --data, which reads all content, comes later. */
static int look_at_content(struct fsck *f)
{
	struct fsck_blob b;
	enum fsck_state state = FSCK_GOOD;
	int res, disk = 0;

	for (b.n = 0; (res = fsck_blobs(f, b.n, &b, 1)) > 0;) {
		res = b.is_inline ? fsck_read(f->s, &b, NULL, NULL, &state, &disk) : 0;
		if (!res && b.is_inline)
			res = fsck_judge(f, &b, state, disk);
		if (res >= 0)
			res = fsck_tick(f);
		if (res)
			return res;
	}
	return fsck_survive(f, "the table blob", res);
}

static int tell_what_is_gone(struct fsck *f)
{
	int err = fsck_query(f, "the index entry_past",
			     "SELECT id, dir, born, name FROM entry INDEXED BY entry_past"
			     " WHERE dir >= 0 AND name >= x'' ORDER BY dir, name, born",
			     look_at_key, NULL);

	if (!err)
		err = fsck_query(f, "the table entry",
				 "SELECT id, dir, born, name FROM entry NOT INDEXED"
				 " WHERE died IS NULL",
				 look_for_row, NULL);
	return err || f->opt.is_thorough ? err : look_at_content(f);
}

int fsck_check_pages(struct fsck *f)
{
	int64_t bad = 0;
	int res = 0;

	for (uint32_t pgno = 1; !res; pgno++) {
		res = look(f, pgno);
		if (res == 0 || res == -EIO)
			res = tell_page(f, pgno, res, ++bad);
		else if (res > 0)
			res = fsck_tick(f);
	}
	if (res == -ENODATA || res == -EOPNOTSUPP) /* the end; or a database without sums */
		res = 0;
	if (!res)
		res = tell_rest(f, bad);
	return res || !bad ? res : tell_what_is_gone(f);
}
