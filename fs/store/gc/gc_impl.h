/* SPDX-License-Identifier: MIT */
/* One pass of gc, for the gc_*.c files and prune.c only. */
#ifndef FENCE_STORE_GC_GC_IMPL_H
#define FENCE_STORE_GC_GC_IMPL_H

#include "store/blob/blob_set.h"
#include "store/gc/gc.h"

#define GC_ROWS	 20000 /* rows that one query reads: its snapshot pins the WAL as long as it runs */
#define GC_BATCH 256   /* changes in one transaction */

struct gc_rows {
	int64_t *v; /* owned; ids of entries */
	size_t n, room;
};

struct gc {
	struct store *s; /* borrowed, as are: */
	const struct gc_env *env;
	const struct gc_options *opt;
	struct gc_report *report;
	struct errmsg *err;
	struct db *db;	  /* owned; read-only, without mmap: a bad sector is an error, not SIGBUS */
	int64_t now;	  /* wall clock, ns */
	int64_t last_row; /* M: entries up to here are read by the scan */
	int64_t last_blob;     /* blobs up to here are looked at; later ones have later entries */
	struct gc_rows pruned; /* entries to prune, in the order in which they are to go */
	/* What entries above last_row refer to, as far as they have been read. */
	struct blob_set young;
	int64_t young_row, young_seen; /* read: durably so; in the step that runs */
};

/* One marked or unreferenced blob in a batch. */
struct gc_item {
	struct blob_id id;
	enum garbage_kind kind;
	int64_t since, size;
	bool is_file; /* it has a file in blobs/ */
	bool done;    /* set by the step: it was changed */
};

struct gc_batch {
	struct gc *gc; /* borrowed */
	struct gc_item item[GC_BATCH];
	int n;
};

/* -EINTR when it is time to stop. */
int gc_step(struct gc *gc, enum gc_stage stage, int64_t done, int64_t total);
/* Call at the start of each step in the writer: the entries that have come since the scan began. */
int gc_catch_up(struct gc *gc, struct db *db);
/* Whether @id must stay, whatever its mark says. In the writer, after gc_catch_up(). */
bool gc_is_needed(struct gc *gc, const struct blob_id *id);
/* A step in the writer. */
int gc_write(struct gc *gc, gc_write_fn fn, void *arg);
/* "cannot read …" into gc->err, unless there is a sentence already; returns @res. */
int gc_fail(struct gc *gc, int res, const char *what);
int gc_rows_add(struct gc_rows *rows, int64_t row);

/* What is expired, into gc->pruned (prune.c); then away with it. */
int gc_prune_plan(struct gc *gc);
int gc_prune(struct gc *gc);
/* Find what is unreferenced in the tables (gc_scan.c), then in blobs/ (gc_files.c), and mark it. */
int gc_scan(struct gc *gc);
int gc_files(struct gc *gc);
/* Mark, or take back the mark of, what is in the batch; then it is empty (gc_mark.c). */
int gc_mark_flush(struct gc_batch *b);
int gc_unmark_flush(struct gc_batch *b);
/* Put into a batch, which is flushed when it is full. */
int gc_mark_add(struct gc_batch *b, const struct gc_item *item);
int gc_unmark_add(struct gc_batch *b, const struct gc_item *item);
/* Up to GC_BATCH marks after @after, in the order of ids, into @out. How many. */
int gc_load_marks(struct gc *gc, const struct blob_id *after, bool from_start,
		  struct gc_item out[GC_BATCH]);
/* Remove what is marked and whose grace is over (gc_sweep.c). */
int gc_sweep(struct gc *gc);
/* staging/ of an offline store. */
int gc_staging(struct gc *gc);
/* Fences of paths that are gone (gc_fences.c). */
int gc_forget_fences(struct gc *gc);
/* Free pages and the WAL. */
int gc_compact(struct gc *gc);
/* Account @item as removed; or, in a dry run, find out what it is and whether it would be. */
void gc_removed(struct gc *gc, const struct gc_item *item);
int gc_account(struct gc *gc, struct gc_item *item);
static inline bool gc_is_due(const struct gc *gc, int64_t since)
{
	/* The future is now. */
	return since > gc->now ? gc->opt->grace == 0 : gc->now - since >= gc->opt->grace;
}

#endif
