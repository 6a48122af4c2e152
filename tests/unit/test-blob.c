/* SPDX-License-Identifier: MIT */
/* Blobs: staged, sealed, read, and what a wrong file is taken for. Unit test. */
#include "scratch.h"

#include "base/io.h"
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ids_are_hex(void **state)
{
	struct blob_id a, b;

	(void)state;
	assert_int_equal(blob_id_new(&a), 0);
	assert_int_equal(blob_id_new(&b), 0);
	assert_memory_not_equal(a.b, b.b, sizeof(a.b));
	assert_int_equal(strlen(blob_hex(a.b).s), 32);
	assert_int_equal(blob_hex_parse(blob_hex(a.b).s, b.b), 0);
	assert_memory_equal(a.b, b.b, sizeof(a.b));
	assert_int_equal(blob_hex_parse("", b.b), -EINVAL);
	assert_int_equal(blob_hex_parse("0123456789abcdef0123456789abcde", b.b), -EINVAL);
	assert_int_equal(blob_hex_parse("0123456789abcdef0123456789abcdef0", b.b), -EINVAL);
	assert_int_equal(blob_hex_parse("0123456789ABCDEF0123456789abcdef", b.b), -EINVAL);
	assert_int_equal(blob_hex_parse("0123456789abcdef0123456789abcde/", b.b), -EINVAL);
	assert_memory_equal(a.b, b.b, sizeof(a.b));
}

static void stages(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = { { 0xab, 1 } };
	struct stat st;
	int fd, other;

	assert_int_equal(staging_open(t->s, &id, O_RDONLY, &fd), -ENOENT);
	assert_int_equal(staging_create(t->s, &id, &fd), 0);
	assert_int_equal(staging_create(t->s, &id, &other), -EEXIST);
	assert_int_equal(io_write_all(fd, "hello", 5), 0);
	close(fd);
	assert_int_equal(staging_stat(t->s, &id, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(staging_open(t->s, &id, O_RDWR, &fd), 0);
	close(fd);
	assert_int_equal(staging_remove(t->s, &id), 0);
	assert_int_equal(staging_remove(t->s, &id), -ENOENT);
	for (uint8_t i = 0; i < 5; i++) {
		id.b[3] = i;
		assert_int_equal(staging_create(t->s, &id, &fd), 0);
		close(fd);
	}
	assert_int_equal(staging_empty(t->s), 5);
	assert_int_equal(staging_empty(t->s), 0);
}

static struct blob_id take(struct scratch *t, int *out_fd)
{
	struct blob_id id;
	struct stat st;

	assert_int_equal(staging_take(t->s, &id, out_fd), 0);
	assert_int_equal(fstat(*out_fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(io_write_all(*out_fd, "hello", 5), 0);
	return id;
}

static void gives_out_again_what_nobody_has_open(void **state)
{
	struct scratch *t = *state;
	struct blob_id id, other;
	struct stat st;
	char c;
	int fd, reader;

	id = take(t, &fd);
	close(fd);
	assert_int_equal(staging_give_up(t->s, &id), 0);
	other = take(t, &fd);
	assert_memory_equal(&other, &id, sizeof(id));

	/* Somebody still writes. */
	assert_int_equal(staging_give_up(t->s, &id), 0);
	assert_int_equal(staging_stat(t->s, &id, &st), -ENOENT);
	close(fd);
	other = take(t, &fd);
	assert_memory_not_equal(&other, &id, sizeof(id));
	close(fd);

	/* Somebody still reads, and keeps what there was. */
	assert_int_equal(staging_open(t->s, &other, O_RDONLY, &reader), 0);
	assert_int_equal(staging_give_up(t->s, &other), 0);
	assert_int_equal(staging_stat(t->s, &other, &st), -ENOENT);
	assert_int_equal(pread(reader, &c, 1, 4), 1);
	assert_int_equal(c, 'o');
	close(reader);
	assert_int_equal(staging_give_up(t->s, &other), -ENOENT);
	assert_int_equal(staging_empty(t->s), 0);
}

static void stage(struct scratch *t, const struct blob_id *id, const char *text)
{
	int fd;

	assert_int_equal(staging_create(t->s, id, &fd), 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(io_fsync(fd), 0);
	close(fd);
}

static void moves_in(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = { { 0xab, 1 } }, other = { { 0xff, 2 } };
	struct blob_dirs dirs = { { 0 } };
	struct stat st;
	char path[160];
	int fd;

	stage(t, &id, "hello");
	assert_int_equal(blob_open(t->s, &id, 5, &fd), -ENOENT);
	assert_int_equal(blob_move_in(t->s, &id), 0);
	assert_int_equal(blob_move_in(t->s, &id), 0); /* tried again */
	assert_int_equal(blob_move_in(t->s, &other), -ENOENT);
	blob_dirs_add(&dirs, &id);
	blob_dirs_add(&dirs, &other);
	assert_int_equal(blob_sync_dirs(t->s, &dirs), 0);
	snprintf(path, sizeof(path), "%s/blobs/ab/ab010000000000000000000000000000", t->store);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	assert_int_equal(blob_open(t->s, &id, 5, &fd), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	assert_int_equal(blob_open(t->s, &id, 6, &fd), -EUCLEAN);
	stage(t, &id, "again");
	assert_int_equal(blob_move_in(t->s, &id), -EEXIST); /* sealed content is never replaced */
	assert_int_equal(staging_stat(t->s, &id, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(blob_remove(t->s, &id), 0);
	assert_int_equal(blob_remove(t->s, &id), -ENOENT);
	/* A planted symlink is not followed. */
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(blob_open(t->s, &id, 5, &fd), -ELOOP);
}

static void hashes(void **state)
{
	/* xxhsum -H2 of nothing and of "hello" */
	static const char empty[] = "99aa06d3014798d86001c324468d497f";
	static const char hello[] = "b5e9c1ad071b3e7fc779cfaa5e523818";
	struct scratch *t = *state;
	struct blob_id id = { { 1 } };
	struct blob_hash a, b;
	char *big = calloc(1, (5 << 20) + 3);
	int64_t size = 0;
	int fd;

	hash_buf("", 0, &a);
	assert_string_equal(blob_hex(a.b).s, empty);
	hash_buf("hello", 5, &a);
	assert_string_equal(blob_hex(a.b).s, hello);
	assert_int_equal(staging_create(t->s, &id, &fd), 0);
	assert_int_equal(hash_fd(fd, &b, &size), 0);
	assert_int_equal(size, 0);
	assert_string_equal(blob_hex(b.b).s, empty);
	for (size_t i = 0; i < (5 << 20) + 3; i++)
		big[i] = (char)(i * i >> 3);
	assert_int_equal(io_write_all(fd, big, (5 << 20) + 3), 0);
	assert_int_equal(hash_fd(fd, &b, &size), 0);
	assert_int_equal(size, (5 << 20) + 3);
	hash_buf(big, (5 << 20) + 3, &a);
	assert_memory_equal(a.b, b.b, 16);
	close(fd);
	assert_int_equal(hash_fd(-1, &b, &size), -EBADF);
	free(big);
}

static void remembers(void **state)
{
	struct scratch *t = *state;
	struct blob_id in = { { 1 } }, out = { { 2 } }, none = { { 3 } }, empty = { { 4 } };
	struct blob_hash hash = { { 9 } };
	struct blob_info info;
	char data[BLOB_INLINE_MAX];

	memset(data, 'x', sizeof(data));
	assert_int_equal(blob_insert(t->db, &in, sizeof(data), &hash, data), 0);
	assert_int_equal(blob_insert(t->db, &out, INT64_MAX, &hash, NULL), 0);
	assert_int_equal(blob_insert(t->db, &empty, 0, &hash, NULL), 0);
	assert_int_equal(blob_insert(t->db, &out, 1, &hash, NULL), 0); /* the first one stays */
	assert_int_equal(blob_get(t->db, &none, true, &info), -ENOENT);
	assert_int_equal(blob_get(t->db, &in, false, &info), 0);
	assert_true(info.is_inline);
	assert_null(info.data);
	assert_int_equal(blob_get(t->db, &in, true, &info), 0);
	assert_memory_equal(info.data, data, sizeof(data));
	assert_memory_equal(info.hash.b, hash.b, sizeof(hash.b));
	free(info.data);
	assert_int_equal(blob_get(t->db, &out, true, &info), 0);
	assert_false(info.is_inline);
	assert_null(info.data);
	assert_int_equal(info.size, INT64_MAX);
	assert_int_equal(blob_get(t->db, &empty, true, &info), 0);
	assert_true(info.is_inline);
	assert_non_null(info.data);
	free(info.data);
	assert_int_equal(
		db_exec(t->db,
			"UPDATE blob SET size = 5 WHERE id = x'01000000000000000000000000000000'"),
		0);
	assert_int_equal(blob_get(t->db, &in, true, &info), -EUCLEAN);
}

static int64_t garbage_since(struct scratch *t, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;

	assert_int_equal(db_stmt(t->db, "SELECT since FROM garbage WHERE blob = ?1", &st), 0);
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_step(st) == 1 ? stmt_get_int(st, 0) : -1;
}

static void marks_garbage(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = { { 1 } };

	assert_int_equal(garbage_mark(t->db, &id, 5), 0);
	assert_int_equal(garbage_mark(t->db, &id, 9), 0);
	assert_int_equal(garbage_since(t, &id), 5);
	assert_int_equal(garbage_unmark(t->db, &id), 0);
	assert_int_equal(garbage_unmark(t->db, &id), 0);
	assert_int_equal(garbage_since(t, &id), -1);
	assert_int_equal(garbage_mark(t->db, &id, 9), 0);
	assert_int_equal(garbage_since(t, &id), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_hex),
		test_in(scratch_store, stages),
		test_in(scratch_store, gives_out_again_what_nobody_has_open),
		test_in(scratch_store, moves_in),
		test_in(scratch_store, hashes),
		test_in(scratch_txn, remembers),
		test_in(scratch_txn, marks_garbage),
	};

	return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
