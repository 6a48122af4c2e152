/* SPDX-License-Identifier: MIT */
/*
 * Prepared statements, kept per connection and found by the address of their SQL. Layer: store.
 */
#include "store/sqlite/db_conn.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct stmt {
	sqlite3_stmt *s;   /* owned */
	struct db *db;	   /* borrowed: the connection outlives its statements */
	const char *sql;   /* a string constant */
	struct stmt *next; /* in its bucket */
	int bind_code;	   /* the first error of binding */
	bool busy;	   /* between db_stmt() and stmt_done() */
	bool is_extra; /* not in the cache: its SQL was in use already, by a caller further up */
};

static struct stmt **bucket(struct db *db, const char *sql)
{
	return &db->cache[((uintptr_t)sql >> 4) % DB_CACHE_BUCKETS];
}

static int prepare(struct db *db, const char *sql, struct stmt **out)
{
	struct stmt *st = calloc(1, sizeof(*st));
	int code;

	if (!st)
		return -ENOMEM;
	code = sqlite3_prepare_v3(db->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, &st->s, NULL);
	if (code != SQLITE_OK) {
		free(st);
		return db_fail(db, code);
	}
	st->db = db;
	st->sql = sql;
	*out = st;
	return 0;
}

int db_stmt(struct db *db, const char *sql, struct stmt **out)
{
	struct stmt **head = bucket(db, sql);
	struct stmt *st = *head;
	bool in_use;
	int err;

	while (st && st->sql != sql)
		st = st->next;
	in_use = st && st->busy;
	if (!st || in_use) {
		err = prepare(db, sql, &st);
		if (err)
			return err;
		st->is_extra = in_use;
		if (!in_use) {
			st->next = *head;
			*head = st;
		}
	}
	st->busy = true;
	*out = st;
	return 0;
}

void stmt_done(struct stmt *st)
{
	assert(st->busy);
	if (st->is_extra) {
		sqlite3_finalize(st->s);
		free(st);
		return;
	}
	sqlite3_reset(st->s);
	sqlite3_clear_bindings(st->s);
	st->bind_code = SQLITE_OK;
	st->busy = false;
}

void db_finalize_all(struct db *db)
{
	for (int i = 0; i < DB_CACHE_BUCKETS; i++) {
		while (db->cache[i]) {
			struct stmt *st = db->cache[i];

			assert(!st->busy);
			db->cache[i] = st->next;
			sqlite3_finalize(st->s);
			free(st);
		}
	}
}

static void note_bind(struct stmt *st, int code)
{
	if (code != SQLITE_OK && st->bind_code == SQLITE_OK)
		st->bind_code = code;
}

void stmt_int(struct stmt *st, int param, int64_t value)
{
	note_bind(st, sqlite3_bind_int64(st->s, param, value));
}

void stmt_null(struct stmt *st, int param)
{
	note_bind(st, sqlite3_bind_null(st->s, param));
}

void stmt_text(struct stmt *st, int param, const char *text)
{
	note_bind(st, sqlite3_bind_text(st->s, param, text, -1, SQLITE_STATIC));
}

void stmt_blob(struct stmt *st, int param, const void *data, size_t len)
{
	note_bind(st, sqlite3_bind_blob64(st->s, param, data, len, SQLITE_STATIC));
}

void stmt_path(struct stmt *st, int param, const char *path)
{
	stmt_blob(st, param, path, strlen(path));
}

int stmt_step(struct stmt *st)
{
	int code = st->bind_code;

	if (code == SQLITE_OK)
		code = sqlite3_step(st->s);
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	return db_fail(st->db, code);
}

int stmt_run(struct stmt *st)
{
	int res = stmt_step(st);

	sqlite3_reset(st->s);
	return res > 0 ? -EIO : res;
}

bool stmt_is_null(struct stmt *st, int column)
{
	return sqlite3_column_type(st->s, column) == SQLITE_NULL;
}

int64_t stmt_get_int(struct stmt *st, int column)
{
	return sqlite3_column_int64(st->s, column);
}

/*
 * The bytes of a column (NULL when it has none) and how many; -ENOMEM when SQLite could not load
 * them.
 */
static int column_bytes(struct stmt *st, int column, const void **out, size_t *out_len)
{
	const void *p = sqlite3_column_blob(st->s, column);
	int len = sqlite3_column_bytes(st->s, column);

	if (!p && sqlite3_errcode(st->db->sq) == SQLITE_NOMEM)
		return -ENOMEM;
	*out = p;
	*out_len = p ? (size_t)len : 0;
	return 0;
}

int stmt_get_str(struct stmt *st, int column, char *out, size_t room)
{
	const void *p;
	size_t len;
	int err = column_bytes(st, column, &p, &len);

	if (err)
		return err;
	if (len >= room || (p && memchr(p, '\0', len)))
		return -EUCLEAN;
	if (p)
		memcpy(out, p, len);
	out[len] = '\0';
	return 0;
}

int stmt_get_bytes(struct stmt *st, int column, void *out, size_t len)
{
	const void *p;
	size_t have;
	int err = column_bytes(st, column, &p, &have);

	if (err)
		return err;
	if (!p || have != len)
		return -EUCLEAN;
	memcpy(out, p, len);
	return 0;
}

int stmt_get_copy(struct stmt *st, int column, void **out, size_t *out_len)
{
	const void *p;
	size_t len;
	int err = column_bytes(st, column, &p, &len);
	char *copy;

	if (err)
		return err;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	if (p)
		memcpy(copy, p, len);
	copy[len] = '\0';
	*out = copy;
	*out_len = len;
	return 0;
}

int db_int(struct db *db, const char *sql, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, sql, &st);

	if (res)
		return res;
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	*out = stmt_get_int(st, 0);
	return 0;
}
