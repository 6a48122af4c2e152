/* SPDX-License-Identifier: MIT */
/*
 * What can refuse a commit before anything of it is applied: preconditions and fences (P1). Layer:
 * store.
 */
#include "store/tree/change_plan.h"
#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Names who made the version that stands against a precondition. */
static int refuse_expect(struct plan *p, const struct expect *x, const struct entry *e, int err)
{
	struct entry_origin origin;

	if (e && entry_origin(p->db, e->row, &origin) == 0) {
		p->refusal->set_at = origin.at;
		memcpy(p->refusal->set_path, x->path, strlen(x->path) + 1);
		memcpy(p->refusal->set_by, origin.owner, sizeof(origin.owner));
	}
	return err;
}

static int check_hash(struct plan *p, const struct expect *x, const struct entry *e)
{
	struct blob_info info = { 0 };
	int err = 0;

	if (e->has_blob)
		err = blob_get(p->db, &e->blob, false, &info);
	else
		hash_buf("", 0, &info.hash);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	if (e->kind == ENTRY_FILE && memcmp(info.hash.b, x->hash.b, sizeof(info.hash.b)) == 0)
		return 0;
	err = refusal_set(p->refusal, ECANCELED, x->path, p->req->token,
			  "the content of %.120s is not as expected; it is at version %" PRId64,
			  x->path, e->seq);
	return refuse_expect(p, x, e, err);
}

static int check_expect(struct plan *p, const struct expect *x)
{
	struct entry e;
	int err = entry_resolve(p->db, x->path, ENTRY_NOW, &e);

	if (err && err != -ENOENT && err != -ENOTDIR)
		return err;
	if (x->kind == EXPECT_ABSENT) {
		if (err)
			return 0;
		err = refusal_set(p->refusal, EEXIST, x->path, p->req->token,
				  "%.120s exists, at version %" PRId64, x->path, e.seq);
		return refuse_expect(p, x, &e, err);
	}
	if (err)
		return refusal_set(p->refusal, ECANCELED, x->path, p->req->token,
				   "%.120s does not exist", x->path);
	if (x->kind == EXPECT_HASH)
		return check_hash(p, x, &e);
	if (e.seq == x->version)
		return 0;
	err = refusal_set(p->refusal, ECANCELED, x->path, p->req->token,
			  "%.120s is at version %" PRId64 ", not %" PRId64, x->path, e.seq,
			  x->version);
	return refuse_expect(p, x, &e, err);
}

int change_check_expects(struct plan *p)
{
	for (size_t i = 0; i < p->req->n_expects; i++) {
		int err = check_expect(p, &p->req->expects[i]);

		if (err)
			return err;
	}
	return 0;
}

/* highest() of the parent of a step, kept while the steps that follow have the same one. */
struct memo {
	const struct step *of; /* NULL: nothing yet */
	struct fence_row highest;
};

static int parent_highest(struct plan *p, const struct step *s, struct memo *m)
{
	char parent[FENCE_PATH_MAX + 1];
	int err;

	if (m->of && step_same_parent(m->of, s))
		return 0;
	step_parent(s, parent);
	err = fence_highest(p->db, parent, &m->highest);
	m->of = err ? NULL : s;
	return err;
}

/* token >= highest(q) */
static int check_path(struct plan *p, const struct step *s, struct memo *m)
{
	struct fence_row own;
	int err = parent_highest(p, s, m);

	if (err)
		return err;
	err = fence_get(p->db, s->c->path, &own);
	if (err && err != -ENOENT)
		return err;
	if (!err && own.token > p->req->token && own.token >= m->highest.token)
		return refusal_stale(p->refusal, s->c->path, p->req->token, &own);
	if (m->highest.token > p->req->token)
		return refusal_stale(p->refusal, s->c->path, p->req->token, &m->highest);
	return 0;
}

/*
 * A directory that is removed, replaced or moved takes with it every path beneath its old name; one
 * that arrives gives every path beneath its new name another meaning. So no row there may be higher
 * either.
 */
static int check_beneath(struct plan *p, const struct step *s)
{
	bool leaves = s->old_child && !s->is_in_place;
	struct fence_row row;
	int res;

	if (!leaves && !s->is_moved)
		return 0;
	res = fence_beneath(p->db, s->c->path, p->req->token, &row);
	if (res <= 0)
		return res;
	return refusal_stale(p->refusal, row.path, p->req->token, &row);
}

int change_check_fences(struct plan *p)
{
	struct memo memo = { .of = NULL };

	for (size_t i = 0; i < p->n; i++) {
		const struct step *s = p->by_name[i];
		int err;

		if (s->c->implied)
			continue;
		err = check_path(p, s, &memo);
		if (!err)
			err = check_beneath(p, s);
		if (err)
			return err;
	}
	return 0;
}
