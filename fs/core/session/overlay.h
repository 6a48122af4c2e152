/* SPDX-License-Identifier: MIT */
/*
 * A session's staged changes: names that differ from the live tree, and the nodes behind them.
 * Memory grows with the number of staged names only. No locking of its own: the session's lock
 * guards all of it. For the files of this layer only.
 */
#ifndef FENCE_CORE_SESSION_OVERLAY_H
#define FENCE_CORE_SESSION_OVERLAY_H

#include "core/view/node.h"
#include "store/tree/change.h"

#include <bsd/sys/tree.h>

enum snode_content { SNODE_EMPTY, SNODE_BLOB, SNODE_STAGED };

struct xattr_set {
	int n;
	struct change_xattr *v; /* owned, names and values too */
};

/* A node made or changed in the session. */
struct snode {
	RB_ENTRY(snode) by_id;
	RB_ENTRY(snode) by_origin;
	int64_t id; /* as struct node.id */
	enum entry_kind kind;
	uint64_t ino;
	int64_t origin; /* row whose content this began as; 0: none */
	uint32_t mode, uid, gid;
	int64_t mtime,
		ctime; /* of directories, symlinks and blob content; a staged file's own are the staging file's */
	enum snode_content content;
	struct blob_id blob;   /* SNODE_BLOB: the blob; SNODE_STAGED: the staging file */
	int64_t size;	       /* SNODE_BLOB; of an ended session also of what was staged */
	struct blob_hash hash; /* of fresh content */
	bool fresh; /* SNODE_BLOB sealed by this session: its row may not be in the database yet */
	bool changed;	  /* directories: attributes to be committed (not only new names in it) */
	bool implied;	  /* directory of parents=1 */
	bool pinned;	  /* its blob is, in overlay.pins */
	bool passthrough; /* the kernel may hold writers that we do not see */
	bool xattrs_loaded, xattrs_changed;
	struct xattr_set xattrs; /* all of them, once loaded */
	char *target;		 /* owned; symlinks */
	struct oname *
		link; /* where it is in the tree; NULL: nowhere (unlinked, or a directory in its old place) */
	int refs;	 /* the kernel's inodes */
	int writers;	 /* open handles for writing */
	int unconfirmed; /* of these: whose open the kernel has not completed, as far as we know */
	char *path;	 /* owned; directories: cached path, valid while path_stamp is current */
	uint64_t path_stamp;
};

/* A name that differs from the live tree. */
struct oname {
	RB_ENTRY(oname) entry;
	int64_t dir;
	struct snode *node; /* NULL: removed */
	int64_t base;	    /* row of the live tree that it hides; 0: there was none */
	char name[];
};

RB_HEAD(oname_tree, oname);
RB_HEAD(snode_tree, snode);
RB_HEAD(origin_tree, snode);

struct overlay {
	struct oname_tree names;
	struct snode_tree nodes;
	struct origin_tree origins; /* of file nodes that no longer have their row as id */
	int64_t next_id;	    /* next fresh id, negative */
	size_t n_names, n_nodes;
	struct pins *pins; /* borrowed */
};

void overlay_init(struct overlay *o, struct pins *pins);
/* Frees all names and nodes (staging files are the caller's business). */
void overlay_fini(struct overlay *o);

struct oname *overlay_name(struct overlay *o, int64_t dir, const char *name);
/* The first overridden name of @dir after @after, or NULL. */
struct oname *overlay_name_after(struct overlay *o, int64_t dir, const char *after);
struct oname *overlay_name_next(struct oname *n); /* in (dir, name) order over the whole overlay */
struct oname *overlay_name_first(struct overlay *o);
/* NULL: out of memory. The name must not be there. */
struct oname *overlay_name_add(struct overlay *o, int64_t dir, const char *name, int64_t base);
void overlay_name_remove(struct overlay *o, struct oname *n);
/* Put @node at @n (which must be empty); unlinks nothing. */
void overlay_link(struct oname *n, struct snode *node);

struct snode *overlay_node(struct overlay *o, enum entry_kind kind, int64_t id);
/* The file node whose content began as @row and that has another id by now, or NULL. */
struct snode *overlay_node_of_row(struct overlay *o, int64_t row);
/* @id 0: a fresh one. NULL: out of memory. */
struct snode *overlay_node_add(struct overlay *o, enum entry_kind kind, int64_t id);
/*
 * Give a file node a fresh id (its content is changed for the first time); its old id stays
 * findable by overlay_node_of_row.
 */
void overlay_node_rename(struct overlay *o, struct snode *node);
void overlay_node_free(struct overlay *o, struct snode *node);
/* Its blob is no longer needed by this node; before the node gets another one. */
void overlay_node_unpin(struct overlay *o, struct snode *node);
struct snode *overlay_node_first(struct overlay *o);
struct snode *overlay_node_next(struct snode *n);

void xattr_set_fini(struct xattr_set *x);
/* Position of @name, or -1. */
int xattr_set_find(const struct xattr_set *x, const char *name);
int xattr_set_put(struct xattr_set *x, const char *name, const void *value, size_t len);
void xattr_set_drop(struct xattr_set *x, int i);

#endif
