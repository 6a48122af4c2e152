/* SPDX-License-Identifier: MIT */
/*
 * Content: staged files while a session writes them, immutable blobs once sealed (P5), and the blob
 * table.
 * Files are named by their id in hex: staging/ID, blobs/xx/ID (mode 0400).
 */
#ifndef FENCE_STORE_BLOB_BLOB_H
#define FENCE_STORE_BLOB_BLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define BLOB_INLINE_MAX 16384 /* content up to this many bytes lives in blob.data */

struct db;
struct store;

struct blob_id {
	uint8_t b[16];
};
struct blob_hash {
	uint8_t b[16]; /* XXH3-128, canonical (big endian) */
};
struct blob_hex {
	char s[33];
};

struct blob_info {
	struct blob_id id;
	struct blob_hash hash;
	int64_t size;
	bool is_inline;
	void *data; /* owned by whoever asked; NULL unless is_inline */
};

/* A fresh random id (getrandom). */
int blob_id_new(struct blob_id *out);
struct blob_hex blob_hex(const uint8_t b[16]);
/* -EINVAL unless 32 lower-case hex digits. */
int blob_hex_parse(const char *s, uint8_t out[16]);

/* staging/ID: O_CREAT|O_EXCL|O_RDWR, mode 0600. */
int staging_create(struct store *s, const struct blob_id *id, int *out_fd);
/* @flags: O_RDONLY, O_WRONLY or O_RDWR. */
int staging_open(struct store *s, const struct blob_id *id, int flags, int *out_fd);
int staging_stat(struct store *s, const struct blob_id *id, struct stat *out);
int staging_remove(struct store *s, const struct blob_id *id);
/* An empty staged file, a spare one (spare.h) or new; its descriptor is O_RDWR. */
int staging_take(struct store *s, struct blob_id *out_id, int *out_fd);
/*
 * staging/ID is not needed any more: kept as a spare, or removed. Whoever may still open it by its
 * name must be kept out.
 */
int staging_give_up(struct store *s, const struct blob_id *id);
/* Every file in staging/ goes; the count, or -errno. */
int staging_empty(struct store *s);

/* blobs/xx/ID read-only. -ENOENT: no such blob.  -EUCLEAN: its size is not @want. */
int blob_open(struct store *s, const struct blob_id *id, int64_t want, int *out_fd);
/*
 * staging/ID -> blobs/xx/ID, mode 0400. The content must have been fsynced; the move itself is
 * durable only after blob_sync_dirs() on a set that has this id.
 */
int blob_move_in(struct store *s, const struct blob_id *id);
/* The fan-out directories touched by a batch of moves, to fsync each of them once. */
struct blob_dirs {
	uint64_t bits[4];
};
void blob_dirs_add(struct blob_dirs *d, const struct blob_id *id);
int blob_sync_dirs(struct store *s, const struct blob_dirs *d);
int blob_remove(struct store *s, const struct blob_id *id);
/* Of blobs/xx/ID. -ENOENT. */
int blob_file_size(struct store *s, const struct blob_id *id, int64_t *out);

/* XXH3-128 and size of a whole file / of a buffer. */
int hash_fd(int fd, struct blob_hash *out, int64_t *out_size);
void hash_buf(const void *buf, size_t len, struct blob_hash *out);

/* Blob table (within a transaction for the writers). @data non-NULL or @size 0: inline. */
int blob_insert(struct db *db, const struct blob_id *id, int64_t size, const struct blob_hash *hash,
		const void *data);
/* -ENOENT. info->data is set (malloc'd) for inline blobs if @want_data. */
int blob_get(struct db *db, const struct blob_id *id, bool want_data, struct blob_info *out);

/* How content came to be unreferenced. */
enum garbage_kind {
	GARBAGE_REFUSED, /* of a refused write: a reject row names it */
	GARBAGE_CRASHED, /* sealed, and never published nor refused */
	GARBAGE_PRUNED,	 /* its last version was pruned */
	GARBAGE_KINDS
};
/* gc's mark: unreferenced since @now_ns. Does nothing if it is marked already. */
int garbage_mark(struct db *db, const struct blob_id *id, int64_t now_ns);
int garbage_unmark(struct db *db, const struct blob_id *id);

#endif
