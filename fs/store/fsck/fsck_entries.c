/* SPDX-License-Identifier: MIT */
/*
 * Invariants 2 to 5 and 9: the rows of entry, each by itself and in the order of names. Layer:
 * store.
 */
#include "store/tree/entry.h"
#include "store/fsck/fsck_impl.h"

#include <inttypes.h>
#include <string.h>

static int bad_fields(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;

	(void)arg;
	fsck_finding_init(&x, FSCK_ENTRY_FIELDS, "row %" PRId64 " of entry is malformed",
			  stmt_get_int(st, 0));
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	return fsck_report(f, &x);
}

static int check_fields(struct fsck *f)
{
	return fsck_query(
		f, "table entry",
		"SELECT id FROM entry WHERE kind NOT IN (1, 2, 3) OR born < 0"
		" OR (died IS NOT NULL AND died <= born) OR seq < 1 OR size < 0 OR mode & ~4095"
		" OR token < 0 OR (kind = 2) <> (child IS NOT NULL)"
		" OR (child IS NOT NULL AND child < 1) OR (kind = 3) <> (target IS NOT NULL)"
		" OR (kind = 3 AND length(target) <> size)"
		" OR (blob IS NOT NULL AND (kind <> 1 OR length(blob) <> 16))"
		" OR (kind = 1 AND blob IS NULL AND size <> 0)"
		" OR length(name) > 255 OR (dir = 0) <> (length(name) = 0) OR dir < 0"
		" OR (dir = 0 AND child IS NOT 1) OR name IN (x'2e', x'2e2e')"
		" OR instr(name, x'2f') OR instr(name, x'00')"
		" OR (dir = 1 AND name = x'2e66656e6365')",
		bad_fields, NULL);
}

static int too_new(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	int64_t at = stmt_get_int(st, 1);

	(void)arg;
	fsck_finding_init(&x, FSCK_REVISION,
			  "born or died at revision %" PRId64 ", the newest is %" PRId64, at,
			  f->revision);
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	x.action = FSCK_ADD_REVISION;
	x.number = at;
	return fsck_report(f, &x);
}

static int check_revisions(struct fsck *f)
{
	return fsck_query_int(f, "table entry",
			      "SELECT id, max(born, ifnull(died, 0)) FROM entry"
			      " WHERE born > ?1 OR died > ?1",
			      f->revision, too_new, NULL);
}

/* A row in the order of names. */
struct version {
	int64_t row, dir, born, until, seq; /* until INT64_MAX: current */
	size_t len;
	char name[FENCE_NAME_MAX + 1];
};

/*
 * Was directory @dir, with all above it, in one place from revision @from to @to, as far as the
 * rows that are left tell? Only then are its versions numbered in one sequence.
 */
static int stayed(struct fsck *f, int64_t dir, int64_t from, int64_t to, bool *out)
{
	*out = false;
	for (int depth = 0; dir > 1 && depth < FENCE_PATH_MAX; depth++) {
		auto_stmt struct stmt *st = NULL;
		int64_t n, places, covered, parent;
		int res = db_stmt(f->db,
				  "SELECT count(*), count(DISTINCT dir) + count(DISTINCT name),"
				  " sum(min(ifnull(died, ?3), ?3) - max(born, ?2)), min(dir)"
				  " FROM entry WHERE child = ?1 AND born <= ?3"
				  " AND (died IS NULL OR died > ?2)",
				  &st);

		if (res)
			return res;
		stmt_int(st, 1, dir);
		stmt_int(st, 2, from);
		stmt_int(st, 3, to);
		res = stmt_step(st);
		if (res <= 0)
			return res;
		n = stmt_get_int(st, 0);
		places = stmt_get_int(st, 1);
		covered = stmt_get_int(st, 2);
		parent = stmt_get_int(st, 3);
		if (n == 0 || places != 2 || covered != to - from)
			return 0;
		dir = parent;
	}
	*out = dir == 1;
	return 0;
}

static int report_pair(struct fsck *f, enum fsck_rule rule, const struct version *a,
		       const struct version *b)
{
	struct fsck_finding x;

	fsck_finding_init(&x, rule,
			  "version %" PRId64 " (row %" PRId64 ", born at revision %" PRId64
			  ") and version %" PRId64 " (row %" PRId64 ", born at %" PRId64
			  ") of one name %s",
			  a->seq, a->row, a->born, b->seq, b->row, b->born,
			  rule == FSCK_ONE_CURRENT ? "are both current" :
			  rule == FSCK_OVERLAP	   ? "overlap" :
						     "are not numbered upwards");
	/* The younger one stays where it is. */
	fsck_name_row(f, a->row, &x);
	if (rule != FSCK_VERSIONS)
		x.action = FSCK_REHOME;
	return fsck_report(f, &x);
}

static int compare(struct fsck *f, const struct version *a, const struct version *b)
{
	bool one_sequence;
	int err;

	if (a->until == INT64_MAX && b->until == INT64_MAX)
		return report_pair(f, FSCK_ONE_CURRENT, a, b);
	if (a->until > b->born)
		return report_pair(f, FSCK_OVERLAP, a, b);
	if (a->seq < b->seq)
		return 0;
	/* From when the older was last seen to when the younger was made. */
	err = stayed(f, b->dir, a->until - 1, b->born, &one_sequence);
	if (err || !one_sequence)
		return err;
	return report_pair(f, FSCK_VERSIONS, a, b);
}

static int next_version(struct fsck *f, struct stmt *st, void *arg)
{
	struct version *last = arg;
	struct version v = {
		.row = stmt_get_int(st, 0),
		.dir = stmt_get_int(st, 1),
		.born = stmt_get_int(st, 3),
		.until = stmt_is_null(st, 4) ? INT64_MAX : stmt_get_int(st, 4),
		.seq = stmt_get_int(st, 5),
	};
	int err = 0;

	f->totals.entries++;
	if (stmt_get_str(st, 2, v.name, sizeof(v.name)))
		return 0; /* invariant 2 */
	v.len = strlen(v.name);
	if (last->row && last->dir == v.dir && last->len == v.len &&
	    memcmp(last->name, v.name, v.len) == 0)
		err = compare(f, last, &v);
	*last = v;
	return err;
}

int fsck_check_entries(struct fsck *f)
{
	struct version last = { 0 };
	int err = check_fields(f);

	if (!err)
		err = check_revisions(f);
	if (!err)
		err = fsck_query(f, "table entry",
				 "SELECT id, dir, name, born, died, seq FROM entry"
				 " ORDER BY dir, name, born",
				 next_version, &last);
	return err;
}
