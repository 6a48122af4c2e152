/* SPDX-License-Identifier: MIT */
/* What a view is made of: for the files of this layer only. */
#ifndef FENCE_CORE_VIEW_VIEW_IMPL_H
#define FENCE_CORE_VIEW_VIEW_IMPL_H

#include "core/view/node.h"
#include "core/view/view.h"

#include <stdatomic.h>

struct db;

struct view_ops {
	int (*lookup)(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *name,
		      struct node *out);
	int (*getattr)(struct view *v, struct db *db, int64_t rev, enum entry_kind kind, int64_t id,
		       struct node *out);
	int (*readlink)(struct view *v, struct db *db, int64_t id, char **out);
	int (*list)(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *after,
		    struct named_node *out, int max);
	int (*getxattr)(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			int64_t id, const char *name, void **out, size_t *out_len);
	int (*listxattr)(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			 int64_t id, char **out, size_t *out_len);
	void (*node_get)(struct view *v, enum entry_kind kind, int64_t id);
	void (*node_put)(struct view *v, enum entry_kind kind, int64_t id);
	void (*destroy)(struct view *v); /* at the last reference */
};

struct view {
	const struct view_ops *ops;
	struct core *core; /* borrowed */
	uint64_t number;
	atomic_int refs;
	bool writable;
	bool frozen;   /* names and content never change; permissions follow the live tree */
	bool uncached; /* what it shows may change without the kernel being told */
};

void view_init(struct view *v, struct core *core, const struct view_ops *ops, bool writable);

/* The live tree; NULL: no memory. For core, which frees it. */
struct view *view_live_new(struct core *c);
/* @e as a node of the past, with the permissions of past_mode.h. */
int node_from_past(const struct view *v, struct db *db, int64_t now, const struct entry *e,
		   struct node *out);

/* Plain reads of unmodified nodes, shared by all views. */
void node_from_entry(const struct view *v, const struct entry *e, struct node *out);
/* st_ino of (kind, id) in a view: well mixed, the same for as long as the view lives. */
uint64_t node_ino(uint64_t view, enum entry_kind kind, int64_t id);
int base_row(struct db *db, int64_t rev, enum entry_kind kind, int64_t id, struct entry *out);
int base_getxattr(struct db *db, const struct entry *e, const char *name, void **out,
		  size_t *out_len);
int base_listxattr(struct db *db, const struct entry *e, char **out, size_t *out_len);

#endif
