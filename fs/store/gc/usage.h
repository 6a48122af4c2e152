/* SPDX-License-Identifier: MIT */
/* What the bytes of a store are for. */
#ifndef FENCE_STORE_GC_USAGE_H
#define FENCE_STORE_GC_USAGE_H

#include <stdint.h>

struct db;
struct store;

struct usage_part {
	int64_t n, bytes;
};

struct usage {
	struct usage_part live;		 /* content of current versions */
	struct usage_part history;	 /* content of past versions only */
	struct usage_part orphans;	 /* content that no version refers to: gc's */
	struct usage_part staging;	 /* files of open sessions; allocated bytes */
	struct usage_part database;	 /* meta.db and its WAL; small content is in there */
	int64_t free_bytes, total_bytes; /* of the file system */
};

/* Reads the tables of content and of versions from end to end: seconds for a million. */
int usage_read(struct store *s, struct usage *out);
/* The same through @db; db_stop_when() ends it early: -EINTR. */
int usage_read_by(struct store *s, struct db *db, struct usage *out);
/* Bytes of meta.db and of its WAL; 0 where one cannot be seen. Cheap. */
void usage_of_database(struct store *s, int64_t *out_main, int64_t *out_wal);

#endif
