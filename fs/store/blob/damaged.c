/* SPDX-License-Identifier: MIT */
/* See damaged.h. Layer: store. */
#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/sqlite/setting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DAMAGED "damaged/"
#define ASIDE	"aside/"

struct name {
	char s[sizeof(DAMAGED) + 32];
};

static struct name name_of(const char *prefix, const struct blob_id *id)
{
	struct name n;

	snprintf(n.s, sizeof(n.s), "%s%s", prefix, blob_hex(id->b).s);
	return n;
}

static int is_set(struct db *db, struct name n)
{
	int64_t since;
	int err = setting_get(db, n.s, &since);

	if (err == -ENOENT)
		return 0;
	return err ? err : 1;
}

int damaged_mark(struct db *db, const struct blob_id *id, int64_t now_ns)
{
	struct name n = name_of(DAMAGED, id);
	int res = is_set(db, n);

	if (res)
		return res < 0 ? res : 0;
	return setting_set(db, n.s, now_ns);
}

int damaged_set_aside(struct db *db, const struct blob_id *id, int64_t now_ns)
{
	int err = damaged_mark(db, id, now_ns);

	return err ? err : setting_set(db, name_of(ASIDE, id).s, now_ns);
}

int damaged_unmark(struct db *db, const struct blob_id *id)
{
	int err = setting_drop(db, name_of(DAMAGED, id).s);

	return err ? err : setting_drop(db, name_of(ASIDE, id).s);
}

int damaged_is_marked(struct db *db, const struct blob_id *id)
{
	return is_set(db, name_of(DAMAGED, id));
}

int damaged_is_aside(struct db *db, const struct blob_id *id)
{
	return is_set(db, name_of(ASIDE, id));
}

/* The first name of a mark after @after. */
static int next(struct db *db, const char *after, struct blob_id *out)
{
	auto_stmt struct stmt *st = NULL;
	char name[sizeof(struct name)];
	struct blob_id id;
	int res = db_stmt(
		db,
		"SELECT name FROM setting WHERE name > ?1 AND name < 'damaged0' ORDER BY name LIMIT 1",
		&st);

	if (res)
		return res;
	stmt_text(st, 1, after);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	res = stmt_get_str(st, 0, name, sizeof(name));
	if (!res && blob_hex_parse(name + strlen(DAMAGED), id.b))
		res = -EUCLEAN;
	if (!res)
		*out = id;
	return res;
}

int damaged_next(struct db *db, const struct blob_id *after, struct blob_id *out)
{
	struct name n = after ? name_of(DAMAGED, after) : (struct name){ DAMAGED };

	return next(db, n.s, out);
}

int damaged_any(struct db *db)
{
	struct blob_id id;
	int err = next(db, DAMAGED, &id);

	if (err == -ENOENT)
		return 0;
	return err ? err : 1;
}

int damaged_count(struct db *db, int64_t *out)
{
	return db_int(
		db,
		"SELECT (SELECT count(*) FROM setting WHERE name > 'damaged/' AND name < 'damaged0')"
		" - (SELECT count(*) FROM setting WHERE name > 'aside/' AND name < 'aside0')",
		out);
}
