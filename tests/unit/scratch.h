/* SPDX-License-Identifier: MIT */
/* A scratch directory, and a store in it, for one test each. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/tree/change.h"
#include "store/store.h"

struct scratch {
	char dir[64];	/* absolute */
	char store[80]; /* dir/store */
	struct store *s;
	struct db *db; /* the writer */
};

/* cmocka fixtures: an empty directory; an open store; the same within a transaction. */
int scratch_dir(void **state);
int scratch_store(void **state);
int scratch_txn(void **state);
/* Also checks that no statement that the test made the store prepare reads a whole table. */
int scratch_remove(void **state);

/* Close the store and open it again; the transaction, if any, must be over. */
void scratch_reopen(struct scratch *t);

/* A commit of @n changes with @token, claimed at ".". */
int scratch_commit(struct scratch *t, int64_t token, const struct change *changes, size_t n,
		   struct commit_result *out);
/* The same, which must succeed; its revision. */
int64_t scratch_commit_ok(struct scratch *t, int64_t token, const struct change *changes, size_t n);
/* Directory id of @path now. */
int64_t scratch_dir_id(struct scratch *t, const char *path);

#define FILE_AT(dir_, name_, path_)                                                                \
	{                                                                                          \
		.kind = CHANGE_FILE, .dir = (dir_), .name = (name_), .path = (path_), .mode = 0644 \
	}
#define DIR_AT(dir_, name_, path_, child_)                                           \
	{                                                                            \
		.kind = CHANGE_DIR, .dir = (dir_), .name = (name_), .path = (path_), \
		.child = (child_), .mode = 0755                                      \
	}
#define REMOVE_AT(dir_, name_, path_)                                                  \
	{                                                                              \
		.kind = CHANGE_REMOVE, .dir = (dir_), .name = (name_), .path = (path_) \
	}

#define test_in(fixture, f) cmocka_unit_test_setup_teardown(f, fixture, scratch_remove)

#endif
