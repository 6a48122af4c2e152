/* SPDX-License-Identifier: MIT */
/*
 * See copyup.h. Core layer.
 *
 * Why the id changes: content under one kernel node never changes (page cache, passthrough: a
 * second backing file on one node fails with EIO), and descriptors that are open for reading keep
 * what they opened (P4). The caller answers ESTALE, the VFS looks the path up again (LOOKUP_REVAL)
 * and finds the new node.
 *
 * The copy is made without the session's lock and installed under it, if the node is still as it
 * was; of two that race, one is thrown away.
 */
#include "core/session/copyup.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/session/change_scope.h"
#include "core/trust/trust.h"
#include "core/trust/verify.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define COPY_INLINE_MAX (4 << 20) /* bytes that a request handler copies itself */

struct copyup {
	struct work work;  /* first */
	struct view *view; /* reference owned */
	int64_t id;
	bool has_blob;
	int64_t origin; /* row that names `from` */
	struct blob_id from, to;
	int64_t size, mtime;
	bool touch; /* truncated: its mtime is now */
	content_done_fn done;
	void *arg;
};

/* Lock held. 0: to be copied, *c filled; 1: staged already; -errno. */
static int examine(struct change_scope *t, struct copyup *c)
{
	struct snode *n = overlay_node(&t->s->overlay, ENTRY_FILE, c->id);
	int err;

	if (!n && overlay_node_of_row(&t->s->overlay, c->id))
		return -ESTALE;
	err = change_node(t, ENTRY_FILE, c->id, &n);
	if (err < 0)
		return err;
	if (n->content == SNODE_STAGED)
		return 1;
	c->has_blob = n->content == SNODE_BLOB;
	c->origin = n->origin;
	c->from = n->blob;
	c->size = n->size;
	c->mtime = n->mtime;
	return 0;
}

/* A copy reads all of it, or shares its blocks, so it is a read like a program's. */
static int copy_file(struct core *core, const struct blob_info *info, int64_t row, int from, int to)
{
	struct verify_file f = {
		.id = info->id, .hash = info->hash, .size = info->size, .row = row
	};
	int err;

	verify_opened(core, from, &f);
	err = io_copy(from, to, info->size);
	verify_closed(core, from, &f);
	return err;
}

static int copy_content(struct core *core, struct db *db, const struct copyup *c, int to)
{
	struct blob_info info = { .data = NULL };
	auto_free void *data = NULL;
	auto_fd int from = -1;
	bool is_recorded;
	int err = blob_get(db, &c->from, true, &info);

	data = info.data;
	if (!err)
		err = trust_blob(core, db, &info);
	if (!err && info.is_inline)
		return io_pwrite_all(to, data, (size_t)info.size, 0);
	is_recorded = !err;
	/*
	 * -ENOENT: sealed by this session, not recorded yet. The node pins it, so that gc cannot
	 * have taken it.
	 */
	if (!err || err == -ENOENT)
		err = blob_open(core->store, &c->from, c->size, &from);
	if (err < 0)
		return trust_report(core, db, c->origin, &c->from, err);
	return is_recorded ? copy_file(core, &info, c->origin, from, to) :
			     io_copy(from, to, c->size);
}

static int keep_mtime(int fd, int64_t ns)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 } };

	if (times[1].tv_nsec < 0) {
		times[1].tv_sec--;
		times[1].tv_nsec += 1000000000;
	}
	return futimens(fd, times) < 0 ? -errno : 0;
}

static int make_copy(struct copyup *c)
{
	struct core *core = c->view->core;
	auto_fd int fd = -1;
	struct db *db;
	int64_t rev;
	int err = staging_take(core->store, &c->to, &fd);

	if (err < 0 || c->touch)
		return err;
	if (c->has_blob) {
		err = core_read_begin(core, &db, &rev);
		if (!err) {
			err = copy_content(core, db, c, fd);
			core_read_end(core, db);
		}
	}
	if (!err)
		err = keep_mtime(fd, c->mtime);
	if (err < 0)
		staging_remove(core->store, &c->to);
	return err;
}

static int install_locked(struct change_scope *t, struct copyup *c)
{
	struct copyup now = *c;
	struct snode *n;
	int err = examine(t, &now);

	rwlock_assert_written(&t->s->lock);
	if (err)
		return err < 0 ? err : -ESTALE;
	n = overlay_node(&t->s->overlay, ENTRY_FILE, c->id);
	if (!n || now.has_blob != c->has_blob)
		return -ESTALE;
	if (n->fresh) /* sealed for a commit that did not happen; nobody else knows it */
		blob_remove(t->s->view.core->store, &n->blob);
	overlay_node_unpin(&t->s->overlay, n);
	n->fresh = false;
	n->content = SNODE_STAGED;
	n->blob = c->to;
	n->changed = true;
	n->refs = 0; /* of the new id; the old one's inode goes on without a node */
	overlay_node_rename(&t->s->overlay, n);
	c->has_blob = false;
	return 0;
}

/* -ESTALE when all went well: the caller's id is the old one. */
static int run(struct copyup *c)
{
	struct change_scope t;
	int err = make_copy(c);

	if (err < 0)
		return err;
	err = change_begin(&t, c->view);
	if (!err)
		err = change_end(&t, install_locked(&t, c));
	if (err < 0)
		staging_remove(c->view->core->store, &c->to);
	return err < 0 ? err : -ESTALE;
}

static void run_in_pool(struct work *w)
{
	struct copyup *c = (struct copyup *)(void *)w;
	int err = run(c);

	c->done(c->arg, err);
	view_put(c->view);
	free(c);
}

static int run_later(const struct copyup *c)
{
	struct copyup *later = malloc(sizeof(*later));

	if (!later)
		return -ENOMEM;
	*later = *c;
	later->work.run = run_in_pool;
	view_get(later->view);
	pool_submit(&later->view->core->pool, &later->work);
	return 1;
}

int copyup_for_write(struct view *v, int64_t id, enum copyup_mode mode, content_done_fn done,
		     void *arg)
{
	struct copyup c = {
		.view = v, .id = id, .touch = mode == COPYUP_EMPTY, .done = done, .arg = arg
	};
	struct change_scope t;
	int err = change_begin(&t, v);

	if (!err)
		err = change_end(&t, examine(&t, &c));
	if (err)
		return err < 0 ? err : 0;
	if (done && mode == COPYUP_CONTENT && c.size > COPY_INLINE_MAX)
		return run_later(&c);
	return run(&c);
}
