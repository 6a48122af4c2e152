/* SPDX-License-Identifier: MIT */
/* What a session shows: the live tree with its own changes on top. Reading only. Core layer. */
#include "core/session/session_impl.h"

#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A directory that the session moved is not also in its old place (or where somebody else's commit
 * has put it meanwhile).
 */
static bool is_moved_away(struct session *s, const struct entry *e)
{
	const struct snode *n;

	if (e->kind != ENTRY_DIR)
		return false;
	n = overlay_node(&s->overlay, ENTRY_DIR, e->child);
	return n && n->link && (n->link->dir != e->dir || strcmp(n->link->name, e->name) != 0);
}

int session_at(struct session *s, struct db *db, int64_t rev, int64_t dir, const char *name,
	       struct snode **out_node, struct entry *out_entry, struct oname **out_name)
{
	struct oname *n = overlay_name(&s->overlay, dir, name);
	struct entry e;
	int err;

	if (n) {
		if (out_name)
			*out_name = n;
		if (!n->node)
			return -ENOENT;
		*out_node = n->node;
		return 0;
	}
	if (out_name)
		*out_name = NULL;
	if (dir < 0)
		return -ENOENT;
	err = entry_lookup(db, dir, name, rev, &e);
	if (err < 0)
		return err;
	if (is_moved_away(s, &e))
		return -ENOENT;
	*out_node = NULL;
	*out_entry = e;
	return 0;
}

static void staged_attr(struct session *s, const struct snode *n, struct node *out)
{
	struct stat st;

	if (staging_stat(s->view.core->store, &n->blob, &st) < 0)
		return; /* removed beneath us: the attributes we know */
	out->size = st.st_size;
	out->blocks = st.st_blocks;
	out->mtime = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	out->ctime = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	if (out->ctime < n->ctime)
		out->ctime = n->ctime;
}

void session_node_attr(struct session *s, const struct snode *n, struct node *out)
{
	*out = (struct node){
		.id = n->id,
		.ino = n->ino,
		.kind = n->kind,
		.mode = n->mode,
		.uid = n->uid,
		.gid = n->gid,
		.mtime = n->mtime,
		.ctime = n->ctime,
		.cacheable = true,
	};
	if (n->kind == ENTRY_DIR) {
		out->size = 4096;
		out->blocks = 8;
	} else if (n->kind == ENTRY_SYMLINK) {
		out->size = (int64_t)strlen(n->target);
	} else if (n->content == SNODE_STAGED) {
		staged_attr(s, n, out);
	} else {
		out->size = n->size;
		out->blocks = (n->size + 511) / 512;
	}
}

static void entry_attr(struct session *s, const struct entry *e, struct node *out)
{
	const struct snode *n = NULL;

	if (e->kind == ENTRY_DIR)
		n = overlay_node(&s->overlay, ENTRY_DIR, e->child);
	if (n && n->changed) {
		session_node_attr(s, n, out);
		return;
	}
	node_from_entry(&s->view, e, out);
	if (n && n->mtime > out->mtime) /* names in it have changed here */
		out->mtime = out->ctime = n->mtime;
}

static int session_lookup(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *name,
			  struct node *out)
{
	struct session *s = session_of(v);
	struct snode *n;
	struct entry e;
	int err = -ESTALE;

	rwlock_read(&s->lock);
	if (s->state != SESSION_STATE_ENDED) {
		err = session_at(s, db, rev, dir, name, &n, &e, NULL);
		if (!err && n)
			session_node_attr(s, n, out);
		else if (!err)
			entry_attr(s, &e, out);
	}
	rwlock_drop(&s->lock);
	return err;
}

static int getattr_locked(struct session *s, struct db *db, int64_t rev, enum entry_kind kind,
			  int64_t id, struct node *out)
{
	const struct snode *n = overlay_node(&s->overlay, kind, id);
	struct entry e;
	int err = -ESTALE;

	rwlock_assert_held(&s->lock);
	if (n && (kind != ENTRY_DIR || n->link || n->changed)) {
		session_node_attr(s, n, out);
		return 0;
	}
	if (id > 0)
		err = base_row(db, rev, kind, id, &e);
	if (err == -ENOENT && n) { /* a directory that others have removed meanwhile */
		session_node_attr(s, n, out);
		return 0;
	}
	if (err < 0)
		return err == -ENOENT ? -ESTALE : err;
	entry_attr(s, &e, out);
	return 0;
}

static int session_getattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			   int64_t id, struct node *out)
{
	struct session *s = session_of(v);
	int err = -ESTALE;

	/*
	 * Who has a file open when the session ends keeps it, with its size: reading asks for that
	 * (P4).
	 */
	rwlock_read(&s->lock);
	if (s->state != SESSION_STATE_ENDED || kind == ENTRY_FILE)
		err = getattr_locked(s, db, rev, kind, id, out);
	rwlock_drop(&s->lock);
	return err;
}

static int session_readlink(struct view *v, struct db *db, int64_t id, char **out)
{
	struct session *s = session_of(v);
	const struct snode *n;
	int err = 0;

	rwlock_read(&s->lock);
	n = overlay_node(&s->overlay, ENTRY_SYMLINK, id);
	if (n) {
		*out = strdup(n->target);
		err = *out ? 0 : -ENOMEM;
	}
	rwlock_drop(&s->lock);
	if (n)
		return err;
	return id > 0 ? entry_target(db, id, out) : -ESTALE;
}

/* Merge of two sorted lists, the session's names hiding the live ones. */
struct merge {
	struct session *s;
	const struct oname *next; /* session's */
	struct entry *rows;	  /* live */
	int n_rows, at;
};

static int merge_one(struct merge *m, struct named_node *out)
{
	const struct entry *e = m->at < m->n_rows ? &m->rows[m->at] : NULL;
	int c = !e ? -1 : !m->next ? 1 : strcmp(m->next->name, e->name);

	if (c <= 0) {
		const struct oname *n = m->next;

		m->next = overlay_name_next((struct oname *)(uintptr_t)n);
		if (m->next && m->next->dir != n->dir)
			m->next = NULL;
		m->at += c == 0;
		if (!n->node)
			return 0;
		session_node_attr(m->s, n->node, &out->node);
		strcpy(out->name, n->name);
		return 1;
	}
	m->at++;
	if (is_moved_away(m->s, e))
		return 0;
	entry_attr(m->s, e, &out->node);
	strcpy(out->name, e->name);
	return 1;
}

/*
 * One chunk of live rows merged with the session's names up to the last of them; *more if the live
 * side goes on after *after.
 */
static int list_chunk(struct merge *m, struct db *db, int64_t rev, int64_t dir, char *after,
		      bool *more, struct named_node *out, int max)
{
	int n = 0;

	m->n_rows = dir > 0 ? entry_list(db, dir, rev, after, m->rows, max) : 0;
	if (m->n_rows < 0)
		return m->n_rows;
	m->at = 0;
	m->next = overlay_name_after(&m->s->overlay, dir, after);
	*more = m->n_rows == max;
	while (n < max && (m->at < m->n_rows || (m->next && !*more))) {
		n += merge_one(m, &out[n]);
	}
	if (m->at > 0 && m->at == m->n_rows)
		strcpy(after, m->rows[m->at - 1].name);
	return n;
}

int session_list_locked(struct session *s, struct db *db, int64_t rev, int64_t dir,
			const char *after, struct named_node *out, int max)
{
	struct merge m = { .s = s, .rows = calloc((size_t)max, sizeof(*m.rows)) };
	char from[FENCE_NAME_MAX + 1];
	bool more = true;
	int n = 0;

	rwlock_assert_held(&s->lock);
	if (!m.rows)
		return -ENOMEM;
	strcpy(from, after);
	while (n == 0 && more)
		n = list_chunk(&m, db, rev, dir, from, &more, out, max);
	free(m.rows);
	return n;
}

static int session_list(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *after,
			struct named_node *out, int max)
{
	struct session *s = session_of(v);
	int n = -ESTALE;

	rwlock_read(&s->lock);
	if (s->state != SESSION_STATE_ENDED)
		n = session_list_locked(s, db, rev, dir, after, out, max);
	rwlock_drop(&s->lock);
	return n;
}

static int overlay_getxattr(const struct snode *n, const char *name, void **out, size_t *out_len)
{
	int i = xattr_set_find(&n->xattrs, name);

	if (i < 0)
		return -ENODATA;
	*out = malloc(n->xattrs.v[i].len + 1);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, n->xattrs.v[i].value, n->xattrs.v[i].len);
	*out_len = n->xattrs.v[i].len;
	return 0;
}

/*
 * The row whose extended attributes are shown while the session has no own. A directory that the
 * session has moved is still in its tree when others have removed it: its attributes are those that
 * it was found with, in row @origin.
 */
static int xattr_row(struct db *db, int64_t rev, enum entry_kind kind, int64_t id, int64_t origin,
		     struct entry *out)
{
	int err = base_row(db, rev, kind, id, out);

	if (err == -ENOENT && origin)
		err = entry_by_row(db, origin, out);
	return err == -ENOENT ? -ESTALE : err;
}

/* user.fence.* speaks of versions, and what a session has changed is none yet. */
static int session_getxattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			    int64_t id, const char *name, void **out, size_t *out_len)
{
	struct session *s = session_of(v);
	const struct snode *n;
	struct entry e;
	int64_t origin;
	int err;

	if (strncmp(name, "user.", 5) != 0)
		return -EOPNOTSUPP;
	rwlock_read(&s->lock);
	n = overlay_node(&s->overlay, kind, id);
	if (n && n->xattrs_loaded) {
		err = overlay_getxattr(n, name, out, out_len);
		rwlock_drop(&s->lock);
		return err;
	}
	if (n && n->origin && kind != ENTRY_DIR)
		id = strncmp(name, "user.fence.", 11) ? n->origin : 0;
	origin = n ? n->origin : 0;
	rwlock_drop(&s->lock);
	if (id <= 0)
		return -ENODATA;
	err = xattr_row(db, rev, kind, id, origin, &e);
	return err ? err : base_getxattr(db, &e, name, out, out_len);
}

static int overlay_listxattr(const struct snode *n, char **out, size_t *out_len)
{
	size_t len = 0;
	char *s;

	for (int i = 0; i < n->xattrs.n; i++)
		len += strlen(n->xattrs.v[i].name) + 1;
	s = malloc(len + 1);
	if (!s)
		return -ENOMEM;
	*out = s;
	*out_len = len;
	for (int i = 0; i < n->xattrs.n; i++)
		s = stpcpy(s, n->xattrs.v[i].name) + 1;
	return 0;
}

static int session_listxattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			     int64_t id, char **out, size_t *out_len)
{
	struct session *s = session_of(v);
	const struct snode *n;
	struct entry e;
	int64_t origin;
	int err;

	rwlock_read(&s->lock);
	n = overlay_node(&s->overlay, kind, id);
	if (n && n->xattrs_loaded) {
		err = overlay_listxattr(n, out, out_len);
		rwlock_drop(&s->lock);
		return err;
	}
	if (n && n->origin && kind != ENTRY_DIR)
		id = n->origin;
	origin = n ? n->origin : 0;
	rwlock_drop(&s->lock);
	*out = NULL;
	*out_len = 0;
	if (id < 0)
		return 0;
	err = xattr_row(db, rev, kind, id, origin, &e);
	return err ? err : base_listxattr(db, &e, out, out_len);
}

static void session_node_get(struct view *v, enum entry_kind kind, int64_t id)
{
	struct session *s = session_of(v);
	struct snode *n;

	if (id > 0 && kind == ENTRY_DIR)
		return;
	rwlock_write(&s->lock);
	n = overlay_node(&s->overlay, kind, id);
	if (n)
		n->refs++;
	rwlock_drop(&s->lock);
}

static void session_node_put(struct view *v, enum entry_kind kind, int64_t id)
{
	struct session *s = session_of(v);
	struct snode *n;

	if (id > 0 && kind == ENTRY_DIR)
		return;
	rwlock_write(&s->lock);
	n = overlay_node(&s->overlay, kind, id);
	if (n && n->refs > 0 && --n->refs == 0 && !n->link)
		session_node_unlinked(s, n);
	rwlock_drop(&s->lock);
}

const struct view_ops view_session_ops = {
	.lookup = session_lookup,
	.getattr = session_getattr,
	.readlink = session_readlink,
	.list = session_list,
	.getxattr = session_getxattr,
	.listxattr = session_listxattr,
	.node_get = session_node_get,
	.node_put = session_node_put,
	.destroy = session_destroy,
};
