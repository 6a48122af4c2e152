/* SPDX-License-Identifier: MIT */
/*
 * Changing a session's tree. @v is a session's view (-EROFS on any other). None waits for the
 * committer, so a handler may call them while the kernel holds directory locks. Common errors:
 * -EROFS outside the claimed path or while the session commits; -ESTALE overtaken at this path by a
 * higher token, superseded, or ended; -EPERM the reserved name .fence in the root. New nodes belong
 * to @uid/@gid (a setgid directory passes on its group, as on other file systems).
 */
#ifndef FENCE_CORE_SESSION_SESSION_H
#define FENCE_CORE_SESSION_SESSION_H

#include "core/session/content_done.h"
#include "core/view/node.h"

#include <stddef.h>

struct core;
struct view;

/* The view of session @id (32 hex digits) as a new reference. -ENOENT. */
int session_find(struct core *c, const char *id, struct view **out);
/*
 * Attributes for `.fence/sessions/ID`, which is also the root directory of the view: it belongs to
 * the uid that opened the session, nobody else may enter. *out_mode: 0700 less what that uid may
 * not do in the real root directory (P8).
 */
int session_owner(struct view *v, uint32_t *out_uid, uint32_t *out_gid, uint32_t *out_mode);
/* Ids of the open sessions, each 33 bytes with NUL, sorted; *out malloc'd. The count. */
int session_ids(struct core *c, char (**out)[33]);

/* A new, empty regular file. -EEXIST. */
int session_create(struct view *v, int64_t dir, const char *name, uint32_t mode, uint32_t uid,
		   uint32_t gid, struct node *out);
int session_mkdir(struct view *v, int64_t dir, const char *name, uint32_t mode, uint32_t uid,
		  uint32_t gid, struct node *out);
int session_symlink(struct view *v, int64_t dir, const char *name, const char *target, uint32_t uid,
		    uint32_t gid, struct node *out);
int session_unlink(struct view *v, int64_t dir, const char *name);
int session_rmdir(struct view *v, int64_t dir, const char *name);
/* @flags: 0, RENAME_NOREPLACE, RENAME_EXCHANGE. */
int session_rename(struct view *v, int64_t dir, const char *name, int64_t to_dir,
		   const char *to_name, unsigned int flags);
/*
 * Before NODE_SIZE of file @id. 0: session_setattr() will not wait.  1: a large file is copied
 *                                                                    first, and @done(@arg, err)
 *                                                                    follows as that of
 *                                                                    content_open() does.
 */
int session_prepare_size(struct view *v, int64_t id, int64_t size, content_done_fn done, void *arg);
/*
 * All but NODE_SIZE apply to any node and keep its id. NODE_SIZE on an unmodified file gives it a
 * node of its own and answers -ESTALE (look up again), on a staged one it truncates. A change of
 * owner clears suid/sgid, one of size too unless @uid is 0.
 */
int session_setattr(struct view *v, enum entry_kind kind, int64_t id, const struct node_change *ch,
		    uint32_t uid, struct node *out);
/* @flags of setxattr(2). Only user.*, not user.fence.* (-EPERM). */
int session_setxattr(struct view *v, enum entry_kind kind, int64_t id, const char *name,
		     const void *value, size_t len, int flags);
int session_removexattr(struct view *v, enum entry_kind kind, int64_t id, const char *name);

#endif
