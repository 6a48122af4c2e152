/* SPDX-License-Identifier: MIT */
/*
 * See changed.h. Layer: store, room sqlite. Texts lie one after the other in one buffer, so that a
 * commit of a million names is two allocations that grow.
 */
#include "store/sqlite/changed.h"

#include "store/sqlite/db_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	enum changed_kind kind;
	int64_t number, at;
	size_t text, owner; /* where they begin in the buffer; 0: "" */
	size_t end;	    /* of the buffer, with them */
};

struct changed {
	struct kept *v; /* owned */
	size_t n, room;
	char *buf; /* owned; begins with a NUL, which is "" */
	size_t len, buf_room;
};

struct changed *changed_new(void)
{
	return calloc(1, sizeof(struct changed));
}

void changed_free(struct changed *l)
{
	if (!l)
		return;
	free(l->v);
	free(l->buf);
	free(l);
}

void db_watch(struct db *db, struct changed *l)
{
	db->changed = l;
}

size_t changed_count(const struct changed *l)
{
	return l->n;
}

void changed_back_to(struct changed *l, size_t mark)
{
	l->n = mark;
	l->len = mark ? l->v[mark - 1].end : 0;
}

struct changed_row changed_at(const struct changed *l, size_t i)
{
	const struct kept *k = &l->v[i];

	return (struct changed_row){ .kind = k->kind,
				     .number = k->number,
				     .at = k->at,
				     .text = l->buf + k->text,
				     .owner = l->buf + k->owner };
}

static int make_room(struct changed *l, size_t bytes)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct kept *v = reallocarray(l->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->room = room;
	}
	if (l->buf_room - l->len < bytes) {
		size_t room = 2 * l->buf_room + bytes;
		char *buf = realloc(l->buf, room);

		if (!buf)
			return -ENOMEM;
		l->buf = buf;
		l->buf_room = room;
	}
	return 0;
}

static size_t keep_text(struct changed *l, const char *text)
{
	size_t at = l->len, len = text ? strlen(text) : 0;

	if (!len)
		return 0;
	memcpy(l->buf + at, text, len + 1);
	l->len += len + 1;
	return at;
}

int changed_add(struct db *db, struct changed_row row)
{
	struct changed *l = db->changed;
	struct kept k = { .kind = row.kind, .number = row.number, .at = row.at };
	size_t bytes = 3; /* three NULs */
	int err;

	if (!l)
		return 0;
	bytes += row.text ? strlen(row.text) : 0;
	bytes += row.owner ? strlen(row.owner) : 0;
	err = make_room(l, bytes);
	if (err < 0)
		return err;
	if (!l->len)
		l->buf[l->len++] = '\0';
	k.text = keep_text(l, row.text);
	k.owner = keep_text(l, row.owner);
	k.end = l->len;
	l->v[l->n++] = k;
	return 0;
}
