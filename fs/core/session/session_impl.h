/* SPDX-License-Identifier: MIT */
/* struct session, for the files of this layer only. */
#ifndef FENCE_CORE_SESSION_SESSION_IMPL_H
#define FENCE_CORE_SESSION_SESSION_IMPL_H

#include "core/access/caller.h"
#include "core/service/core_impl.h"
#include "core/session/overlay.h"
#include "core/session/session.h"
#include "core/session/session_table.h"
#include "core/view/view_impl.h"
#include "store/tree/session_row.h"

#define HASH_FUNCTION HASH_OAT /* the others fall through in a switch, which clang reports */
#include <uthash.h>

enum session_state { SESSION_STATE_OPEN, SESSION_STATE_COMMITTING, SESSION_STATE_ENDED };

/* Why a session is refused from now on. Immutable once published. */
struct overtake {
	bool superseded; /* exclusive=1: by a newer session of the same token */
	int64_t token, at;
	char path[FENCE_PATH_MAX + 1];
	char by[OWNER_MAX + 1];
};

struct session {
	struct view view;  /* first: a view of a session is its session */
	UT_hash_handle hh; /* session_table.lock */
	char id[33];
	char *path;  /* owned; the claimed path */
	char *owner; /* owned */
	int64_t token;
	struct caller *who; /* owned; who opened it */
	bool keep, parents, exclusive;
	int64_t opened;		   /* wall clock, ns */
	int64_t ttl;		   /* ns, of keep=1 */
	_Atomic int64_t last_used; /* CLOCK_BOOTTIME, ns */
	uint64_t number; /* order of opening (set when the claim is durable), for exclusive=1 */

	_Atomic(struct overtake *) overtaken; /* owned; set once, never cleared */
	atomic_bool
		rows_beneath; /* some fence beneath the claim is higher than our token: ask for each path */
	atomic_bool
		refused; /* an operation was refused: its data is kept when the session ends (P9) */

	/*
	 * Guards all below. Taken for reading by what looks at the tree, for writing by what
	 * changes it. The database may be read and staging files may be created while it is held;
	 * nothing waits for the committer or the kernel.
	 */
	struct rwlock lock;
	enum session_state state;
	bool flushing; /* COMMITTING, and the kernel still writes back mapped pages */
	enum session_outcome outcome; /* when ended */
	int64_t outcome_revision, outcome_changed;
	struct overlay overlay;
	uint64_t moves; /* directories moved in the session: cached paths of another count are void */
	struct expect *expects; /* owned, their paths too */
	size_t n_expects;
};

static inline struct session *session_of(struct view *v)
{
	return (struct session *)(void *)v;
}

extern const struct view_ops view_session_ops;
void session_destroy(struct view *v);

/*
 * One step of changing (dir, name): the checks that come before any. Lock held for writing. 0,
 * -EROFS, -ESTALE, -EPERM, -ENOENT.
 */
int session_may_change(struct session *s, struct db *db, int64_t rev, int64_t dir,
		       const char *name);
/* Whether token and state allow a change at @path. */
int session_check_path(struct session *s, struct db *db, const char *path);
/*
 * What the session shows at (dir, name). Lock held. *out_node NULL: an unmodified entry, in
 * *out_entry. *out_name may be NULL. -ENOENT.
 */
int session_at(struct session *s, struct db *db, int64_t rev, int64_t dir, const char *name,
	       struct snode **out_node, struct entry *out_entry, struct oname **out_name);
void session_node_attr(struct session *s, const struct snode *n, struct node *out);
int session_list_locked(struct session *s, struct db *db, int64_t rev, int64_t dir,
			const char *after, struct named_node *out, int max);

/*
 * Path of directory @dir in the session's tree (session_path.c). Lock held for writing (it fills
 * the cache). -ENOENT: not in the tree.
 */
int session_dir_path(struct session *s, struct db *db, int64_t rev, int64_t dir, char *out);
/*
 * Directory's node with its attributes, made from the live row if the session has none. -ENOMEM,
 * -ENOENT.
 */
int session_dir_node_from(struct session *s, const struct entry *e, struct snode **out);
int session_dir_node(struct session *s, struct db *db, int64_t rev, int64_t dir,
		     struct snode **out);

/* A node for an unmodified entry, put into the overlay in its place (session_adopt.c). */
int session_adopt(struct session *s, struct db *db, const struct entry *e, struct snode **out);
/* -ESTALE: the version that the node began as was pruned. */
int session_load_xattrs(struct db *db, struct snode *n);
/* The node behind (kind, id), adopted if it is unmodified. -ESTALE: it is no longer in the tree. */
int session_node_for_change(struct session *s, struct db *db, int64_t rev, enum entry_kind kind,
			    int64_t id, struct snode **out);
/* Unlink @n (may be NULL) and free it with its staging file unless it is in use. */
void session_node_unlinked(struct session *s, struct snode *n);

/* Lifecycle (session_end.c). */
struct session *session_new(struct core *c, const struct caller *who, const char *path,
			    int64_t token, const char *owner);
int session_prepare_tree(struct session *s, bool make_dir);
static inline void session_put(struct session *s)
{
	view_put(&s->view);
}
/*
 * End an open session without publishing: its data goes, or is kept as orphans if it was refused
 * anything. -EBUSY: committing.
 */
int session_abort(struct session *s);
/*
 * Take it off the table and tell the kernel; the state must be ENDED. Notifier, no lock held.
 */
void session_ended(struct session *s);

#endif
