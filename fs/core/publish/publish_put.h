/* SPDX-License-Identifier: MIT */
/*
 * One file published, or one name removed, in one request: claim, content and pointer in one
 * transaction. For this layer only.
 */
#ifndef FENCE_CORE_PUBLISH_PUBLISH_PUT_H
#define FENCE_CORE_PUBLISH_PUBLISH_PUT_H

#include "core/access/caller.h"
#include "core/loop/committer.h"
#include "core/loop/pool.h"
#include "core/publish/seal.h"
#include "store/tree/change.h"

struct core;

struct publish {
	struct job job;	  /* first */
	struct work work; /* pool: sealing of large content */
	struct core *c;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	char op[OWNER_MAX + 1]; /* "" none */
	int64_t token;
	struct caller who;
	bool remove, parents, once;
	bool restore; /* the content is that of version `version` of the path, not sent */
	int64_t version;
	bool has_mode;
	uint32_t mode;
	bool has_expect;
	struct expect expect;
	bool staged; /* content is in staging file staged_id; else in sealed.data */
	struct blob_id staged_id;
	struct sealed sealed;
	struct blob_dirs dirs;
	struct commit_result result;
	/* Filled by each attempt, for the kernel's caches. */
	struct change *changes; /* owned, paths owned, names borrowed from them */
	size_t n_changes;
	struct change_xattr *xattrs; /* owned: those of the version that is replaced */
	int n_xattrs;
	char *target; /* owned; of a restored symlink */
	int64_t claimed_at;
	int err;				  /* before the transaction */
	int64_t begun;				  /* CLOCK_BOOTTIME, ns */
	void (*done)(struct publish *p, int err); /* frees it by publish_free */
	void *arg;
};

/* Takes @p: done is called once, from another thread. -ESHUTDOWN: not taken. */
int publish_submit(struct core *c, struct publish *p);
void publish_free(struct publish *p);

#endif
