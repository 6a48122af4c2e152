/* SPDX-License-Identifier: MIT */
/*
 * Changing fences: claim, sequence number, reset. Layer: store.
 *
 * P1. Every claim and every commit is one transaction of the one writing connection, so any two of
 * them have an order. A claim of T on p makes highest(q) >= T for p and for every q beneath it,
 * from its transaction on:
 *  - rows are only ever raised (reset, which is root's alone, excepted), so no later transaction
 *    sees less;
 *  - a row is dropped only together with a row above it that is at least as high, which keeps
 *    highest(q) of every q as it was;
 *  - a commit compares its token with highest(q) in the transaction that moves q's pointer: ordered
 *    before the claim, it came first and is what the new owner finds; ordered after, it meets the
 *    raised row and is refused.
 * The claim is acknowledged only after its transaction is durable, so a crash cannot take back what
 * was promised.
 */
#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/fence/fence_range.h"
#include "store/fence/refusal_fill.h"
#include "store/sqlite/changed.h"

#include <errno.h>
#include <string.h>

/* Whom this overtakes has to be told. */
static int tell(struct db *db, const char *path, int64_t token, const char *owner, int64_t now_ns)
{
	return changed_add(db, (struct changed_row){ .kind = CHANGED_FENCE,
						     .number = token,
						     .at = now_ns,
						     .text = path,
						     .owner = owner });
}

/*
 * Insert the row, or raise it: a new ownership generation starts without a sequence number, and the
 * lease of the one before is over.
 * An equal token changes nothing.
 */
static int raise_row(struct db *db, const char *path, int64_t token, const char *owner,
		     int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO fence(path, token, seq, updated, owner) VALUES(?1, ?2, -1, ?3, ?4)"
		" ON CONFLICT(path) DO UPDATE SET token = excluded.token, seq = -1,"
		" updated = excluded.updated, owner = excluded.owner, lease_owner = NULL,"
		" lease_ttl = NULL, lease_expires = NULL WHERE excluded.token > token",
		&st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	stmt_int(st, 3, now_ns);
	stmt_text(st, 4, owner);
	err = stmt_run(st);
	return err || !db_changes(db) ? err : tell(db, path, token, owner, now_ns);
}

/*
 * Drop rows beneath @path that its row makes redundant. A row with a lease stays, and one with a
 * sequence number under this very token, which still orders its owner's commits. Looks at 1,000
 * rows, so that a claim takes bounded time; the next one goes on.
 */
static int drop_redundant(struct db *db, const char *path, int64_t token)
{
	auto_stmt struct stmt *st = NULL;
	struct fence_range range;
	int err = fence_range(path, &range);

	if (!err)
		err = db_stmt(
			db,
			"DELETE FROM fence WHERE path IN (SELECT path FROM"
			" (SELECT path, token, seq, lease_owner FROM fence WHERE path > ?1 AND"
			" path < ?2"
			" AND path <> x'2e' ORDER BY path LIMIT 1000)"
			" WHERE lease_owner IS NULL AND (token < ?3 OR (token = ?3 AND seq < 0)))",
			&st);
	if (err)
		return err;
	fence_bind_range(st, &range);
	stmt_int(st, 3, token);
	return stmt_run(st);
}

int fence_claim(struct db *db, const char *path, int64_t token, const char *owner, int64_t now_ns,
		struct refusal *out)
{
	struct fence_row highest;
	int err;

	if (token < 0)
		return -ERANGE;
	if (strlen(owner) > OWNER_MAX)
		return -EINVAL;
	err = fence_highest(db, path, &highest);
	if (err)
		return err;
	if (token < highest.token)
		return refusal_stale(out, path, token, &highest);
	err = raise_row(db, path, token, owner, now_ns);
	return err ? err : drop_redundant(db, path, token);
}

int fence_advance_seq(struct db *db, const char *path, int64_t token, int64_t seq,
		      struct refusal *out)
{
	auto_stmt struct stmt *st = NULL;
	struct fence_row row;
	int err = fence_get(db, path, &row);

	if (err)
		return err;
	if (token < row.token)
		return refusal_stale(out, path, token, &row);
	if (token == row.token && seq <= row.seq)
		return refusal_seq(out, path, token, seq, &row);
	err = db_stmt(db, "UPDATE fence SET token = ?2, seq = ?3 WHERE path = ?1", &st);
	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	stmt_int(st, 3, seq);
	return stmt_run(st);
}

static int set_row(struct db *db, const char *path, int64_t token, const char *owner,
		   int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "INSERT OR REPLACE INTO fence(path, token, seq, updated, owner)"
			  " VALUES(?1, ?2, -1, ?3, ?4)",
			  &st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	stmt_int(st, 3, now_ns);
	stmt_text(st, 4, owner);
	return stmt_run(st);
}

static int lower_beneath(struct db *db, const char *path, int64_t token, const char *owner,
			 int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	struct fence_range range;
	int err = fence_range(path, &range);

	if (!err)
		err = db_stmt(db,
			      "UPDATE fence SET token = ?3, seq = -1, updated = ?4, owner = ?5,"
			      " lease_owner = NULL,"
			      " lease_ttl = NULL, lease_expires = NULL"
			      " WHERE path > ?1 AND path < ?2 AND path <> x'2e' AND token > ?3",
			      &st);
	if (err)
		return err;
	fence_bind_range(st, &range);
	stmt_int(st, 3, token);
	stmt_int(st, 4, now_ns);
	stmt_text(st, 5, owner);
	return stmt_run(st);
}

int fence_reset(struct db *db, const char *path, int64_t token, const char *owner, int64_t now_ns,
		int64_t *out_old)
{
	struct fence_row highest;
	int err;

	if (token < 0)
		return -ERANGE;
	if (strlen(owner) > OWNER_MAX)
		return -EINVAL;
	err = fence_highest(db, path, &highest);
	if (!err)
		err = set_row(db, path, token, owner, now_ns);
	if (!err)
		err = lower_beneath(db, path, token, owner, now_ns);
	if (!err)
		err = tell(db, path, token, owner, now_ns);
	if (!err)
		*out_old = highest.token;
	return err;
}
