/* SPDX-License-Identifier: MIT */
/* The beginning and the end of a session. Core layer. */
#include "core/session/session_impl.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/access/permission.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct session *session_new(struct core *c, const struct caller *who, const char *path,
			    int64_t token, const char *owner)
{
	struct session *s = calloc(1, sizeof(*s));
	struct blob_id id;

	if (!s)
		return NULL;
	view_init(&s->view, c, &view_session_ops, true);
	rwlock_init(&s->lock, LOCK_SESSION);
	overlay_init(&s->overlay, &c->pins);
	s->path = strdup(path);
	s->owner = strdup(owner);
	s->who = malloc(sizeof(*s->who));
	if (!s->path || !s->owner || !s->who || blob_id_new(&id) < 0) {
		session_put(s);
		return NULL;
	}
	strcpy(s->id, blob_hex(id.b).s); /* 128 random bits: nobody guesses it (P8) */
	*s->who = *who;
	s->token = token;
	s->opened = io_now_ns();
	atomic_store(&s->last_used, io_boot_ns());
	return s;
}

void session_destroy(struct view *v)
{
	struct session *s = session_of(v);

	overlay_fini(&s->overlay);
	for (size_t i = 0; i < s->n_expects; i++)
		free((void *)(uintptr_t)s->expects[i].path);
	free(s->expects);
	free(atomic_load(&s->overtaken));
	free(s->who);
	free(s->owner);
	free(s->path);
	rwlock_fini(&s->lock);
	free(s);
}

static int add_implied(struct session *s, int64_t dir, const char *name, bool implied, int64_t *out)
{
	struct oname *at = overlay_name_add(&s->overlay, dir, name, 0);
	struct snode *n = at ? overlay_node_add(&s->overlay, ENTRY_DIR, 0) : NULL;

	if (!n) {
		if (at)
			overlay_name_remove(&s->overlay, at);
		return -ENOMEM;
	}
	n->ino = node_ino(s->view.number, ENTRY_DIR, n->id);
	n->mode = 0755;
	n->uid = s->who->uid;
	n->gid = s->who->gid;
	n->mtime = n->ctime = io_now_ns();
	n->implied = implied;
	n->changed = true;
	n->xattrs_loaded = true;
	overlay_link(at, n);
	*out = n->id;
	return 0;
}

/*
 * One step down the claimed path; *dir becomes the directory at @name, made if it is missing and
 * may be made.
 */
static int step_down(struct session *s, struct db *db, int64_t rev, const char *name, bool last,
		     bool make_dir, int64_t *dir)
{
	struct snode *n = NULL;
	struct entry e;
	int err = session_at(s, db, rev, *dir, name, &n, &e, NULL);

	if (!err && n) {
		*dir = n->id;
		return 0;
	}
	if (!err && e.kind == ENTRY_DIR) {
		*dir = e.child;
		return 0;
	}
	if (!err)
		return last && !make_dir ? 0 : -ENOTDIR;
	if (err != -ENOENT)
		return err;
	if (last)
		return make_dir ? add_implied(s, *dir, name, false, dir) : 0;
	return s->parents ? add_implied(s, *dir, name, true, dir) : -ENOENT;
}

/*
 * parents=1 and a path that ends in '/': the directories are there in the session from the start.
 */
int session_prepare_tree(struct session *s, bool make_dir)
{
	auto_free char *copy = strdup(s->path);
	int64_t dir = STORE_ROOT_DIR, rev;
	char *rest = NULL, *name;
	struct db *db;
	int err;

	if (!copy)
		return -ENOMEM;
	if (strcmp(copy, ".") == 0)
		return 0;
	err = core_read_begin(s->view.core, &db, &rev);
	if (err < 0)
		return err;
	rwlock_write(&s->lock);
	name = strtok_r(copy, "/", &rest);
	while (name && !err) {
		char *next = strtok_r(NULL, "/", &rest);

		err = step_down(s, db, rev, name, !next, make_dir, &dir);
		name = next;
	}
	rwlock_drop(&s->lock);
	core_read_end(s->view.core, db);
	return err;
}

/* Staging files of an ended session. Open descriptors keep what they have open. */
static void remove_staged(struct session *s)
{
	struct store *store = s->view.core->store;

	rwlock_write(&s->lock);
	for (struct snode *n = overlay_node_first(&s->overlay); n; n = overlay_node_next(n)) {
		struct node last;

		if (n->content == SNODE_STAGED) {
			session_node_attr(s, n, &last);
			n->size = last.size;
			n->mtime = last.mtime;
			staging_give_up(store, &n->blob);
		}
		if (n->content == SNODE_BLOB && n->fresh)
			blob_remove(store, &n->blob);
		overlay_node_unpin(&s->overlay, n);
		n->content = SNODE_EMPTY;
		n->fresh = false;
	}
	rwlock_drop(&s->lock);
}

struct removal {
	struct work work;
	struct session *s;
};

static void run_removal(struct work *w)
{
	struct removal *r = (struct removal *)(void *)w;

	remove_staged(r->s);
	session_put(r->s);
	free(r);
}

void session_ended(struct session *s)
{
	struct core *c = s->view.core;
	struct removal *r = malloc(sizeof(*r));

	c->hooks.drop_session(c->hooks.arg, s->id);
	if (r) { /* else the next start empties staging/ */
		r->s = s;
		r->work.run = run_removal;
		view_get(&s->view);
		pool_submit(&c->pool, &r->work);
	}
	session_table_remove(c, s);
}

static uint32_t real_root_bits(struct session *s)
{
	struct entry root;
	struct db *db;
	int64_t rev;
	uint32_t bits = 0;

	if (s->who->uid == 0)
		return 07;
	if (core_read_begin(s->view.core, &db, &rev) < 0)
		return 0;
	if (!entry_by_child(db, STORE_ROOT_DIR, rev, &root))
		bits = permission_bits(s->who, root.mode, root.uid, root.gid);
	core_read_end(s->view.core, db);
	return bits;
}

int session_owner(struct view *v, uint32_t *out_uid, uint32_t *out_gid, uint32_t *out_mode)
{
	struct session *s = session_of(v);

	if (!v->writable)
		return -EINVAL;
	*out_uid = s->who->uid;
	*out_gid = s->who->gid;
	*out_mode = real_root_bits(s) << 6;
	return 0;
}

int session_find(struct core *c, const char *id, struct view **out)
{
	struct session *s = session_table_get(c, id);

	if (!s)
		return -ENOENT;
	*out = &s->view;
	return 0;
}

struct id_list {
	char (*v)[33];
	unsigned int n, room;
};

static void add_id(struct session *s, void *arg)
{
	struct id_list *l = arg;

	if (l->n < l->room)
		memcpy(l->v[l->n++], s->id, sizeof(s->id));
}

static int cmp_id(const void *a, const void *b)
{
	return strcmp(a, b);
}

int session_ids(struct core *c, char (**out)[33])
{
	struct id_list l = { 0 };

	l.room = session_table_count(c) + 16;
	l.v = calloc(l.room, sizeof(*l.v));
	if (!l.v)
		return -ENOMEM;
	session_table_each(c, add_id, &l);
	qsort(l.v, l.n, sizeof(*l.v), cmp_id);
	*out = l.v;
	return (int)l.n;
}
