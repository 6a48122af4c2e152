/* SPDX-License-Identifier: MIT */
/*
 * Listing directories. Layer: fuse.
 *
 * Each request asks core anew, even within what an earlier one brought: while READDIRPLUS is
 * answered the kernel holds the directory's lock, so what goes into the reply is still there when
 * the kernel makes dentries of it. Names kept from before could be gone, and their ghosts would be
 * cached without limit.
 */
#include "fuse/ops/handlers.h"

#include "base/cleanup.h"
#include "core/view/view.h"
#include "fuse/object/object.h"
#include "fuse/ops/dir_cursor.h"
#include "fuse/state/attr.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX     128
#define ENTRY_SIZE    32  /* about the least that a name takes in a reply */
#define PLUS_SIZE     160 /* and with its attributes */
#define INO_UNKNOWN   0xffffffff
#define LEARNED_FIRST 64

struct dir_handle {
	struct handle h;
	/* Of a directory of a view: */
	int64_t rev; /* the revision that this listing shows; 0: none yet */
	struct dir_cursor cursor;
	/* Of another, for inode_type.next: */
	void *state; /* owned */
};

/* The reply that is being filled. */
struct listing {
	struct fs *fs;
	fuse_req_t req;
	struct view *view; /* NULL: the directory is no view's */
	bool plus;
	char *buf; /* owned */
	size_t size, used;
	off_t off; /* before the next entry */
	/* The nodeids in it, to take their lookups back if it cannot be sent. */
	uint64_t *learned; /* owned */
	size_t n_learned, room_learned;
};

static void dir_close(struct handle *h)
{
	struct dir_handle *d = (struct dir_handle *)h;

	dir_cursor_fini(&d->cursor);
	free(d->state);
	handle_fini(h);
	free(d);
}

static const struct handle_type dir_type = { .close = dir_close };

static struct dir_handle *dir_handle_of(const struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	return h && h->type == &dir_type ? (struct dir_handle *)h : NULL;
}

void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	auto_inode struct inode *inode = inode_get(fs->inodes, ino);
	struct dir_handle *d;

	if (!inode || inode->type->kind != ENTRY_DIR) {
		fuse_reply_err(req, inode ? ENOTDIR : ESTALE);
		return;
	}
	d = calloc(1, sizeof(*d));
	if (!d) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	handle_init(fs->handles, &d->h, &dir_type, inode);
	fi->fh = (uintptr_t)d;
	/*
	 * A cached listing of a tree that changes could be older than a file opened a moment
	 * before: half of a commit.
	 */
	if (inode->view && view_is_frozen(inode->view))
		fi->cache_readdir = fi->keep_cache = 1;
	if (fuse_reply_open(req, fi) < 0)
		dir_close(&d->h);
}

static int remember(struct listing *l, uint64_t nodeid)
{
	if (l->n_learned == l->room_learned) {
		size_t room = l->room_learned ? l->room_learned * 2 : LEARNED_FIRST;
		uint64_t *grown = reallocarray(l->learned, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->learned = grown;
		l->room_learned = room;
	}
	l->learned[l->n_learned++] = nodeid;
	return 0;
}

/*
 * 1: @name is in the reply; 0: it is full. Without @view, or in the moment of a commit, the entry
 * names no inode: the kernel will look the name up when somebody wants it.
 */
static int put_entry(struct listing *l, const char *name, const struct node *n)
{
	struct fuse_entry_param e = { 0 };
	char *at = l->buf + l->used;
	size_t room = l->size - l->used;
	size_t need = l->plus ? fuse_add_direntry_plus(l->req, NULL, 0, name, NULL, 0) :
				fuse_add_direntry(l->req, NULL, 0, name, NULL, 0);
	int err = 0;

	if (need > room)
		return 0;
	attr_fill(n, &e.attr);
	if (l->plus && l->view && n->cacheable) {
		err = object_entry(l->fs, l->view, n, &e);
		if (!err)
			err = remember(l, e.ino);
		if (err < 0 && e.ino)
			inode_forget(l->fs->inodes, e.ino, 1);
	}
	if (err < 0)
		return err;
	if (l->plus)
		fuse_add_direntry_plus(l->req, at, room, name, &e, l->off + 1);
	else
		fuse_add_direntry(l->req, at, room, name, &e.attr, l->off + 1);
	l->used += need;
	l->off++;
	return 1;
}

/* "." and "..": only their names count, nobody looks at the rest. */
static int put_dots(struct listing *l)
{
	static const char *const dots[DIR_OFF_FIRST] = { ".", ".." };
	const struct node n = { .kind = ENTRY_DIR, .ino = INO_UNKNOWN };

	while (l->off < DIR_OFF_FIRST) {
		int put = put_entry(l, dots[l->off], &n);

		if (put <= 0)
			return put;
	}
	return 1;
}

/* Of a directory that is no view's. */
static int put_others(struct listing *l, struct dir_handle *d)
{
	const struct inode_type *type = d->h.inode->type;
	struct named_node n;
	int64_t next;

	for (;;) {
		int more = type->next(l->fs, &d->state, l->off - DIR_OFF_FIRST, &n, &next);

		/* Their offsets are the directory's own, not one more for each. */
		if (more == 1) {
			off_t before = l->off;

			l->off = next + DIR_OFF_FIRST - 1;
			more = put_entry(l, n.name, &n.node);
			if (more != 1)
				l->off = before;
		}
		if (more <= 0)
			return more;
	}
}

static int batch_size(const struct listing *l, int64_t skip)
{
	size_t fits = (l->size - l->used) / (l->plus ? PLUS_SIZE : ENTRY_SIZE) + 1 + (size_t)skip;

	return fits < BATCH_MAX ? (int)fits : BATCH_MAX;
}

/* One batch into the reply: 1 if there is room for more. *skip: entries to pass over first. */
static int put_batch(struct listing *l, struct dir_handle *d, const struct named_node *batch, int n,
		     int64_t *skip)
{
	for (int i = 0; i < n; i++) {
		int err;

		if (*skip > 0) {
			err = --*skip > 0 ? 0 : dir_cursor_begin(&d->cursor, l->off, batch[i].name);
		} else {
			int put = put_entry(l, batch[i].name, &batch[i].node);

			if (put <= 0)
				return put;
			err = dir_cursor_add(&d->cursor, batch[i].name);
		}
		if (err < 0)
			return err;
	}
	return 1;
}

static int put_view(struct listing *l, struct dir_handle *d, struct named_node *batch)
{
	char after[FENCE_NAME_MAX + 1];
	const char *from;
	int64_t skip;
	int more;

	dir_cursor_find(&d->cursor, l->off, &from, &skip);
	memccpy(after, from, '\0', sizeof(after));
	more = skip > 0 ? 0 : dir_cursor_begin(&d->cursor, l->off, after);
	if (more < 0)
		return more;
	for (;;) {
		int n = view_list(l->view, d->h.inode->id, &d->rev, after, batch,
				  batch_size(l, skip));

		if (n <= 0)
			return n;
		more = put_batch(l, d, batch, n, &skip);
		if (more <= 0)
			return more;
		memccpy(after, batch[n - 1].name, '\0', sizeof(after));
	}
}

static int fill(struct listing *l, struct dir_handle *d)
{
	auto_free struct named_node *batch = NULL;
	int more;

	if (l->off == 0) {
		/* rewinddir() shows the directory as it is now. */
		d->rev = 0;
		dir_cursor_reset(&d->cursor);
	}
	more = put_dots(l);
	if (more <= 0)
		return more;
	if (!l->view)
		return put_others(l, d);
	batch = malloc(BATCH_MAX * sizeof(*batch));
	return batch ? put_view(l, d, batch) : -ENOMEM;
}

static void unlearn(struct listing *l)
{
	for (size_t i = 0; i < l->n_learned; i++)
		inode_forget(l->fs->inodes, l->learned[i], 1);
}

static void list(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct dir_handle *d = dir_handle_of(fi);
	auto_free char *buf = malloc(size);
	struct listing l = {
		.fs = fs_of(req), .req = req, .plus = plus, .buf = buf, .size = size, .off = off
	};
	int err;

	if (!d || !buf) {
		fuse_reply_err(req, d ? ENOMEM : EBADF);
		return;
	}
	l.view = d->h.inode->view;
	err = fill(&l, d);
	/* What was found before an error is sent; the next request meets the error again. */
	if (err < 0 && l.used == 0)
		fuse_reply_err(req, -err);
	else if (fuse_reply_buf(req, buf, l.used) < 0)
		unlearn(&l);
	free(l.learned);
}

void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, false);
}

void fs_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, true);
}
