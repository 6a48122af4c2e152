/* SPDX-License-Identifier: MIT */
/*
 * Where a listing stands. The kernel names a place in a directory by a number, core by the last
 * name that was passed; entries may go between two calls (rm -r). Offset 0 is before ".", 1 before
 * "..", 2 before the first name; each entry's offset is that after it, one more than before it.
 * Layer: fuse.
 */
#ifndef FENCE_FUSE_OPS_DIR_CURSOR_H
#define FENCE_FUSE_OPS_DIR_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#define DIR_OFF_FIRST 2

struct dir_mark;

struct dir_cursor {
	/* The start of each reply so far: enough for seekdir() to any place, and small. */
	struct dir_mark *marks; /* owned, ascending */
	size_t n_marks, room_marks;
	/*
	 * The names of the last reply, one after the other with their NULs, behind offset
	 * recent_off: the kernel goes on wherever in them the reader's buffer was full, and from
	 * there by name, so nothing is left out.
	 */
	char *recent; /* owned */
	size_t recent_len, recent_room;
	int64_t recent_off;
};

void dir_cursor_fini(struct dir_cursor *c);
/* The listing starts anew: no place in it is known. */
void dir_cursor_reset(struct dir_cursor *c);

/*
 * How to come to @off: list after *out_after (borrowed until the cursor is changed) and pass over
 * *out_skip entries first.
 */
void dir_cursor_find(const struct dir_cursor *c, int64_t off, const char **out_after,
		     int64_t *out_skip);
/* A reply starts at @off, after name @after. */
int dir_cursor_begin(struct dir_cursor *c, int64_t off, const char *after);
/* One more name in it. */
int dir_cursor_add(struct dir_cursor *c, const char *name);

#endif
