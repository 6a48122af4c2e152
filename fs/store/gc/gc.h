/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection (P6): expired versions are pruned, and content that nothing refers to is
 * removed. What is referred to is read from the tables themselves, never from counters.
 *
 * The same code runs in an offline tool, which owns the store, and in the daemon that serves it:
 * what differs is in struct gc_env.
 */
#ifndef FENCE_STORE_GC_GC_H
#define FENCE_STORE_GC_GC_H

#include "base/errmsg.h"
#include "store/blob/blob.h"
#include "store/gc/retention.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct store;

#define GC_GRACE_DEFAULT INT64_C(3600000000000)

enum gc_stage { GC_PRUNE, GC_SCAN, GC_FILES, GC_SWEEP, GC_COMPACT, GC_STAGES };

struct gc_progress {
	enum gc_stage stage;
	int64_t done, total; /* total 0: unknown */
};

typedef int (*gc_write_fn)(struct db *db, void *arg);

struct gc_env {
	void *arg;
	/*
	 * Run @fn once or more in a transaction of the writer; it sets its results anew each time.
	 * 0: it returned 0 and is durable.  -errno: nothing of it is kept, or (-EREMOTEIO, -EIO) it
	 * is unknown whether.
	 */
	int (*write)(void *arg, gc_write_fn fn, void *fn_arg);
	/*
	 * Called within write() only: whether somebody is about to refer to @id (it is being
	 * sealed, or a session holds it).
	 */
	bool (*is_pinned)(void *arg, const struct blob_id *id);
	/* Move the WAL into the database, as far as readers allow; may be left to later. */
	void (*checkpoint)(void *arg);
	void (*progress)(void *arg, const struct gc_progress *p);
	/* true: end as soon as possible (-EINTR). */
	bool (*should_stop)(void *arg);
	bool is_offline; /* nobody else uses the store: staging/ may be emptied */
};

struct gc_options {
	int64_t grace;		 /* ns; 0: what is found now goes now */
	struct retention keep;	 /* empty: no history is pruned */
	const char *const *path; /* normalised; only versions at or beneath one of them are pruned */
	size_t n_paths;		 /* 0: all */
	int64_t forget_fences;	 /* ns; 0: none */
	bool after_restore;
	bool dry_run; /* say what would go; nothing is written */
};

struct gc_count {
	int64_t n, bytes;
};

struct gc_report {
	/* What was removed; with dry_run what would be. */
	struct gc_count removed[GARBAGE_KINDS];
	struct gc_count staging;
	struct gc_count versions; /* entries pruned: how many; bytes stays 0 */
	int64_t fences;		  /* forgotten */
	int64_t pages;		  /* of the database, given back to the file system */
	/* What was looked at, and what stays. */
	int64_t entries, blobs;
	struct gc_count waiting; /* unreferenced, its grace is not over */
	int64_t pinned;		 /* unreferenced for now, somebody is working on it */
	int64_t missing;       /* content that a sample of the directories does not have: damage */
	int64_t foreign;       /* names in blobs/ that are not ours; never touched */
	char foreign_name[64]; /* the first of them, as "xx/NAME" */
	bool is_restored; /* the database was older than blobs/, and --after-restore was given */
};

/*
 * One pass. The report is filled as far as it got, also on failure. *err: a sentence.
 * -ECANCELED: the database is older than blobs/ (see generation.h).  -EINTR: stopped.  -EUCLEAN,
 * -EIO and all others: something could not be read or written; when that was while finding out what
 * is alive, nothing was removed.
 */
int gc_run(struct store *s, const struct gc_env *env, const struct gc_options *opt,
	   struct gc_report *report, struct errmsg *err);

/*
 * For a store that this process owns alone (STORE_OWN). @base: progress, should_stop and arg count.
 */
int gc_run_offline(struct store *s, const struct gc_env *base, const struct gc_options *opt,
		   struct gc_report *report, struct errmsg *err);

const char *gc_stage_name(enum gc_stage stage);
const char *garbage_kind_name(enum garbage_kind kind);

#endif
