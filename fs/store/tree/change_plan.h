/* SPDX-License-Identifier: MIT */
/*
 * A commit while it is worked out: each change with what it meets in the tree. For the change_*.c
 * files only.
 */
#ifndef FENCE_STORE_TREE_CHANGE_PLAN_H
#define FENCE_STORE_TREE_CHANGE_PLAN_H

#include "store/tree/change.h"
#include "store/tree/entry.h"

struct step {
	const struct change *c; /* borrowed */
	size_t index;		/* of the change */
	/* bytes of c->path that name its parent; 0: a top-level name, or the root itself */
	size_t parent_len;
	int64_t dir;	   /* c->dir as an id of the store */
	int64_t child;	   /* CHANGE_DIR: c->child as an id of the store */
	int64_t old_row;   /* what has the name before this commit; 0: nothing */
	int64_t old_child; /* its directory id, 0 if it is not a directory */
	enum entry_kind old_kind;
	bool is_used;	   /* an implied directory that is there already: nothing to do */
	bool is_in_place;  /* CHANGE_DIR: attributes of the directory that has the name */
	bool is_moved;	   /* CHANGE_DIR: an existing directory comes from another name */
	bool path_checked; /* its path is known to be honest */
};

struct plan {
	struct db *db;			  /* borrowed */
	const struct commit_request *req; /* borrowed */
	struct refusal *refusal;	  /* borrowed */
	struct step *step;		  /* owned; in the order of the changes */
	struct step **by_name;		  /* owned; by (dir, name, index) */
	struct step **by_number;	  /* owned; those of new directories, by c->child */
	struct step **by_child;		  /* owned; CHANGE_DIR of existing directories, by child */
	size_t n, n_numbers, n_children;
	int64_t revision; /* the one to make */
	int64_t next_dir; /* next id for a directory; 0: not read yet */
	int64_t changed;  /* names with an effect */
	bool dirs_moved;
};

/*
 * Resolve all changes into the zeroed @p, whose db, req and refusal are set. -EINVAL: the changes
 * make no sense together.
 */
int plan_build(struct plan *p);
void plan_fini(struct plan *p);
/* The CHANGE_DIR of existing directory @child, NULL if none. */
struct step *plan_find_child(const struct plan *p, int64_t child);
/* The step that made the directory @number (< 0). */
struct step *plan_find_number(const struct plan *p, int64_t number);
/* Whether this commit takes its name away from the current entry @e. */
bool plan_kills(const struct plan *p, const struct entry *e);
/* Whether a step takes the name away from what had it. */
static inline bool step_kills(const struct step *s)
{
	return s->old_row && !s->is_used;
}
static inline bool step_bears(const struct step *s)
{
	return s->c->kind != CHANGE_REMOVE && !s->is_used;
}
/* Whether steps are about one name. */
bool step_same_name(const struct step *a, const struct step *b);
/* Whether their paths have the same parent. */
bool step_same_parent(const struct step *a, const struct step *b);
/* Parent path of a step into @out (FENCE_PATH_MAX + 1). */
void step_parent(const struct step *s, char *out);

/* -EX with *p->refusal. */
int change_check_expects(struct plan *p);
int change_check_fences(struct plan *p);
/*
 * What can be said of the structure while the tree is still as it was; then what is left, when it
 * has changed.
 */
int change_verify_before(struct plan *p);
int change_verify_after(struct plan *p);
/* All old rows die, new ones are born at p->revision. */
int change_apply(struct plan *p);
/* Say what was changed to who listens (store/sqlite/changed.h). After the verification. */
int change_tell(struct plan *p);

#endif
