/* SPDX-License-Identifier: MIT */
/*
 * Resolving the changes of a commit: numbers of new directories become ids, each name meets what it
 * stands for now. Layer: store.
 *
 * Everything that would compare each change with each other goes through one of three sorted arrays
 * instead.
 */
#include "store/tree/change_plan.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"
#include "store/sqlite/setting.h"
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_int(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_number(const void *a, const void *b)
{
	const struct step *x = *(struct step *const *)a, *y = *(struct step *const *)b;

	return compare_int(x->c->child, y->c->child);
}

static int by_child(const void *a, const void *b)
{
	const struct step *x = *(struct step *const *)a, *y = *(struct step *const *)b;

	return compare_int(x->child, y->child);
}

static int by_name(const void *a, const void *b)
{
	const struct step *x = *(struct step *const *)a, *y = *(struct step *const *)b;
	int order = compare_int(x->dir, y->dir);

	if (!order)
		order = strcmp(x->c->name, y->c->name);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

bool step_same_name(const struct step *a, const struct step *b)
{
	return a->dir == b->dir && strcmp(a->c->name, b->c->name) == 0;
}

bool step_same_parent(const struct step *a, const struct step *b)
{
	return a->parent_len == b->parent_len && memcmp(a->c->path, b->c->path, a->parent_len) == 0;
}

void step_parent(const struct step *s, char *out)
{
	memcpy(out, s->c->path, s->parent_len);
	out[s->parent_len] = '\0';
	if (s->parent_len == 0)
		memcpy(out, ".", 2);
}

static struct step *find(struct step **sorted, size_t n, const struct step *key,
			 int (*compare)(const void *, const void *))
{
	struct step **found = n ? bsearch(&key, sorted, n, sizeof(*sorted), compare) : NULL;

	return found ? *found : NULL;
}

struct step *plan_find_number(const struct plan *p, int64_t number)
{
	struct change c = { .child = number };
	struct step key = { .c = &c };

	return find(p->by_number, p->n_numbers, &key, by_number);
}

struct step *plan_find_child(const struct plan *p, int64_t child)
{
	struct step key = { .child = child };

	return find(p->by_child, p->n_children, &key, by_child);
}

static int by_name_only(const void *a, const void *b)
{
	const struct step *x = *(struct step *const *)a, *y = *(struct step *const *)b;
	int order = compare_int(x->dir, y->dir);

	return order ? order : strcmp(x->c->name, y->c->name);
}

bool plan_kills(const struct plan *p, const struct entry *e)
{
	struct change c = { .name = e->name };
	struct step key = { .c = &c, .dir = e->dir };
	const struct step *s = find(p->by_name, p->n, &key, by_name_only);

	/*
	 * Any step of that name will do: none of them but a used implied directory leaves the name
	 * what it was.
	 */
	return s && s->old_row == e->row && !s->is_used && !s->is_in_place;
}

/*
 * The path of a change ends in its name; the root's own is (0, "", "."), and only its attributes
 * can change.
 */
static int init_step(struct step *s, const struct change *c, size_t index)
{
	const char *slash = strrchr(c->path, '/');
	const char *last = slash ? slash + 1 : c->path;

	*s = (struct step){ .c = c, .index = index };
	if (strlen(c->path) > FENCE_PATH_MAX || strlen(c->name) > FENCE_NAME_MAX)
		return -ENAMETOOLONG;
	if (c->dir == 0) {
		bool is_root = c->kind == CHANGE_DIR && c->child == STORE_ROOT_DIR && !*c->name &&
			       strcmp(c->path, ".") == 0;

		return is_root && !c->implied ? 0 : -EINVAL;
	}
	if (!*c->name || strcmp(last, c->name) != 0 || strcmp(c->path, ".") == 0)
		return -EINVAL;
	if (c->kind == CHANGE_DIR && (c->child == 0 || c->child == STORE_ROOT_DIR))
		return -EINVAL;
	if (c->implied && (c->kind != CHANGE_DIR || c->child > 0))
		return -EINVAL;
	s->parent_len = slash ? (size_t)(slash - c->path) : 0;
	return 0;
}

static int allocate(struct plan *p)
{
	p->n = p->req->n_changes;
	p->step = calloc(p->n + 1, sizeof(*p->step));
	p->by_name = calloc(p->n + 1, sizeof(*p->by_name));
	p->by_number = calloc(p->n + 1, sizeof(*p->by_number));
	p->by_child = calloc(p->n + 1, sizeof(*p->by_child));
	return p->step && p->by_name && p->by_number && p->by_child ? 0 : -ENOMEM;
}

void plan_fini(struct plan *p)
{
	free(p->step);
	free(p->by_name);
	free(p->by_number);
	free(p->by_child);
}

static bool has_twice(struct step **sorted, size_t n, int (*compare)(const void *, const void *))
{
	for (size_t i = 1; i < n; i++) {
		if (compare(&sorted[i - 1], &sorted[i]) == 0)
			return true;
	}
	return false;
}

/* The steps, and the numbers that new directories go by. */
static int init_steps(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int err = init_step(&p->step[i], &p->req->changes[i], i);

		if (err)
			return err;
		if (p->step[i].c->kind == CHANGE_DIR && p->step[i].c->child < 0)
			p->by_number[p->n_numbers++] = &p->step[i];
	}
	qsort(p->by_number, p->n_numbers, sizeof(*p->by_number), by_number);
	return has_twice(p->by_number, p->n_numbers, by_number) ? -EINVAL : 0;
}

static int new_dir_id(struct plan *p, int64_t *out)
{
	if (!p->next_dir) {
		int err = setting_get(p->db, "next_dir", &p->next_dir);

		if (err)
			return err == -ENOENT ? -EUCLEAN : err;
	}
	*out = p->next_dir++;
	return 0;
}

/* The directory that holds the name: the store's, or one that an earlier change makes. */
static int resolve_dir(struct plan *p, struct step *s)
{
	const struct step *maker;

	if (s->c->dir >= 0) {
		s->dir = s->c->dir;
		return 0;
	}
	maker = plan_find_number(p, s->c->dir);
	if (!maker || maker->index >= s->index)
		return -EINVAL;
	s->dir = maker->child;
	return 0;
}

static int meet_old(struct plan *p, struct step *s)
{
	const struct step *maker = s->c->dir < 0 ? plan_find_number(p, s->c->dir) : NULL;
	struct entry old;
	int err;

	/* Nothing is in a directory that does not exist yet. */
	if (maker && !maker->is_used)
		return 0;
	err = entry_find(p->db, s->dir, s->c->name, ENTRY_NOW, &old);
	if (err)
		return err == -ENOENT ? 0 : err;
	s->old_row = old.row;
	s->old_kind = old.kind;
	s->old_child = old.child;
	return 0;
}

static int resolve_child(struct plan *p, struct step *s)
{
	if (s->c->kind != CHANGE_DIR)
		return 0;
	if (s->c->child > 0) {
		s->child = s->c->child;
		s->is_in_place = s->old_child == s->child;
		s->is_moved = !s->is_in_place;
		p->by_child[p->n_children++] = s;
		return 0;
	}
	/*
	 * An implied directory over something else is refused later: a stale token is the better
	 * answer if both apply.
	 */
	if (s->c->implied && s->old_row && s->old_child) {
		s->child = s->old_child;
		s->is_used = true;
		return 0;
	}
	return new_dir_id(p, &s->child);
}

static int resolve(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct step *s = &p->step[i];
		int err = resolve_dir(p, s);

		if (!err)
			err = meet_old(p, s);
		if (!err)
			err = resolve_child(p, s);
		if (err)
			return err;
		p->by_name[i] = s;
	}
	qsort(p->by_name, p->n, sizeof(*p->by_name), by_name);
	qsort(p->by_child, p->n_children, sizeof(*p->by_child), by_child);
	return has_twice(p->by_child, p->n_children, by_child) ? -EINVAL : 0;
}

/* Names with an effect; and no name may be given to two things. */
static int count(struct plan *p)
{
	size_t i = 0;

	while (i < p->n) {
		const struct step *first = p->by_name[i];
		bool has_effect = false;
		int births = 0;

		for (; i < p->n && step_same_name(first, p->by_name[i]); i++) {
			births += step_bears(p->by_name[i]);
			has_effect |= step_kills(p->by_name[i]) || step_bears(p->by_name[i]);
		}
		if (births > 1)
			return -EINVAL;
		p->changed += has_effect;
	}
	return 0;
}

int plan_build(struct plan *p)
{
	int err = allocate(p);

	if (!err)
		err = init_steps(p);
	if (!err)
		err = resolve(p);
	return err ? err : count(p);
}
