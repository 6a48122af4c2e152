/* SPDX-License-Identifier: MIT */
/* See content.h. Core layer. */
#include "core/session/content_impl.h"

#include "base/cleanup.h"
#include "core/session/change_scope.h"
#include "core/session/copyup.h"
#include "core/trust/trust.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct content *content_new(struct view *v)
{
	struct content *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->view = v ? view_get(v) : NULL;
	c->fd = -1;
	atomic_init(&c->wfd, -1);
	return c;
}

static void content_free(struct content *c)
{
	if (c->core)
		verify_closed(c->core, c->fd, &c->file);
	if (c->fd >= 0)
		close(c->fd);
	if (atomic_load(&c->wfd) >= 0)
		close(atomic_load(&c->wfd));
	free(c->data);
	if (c->view)
		view_put(c->view);
	free(c);
}

static void opened_file(struct core *core, const struct blob_info *info, struct content *c)
{
	c->core = core;
	c->file = (struct verify_file){ .id = info->id, .hash = info->hash, .size = info->size };
	c->regained = trust_was_lost(core, &info->id);
	verify_opened(core, c->fd, &c->file);
}

int content_of_blob(struct core *core, struct db *db, const struct blob_id *id, int64_t size,
		    bool fresh, struct content **out)
{
	struct content *c = content_new(NULL);
	struct blob_info info = { 0 };
	int err = 0;

	if (!c)
		return -ENOMEM;
	if (id && !fresh) {
		err = blob_get(db, id, true, &info);
		if (!err)
			err = trust_blob(core, db, &info);
		if (!err && info.is_inline) {
			c->data = info.data;
			c->len = (size_t)info.size;
			*out = c;
			return 0;
		}
	}
	if (id && !err)
		err = blob_open(core->store, id, size, &c->fd);
	if (id && !err && !fresh)
		opened_file(core, &info, c);
	if (!id)
		c->data = calloc(1, 1);
	if (err < 0) {
		c->data = c->data ? c->data : info.data;
		content_free(c);
		return err;
	}
	*out = c;
	return 0;
}

static int open_staged_read(struct session *s, const struct snode *n, struct content **out)
{
	struct content *c = content_new(NULL);
	int err;

	if (!c)
		return -ENOMEM;
	err = staging_open(s->view.core->store, &n->blob, O_RDONLY, &c->fd);
	if (err < 0) {
		content_free(c);
		return err;
	}
	*out = c;
	return 0;
}

static int open_base(struct view *v, struct db *db, int64_t id, struct content **out)
{
	struct entry e;
	int err = id > 0 ? entry_by_row(db, id, &e) : -ENOENT;

	if (err < 0)
		return err == -ENOENT ? -ESTALE : err;
	err = content_of_blob(v->core, db, e.has_blob ? &e.blob : NULL, e.size, false, out);
	if (!err)
		(*out)->file.row = id;
	/*
	 * gc removes content only after what named it: if that is gone by now, so may be the
	 * content.
	 */
	if (err == -ENOENT && entry_by_row(db, id, &e) == -ENOENT)
		return -ESTALE;
	return trust_report(v->core, db, id, &e.blob, err);
}

/* Pinned: gc does not take it. */
static int open_own(struct session *s, struct db *db, const struct snode *n, struct content **out)
{
	bool has_blob = n->content == SNODE_BLOB;
	int err = content_of_blob(s->view.core, db, has_blob ? &n->blob : NULL, n->size, n->fresh,
				  out);

	if (!err)
		(*out)->file.row = n->origin;
	return has_blob ? trust_report(s->view.core, db, n->origin, &n->blob, err) : err;
}

static int open_in_session(struct session *s, struct db *db, int64_t id, struct content **out)
{
	const struct snode *n;
	int err = -ESTALE;

	rwlock_read(&s->lock);
	n = overlay_node(&s->overlay, ENTRY_FILE, id);
	if (s->state == SESSION_STATE_ENDED)
		err = -ESTALE;
	else if (!n)
		err = open_base(&s->view, db, id, out);
	else if (n->content == SNODE_STAGED)
		err = open_staged_read(s, n, out);
	else
		err = open_own(s, db, n, out);
	rwlock_drop(&s->lock);
	return err;
}

static int open_read(struct view *v, int64_t id, struct content **out)
{
	struct content *c;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	if (v->writable)
		err = open_in_session(session_of(v), db, id, &c);
	else
		err = open_base(v, db, id, &c);
	core_read_end(v->core, db);
	if (err < 0)
		return err;
	c->view = view_get(v);
	*out = c;
	return 0;
}

static int open_descriptors(struct content *c, const struct snode *n, int flags)
{
	struct store *store = c->view->core->store;
	auto_fd int wfd = -1;
	int err = staging_open(store, &n->blob, O_RDONLY, &c->fd);

	if (!err && (!c->passthrough || (flags & O_TRUNC)))
		err = staging_open(store, &n->blob, O_RDWR, &wfd);
	if (!err && (flags & O_TRUNC) && ftruncate(wfd, 0) < 0)
		err = -errno;
	if (!err && !c->passthrough)
		atomic_store(&c->wfd, take_fd(&wfd));
	return err;
}

static int open_write_locked(struct change_scope *t, int64_t id, int flags, uint32_t uid,
			     struct content *c)
{
	struct snode *n;
	int err = change_node(t, ENTRY_FILE, id, &n);

	rwlock_assert_written(&t->s->lock);
	if (err < 0)
		return err;
	if (n->content != SNODE_STAGED)
		return -ESTALE;
	err = open_descriptors(c, n, flags);
	if (err < 0)
		return err;
	if (uid !=
	    0) { /* the kernel leaves it to us (HANDLE_KILLPRIV_V2), and passthrough writes are not seen */
		n->mode &= ~(uint32_t)S_ISUID;
		if (n->mode & S_IXGRP)
			n->mode &= ~(uint32_t)S_ISGID;
	}
	if ((flags & O_ACCMODE) == O_RDONLY) /* O_TRUNC alone */
		return 0;
	c->writable = true;
	c->node = n;
	n->writers++;
	n->unconfirmed++;
	n->passthrough = n->passthrough || c->passthrough;
	return 0;
}

static int open_write(struct view *v, int64_t id, int flags, uint32_t uid, bool passthrough,
		      struct content **out)
{
	struct content *c = content_new(v);
	struct change_scope t;
	int err;

	if (!c)
		return -ENOMEM;
	c->passthrough = passthrough;
	err = change_begin(&t, v);
	if (!err)
		err = change_end(&t, open_write_locked(&t, id, flags, uid, c));
	if (err < 0) {
		content_free(c);
		return err;
	}
	*out = c;
	return 0;
}

int content_open(struct view *v, int64_t id, int flags, uint32_t uid, bool passthrough,
		 content_done_fn done, void *arg, struct content **out)
{
	enum copyup_mode mode = flags & O_TRUNC ? COPYUP_EMPTY : COPYUP_CONTENT;
	int err;

	if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC))
		return open_read(v, id, out);
	err = copyup_for_write(v, id, mode, done, arg);
	return err ? err : open_write(v, id, flags, uid, passthrough, out);
}

void content_close(struct content *c)
{
	struct session *s;

	if (c->writable) {
		s = session_of(c->view);
		rwlock_write(&s->lock);
		c->node->writers--;
		if (!c->confirmed)
			c->node->unconfirmed--;
		session_node_unlinked(s, c->node);
		rwlock_drop(&s->lock);
	}
	content_free(c);
}

const void *content_data(const struct content *c, size_t *out_len)
{
	*out_len = c->len;
	return c->data;
}

int content_fd(const struct content *c)
{
	return c->fd;
}

bool content_is_writable(const struct content *c)
{
	return c->writable;
}

bool content_keeps_cache(const struct content *c)
{
	return !c->writable && !c->regained;
}

/*
 * Besides, with passthrough our own writable descriptor (of an fallocate, say) is closed here: at
 * sealing it would look like a writer.
 */
void content_confirm(struct content *c)
{
	struct session *s;
	int wfd;

	if (!c->writable)
		return;
	if (atomic_load(&c->confirmed) && !(c->passthrough && atomic_load(&c->wfd) >= 0))
		return;
	s = session_of(c->view);
	rwlock_write(&s->lock);
	if (!c->confirmed) {
		c->confirmed = true;
		c->node->unconfirmed--;
	}
	wfd = c->passthrough ? atomic_exchange(&c->wfd, -1) : -1;
	rwlock_drop(&s->lock);
	if (wfd >= 0)
		close(wfd);
}

static int writable_fd(struct content *c)
{
	int fd, none = -1, err;

	if (atomic_load(&c->wfd) >= 0)
		return 0;
	err = staging_open(c->view->core->store, &c->node->blob, O_RDWR, &fd);
	if (err < 0)
		return err;
	if (!atomic_compare_exchange_strong(&c->wfd, &none, fd))
		close(fd);
	return 0;
}

int content_write_begin(struct content *c, int *out_fd)
{
	struct session *s;
	int err;

	if (!c->writable)
		return -EBADF;
	s = session_of(c->view);
	rwlock_read(&s->lock);
	if (s->state != SESSION_STATE_OPEN && !s->flushing)
		err = -ESTALE;
	else
		err = c->node->content == SNODE_STAGED ? writable_fd(c) : -ESTALE;
	if (err < 0) {
		rwlock_drop(&s->lock);
		return err;
	}
	*out_fd = atomic_load(&c->wfd);
	return 0;
}

void content_write_end(struct content *c)
{
	rwlock_drop(&session_of(c->view)->lock);
}
