/* SPDX-License-Identifier: MIT */
/*
 * One file published, or one name removed, in one request (put, remove, restore): claim, content
 * and pointer in one transaction, by the way of publish.h. Layer: core, room publish.
 */
#ifndef FENCE_CORE_PUBLISH_SINGLE_H
#define FENCE_CORE_PUBLISH_SINGLE_H

#include "core/publish/publish.h"

enum single_kind { SINGLE_PUT, SINGLE_REMOVE, SINGLE_RESTORE };

struct single {
	struct publish p; /* first; single_submit() fills it from what is here */
	enum single_kind kind;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	char op[OWNER_MAX + 1]; /* "" none */
	int64_t token;
	struct caller who;
	bool parents, once;
	int64_t version; /* SINGLE_RESTORE: its content is that of this version, not sent */
	bool has_mode;
	uint32_t mode;
	bool has_expect;
	struct expect expect;
	bool staged; /* content is in staging file staged_id; else in content->data */
	struct blob_id staged_id;
	struct sealed *content; /* SINGLE_PUT; of p.sealed */

	/* Made by each attempt anew, together with p.list, and owned. */
	struct change_xattr *xattrs; /* those of the version that is replaced */
	int n_xattrs;
	char *target; /* of a restored symlink */

	struct change only; /* what a refusal keeps the content of */
	struct change_list kept;

	void (*done)(struct single *s, int err); /* frees it by single_free */
	void *arg;
};

/* Zeroed, but for room for its content. NULL: no memory. */
struct single *single_new(enum single_kind kind);
void single_free(struct single *s);
/* Takes @s: done is called once, from the notifier's thread. -ESHUTDOWN: not taken. */
int single_submit(struct core *c, struct single *s);

/* The list of changes, from the tree as it is (single_build.c). In the transaction. */
int single_build(struct single *s, struct db *db);
void single_drop_changes(struct single *s);

#endif
