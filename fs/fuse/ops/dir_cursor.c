/* SPDX-License-Identifier: MIT */
/* Offsets in a listing, and names. Layer: fuse. */
#include "fuse/ops/dir_cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dir_mark {
	int64_t off;
	char *after; /* owned */
};

void dir_cursor_fini(struct dir_cursor *c)
{
	dir_cursor_reset(c);
	free(c->marks);
	free(c->recent);
}

void dir_cursor_reset(struct dir_cursor *c)
{
	for (size_t i = 0; i < c->n_marks; i++)
		free(c->marks[i].after);
	c->n_marks = 0;
	c->recent_len = 0;
	c->recent_off = 0;
}

/* Whether @off is within the last reply; then the name before it. */
static const char *find_recent(const struct dir_cursor *c, int64_t off)
{
	const char *name, *end;

	if (off <= c->recent_off || c->recent_len == 0)
		return NULL;
	name = c->recent;
	end = name + c->recent_len;
	for (int64_t at = c->recent_off + 1; name < end; at++) {
		if (at == off)
			return name;
		name += strlen(name) + 1;
	}
	return NULL;
}

/* The last mark at or before @off. */
static const struct dir_mark *find_mark(const struct dir_cursor *c, int64_t off)
{
	size_t low = 0, high = c->n_marks;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->marks[mid].off <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &c->marks[low - 1] : NULL;
}

void dir_cursor_find(const struct dir_cursor *c, int64_t off, const char **out_after,
		     int64_t *out_skip)
{
	const char *after = find_recent(c, off);
	const struct dir_mark *mark;

	if (after) {
		*out_after = after;
		*out_skip = 0;
		return;
	}
	mark = find_mark(c, off);
	*out_after = mark ? mark->after : "";
	*out_skip = off - (mark ? mark->off : DIR_OFF_FIRST);
}

static int add_mark(struct dir_cursor *c, int64_t off, const char *after)
{
	char *copy;

	if (c->n_marks == c->room_marks) {
		size_t room = c->room_marks ? c->room_marks * 2 : 8;
		struct dir_mark *grown = reallocarray(c->marks, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->marks = grown;
		c->room_marks = room;
	}
	copy = strdup(after);
	if (!copy)
		return -ENOMEM;
	c->marks[c->n_marks++] = (struct dir_mark){ off, copy };
	return 0;
}

int dir_cursor_begin(struct dir_cursor *c, int64_t off, const char *after)
{
	/*
	 * @after may lie in `recent`, which starts anew: it is copied first. A place that was
	 * passed before has its mark.
	 */
	if (!c->n_marks || c->marks[c->n_marks - 1].off < off) {
		int err = add_mark(c, off, after);

		if (err < 0)
			return err;
	}
	c->recent_len = 0;
	c->recent_off = off;
	return 0;
}

int dir_cursor_add(struct dir_cursor *c, const char *name)
{
	size_t len = strlen(name) + 1;

	if (c->recent_room - c->recent_len < len) {
		size_t room = c->recent_room ? c->recent_room * 2 : 4096;
		char *grown = realloc(c->recent, room);

		if (!grown)
			return -ENOMEM;
		c->recent = grown;
		c->recent_room = room;
	}
	memcpy(c->recent + c->recent_len, name, len);
	c->recent_len += len;
	return 0;
}
