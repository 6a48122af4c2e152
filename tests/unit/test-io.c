/* SPDX-License-Identifier: MIT */
/* Durable system calls, and errors by name. Unit test. */
#include "scratch.h"

#include "wire/errname.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_in(const char *dir, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void stays_beneath(void **state)
{
	struct scratch *t = *state;
	int dir, fd;

	close(open_in(t->dir, "outside", O_CREAT | O_WRONLY));
	assert_int_equal(mkdir(t->store, 0700), 0);
	dir = open(t->store, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(dir, "sub", 0700), 0);
	assert_int_equal(symlinkat("../outside", dir, "link"), 0);
	assert_int_equal(symlinkat("sub", dir, "subl"), 0);
	fd = io_open_beneath(dir, "sub/file", O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(io_open_beneath(dir, "sub/file", O_CREAT | O_EXCL | O_RDWR, 0600),
			 -EEXIST);
	assert_int_equal(io_open_beneath(dir, "nothing", O_RDONLY, 0), -ENOENT);
	assert_int_equal(io_open_beneath(dir, "../outside", O_RDONLY, 0), -EXDEV);
	assert_int_equal(io_open_beneath(dir, "/etc/passwd", O_RDONLY, 0), -EXDEV);
	assert_int_equal(io_open_beneath(dir, "link", O_RDONLY, 0), -ELOOP);
	assert_int_equal(io_open_beneath(dir, "subl/file", O_RDONLY, 0), -ELOOP);
	close(dir);
}

static void fill(int fd, off_t off, size_t len, unsigned int seed)
{
	char *buf = malloc(len);

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)(i * 31 + seed);
	assert_int_equal(io_pwrite_all(fd, buf, len, off), 0);
	free(buf);
}

static void assert_same(int a, int b, size_t len)
{
	char *x = malloc(len + 1), *y = malloc(len + 1);

	assert_int_equal(io_pread_all(a, x, len, 0), len);
	assert_int_equal(io_pread_all(b, y, len + 1, 0), len);
	assert_memory_equal(x, y, len);
	free(x);
	free(y);
}

static void copies_with_holes(void **state)
{
	struct scratch *t = *state;
	const size_t size = (8 << 20) + 17;
	int from = open_in(t->dir, "from", O_CREAT | O_RDWR);
	int to = open_in(t->dir, "to", O_CREAT | O_RDWR);
	struct stat a, b;

	fill(from, 0, 5000, 1);
	fill(from, 4 << 20, 3 << 20, 2);
	assert_int_equal(ftruncate(from, (off_t)size), 0);
	assert_int_equal(io_copy(from, to, (off_t)size), 0);
	assert_same(from, to, size);
	assert_int_equal(fstat(from, &a), 0);
	assert_int_equal(fstat(to, &b), 0);
	assert_true(b.st_blocks <= a.st_blocks + 64);
	close(from);
	close(to);
}

static void copies_a_part(void **state)
{
	struct scratch *t = *state;
	int from = open_in(t->dir, "from", O_CREAT | O_RDWR);
	int to = open_in(t->dir, "to", O_CREAT | O_RDWR);
	char byte;

	fill(from, 0, 10000, 3);
	assert_int_equal(io_copy(from, to, 4097), 0);
	assert_same(from, to, 4097);
	assert_int_equal(io_copy(from, to, 0), 0);
	assert_int_equal(io_pread_all(to, &byte, 1, 0), 0);
	assert_int_equal(io_copy(from, to, 10001), -EINVAL);
	assert_int_equal(io_copy(from, to, -1), -EINVAL);
	close(from);
	close(to);
}

static void reports_errors(void **state)
{
	char c = 'x';

	(void)state;
	assert_int_equal(io_write_all(-1, &c, 1), -EBADF);
	assert_int_equal(io_pwrite_all(-1, &c, 1, 0), -EBADF);
	assert_int_equal(io_pread_all(-1, &c, 1, 0), -EBADF);
	assert_int_equal(io_fsync(-1), -EBADF);
	assert_true(io_now_ns() > INT64_C(1500000000000000000));
	assert_true(io_boot_ns() > 0);
}

static void names_errors(void **state)
{
	(void)state;
	assert_string_equal(errname(ESTALE), "ESTALE");
	assert_string_equal(errname(-ECANCELED), "ECANCELED");
	assert_string_equal(errname(EOPNOTSUPP), "EOPNOTSUPP");
	assert_string_equal(errname(EUCLEAN), "EUCLEAN");
	assert_string_equal(errname(EAGAIN), "EAGAIN");
	assert_string_equal(errname(0), "EIO");
	assert_string_equal(errname(99999), "EIO");
	assert_int_equal(errname_parse("ESTALE"), ESTALE);
	assert_int_equal(errname_parse("EOPNOTSUPP"), EOPNOTSUPP);
	assert_int_equal(errname_parse("EREMOTEIO"), EREMOTEIO);
	assert_int_equal(errname_parse("0"), 0);
	assert_int_equal(errname_parse("Success"), 0);
	for (int err = 1; err < 134; err++) {
		if (errname_parse(errname(err)) != err && strcmp(errname(err), "EIO") != 0)
			fail_msg("%s", errname(err));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_dir, stays_beneath), test_in(scratch_dir, copies_with_holes),
		test_in(scratch_dir, copies_a_part), cmocka_unit_test(reports_errors),
		cmocka_unit_test(names_errors),
	};

	return cmocka_run_group_tests_name("io", tests, NULL, NULL);
}
