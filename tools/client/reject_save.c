/* SPDX-License-Identifier: MIT */
/* See reject_save.h. Layer: tools. */
#include "client/reject_save.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "parse/buf.h"
#include "files/copy.h"
#include "out/exit_code.h"
#include "wire/number.h"
#include "out/progress.h"
#include "out/report.h"
#include "client/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int say_failed(const struct args *a, const char *name, int err)
{
	report_error(a, name, err, "%s", strerror(-err));
	return EXIT_FAILED;
}

static int open_kept(const struct args *a, const char *id, int *out_fd)
{
	auto_target struct target t = { 0 };
	auto_buf struct buf path = { 0 };
	struct errmsg err;
	const char *dir = args_get(a, "mount");
	int r = target_default(dir, &t, &err);
	int fd;

	if (r < 0)
		return report_error(a, dir, r, "%s", err.s);
	buf_printf(&path, "%s/.fence/rejects/%s", strcmp(t.mount, "/") == 0 ? "" : t.mount, id);
	fd = open(path.s, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		report_error(a, id, -ENOENT, "no data is kept under this id");
		return EXIT_FAILED;
	}
	if (fd < 0 && errno == EACCES) {
		report_error(a, id, -EACCES, "only root and the user who was refused may read it");
		return EXIT_FAILED;
	}
	if (fd < 0)
		return say_failed(a, path.s, -errno);
	*out_fd = fd;
	return EXIT_OK;
}

/*
 * Under another name first: @file is never seen half written, and an old one stays until the new
 * one is whole.
 */
static int write_beside(int from, const char *beside, off_t size, struct copy_failure *failure)
{
	auto_fd int to = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	auto_progress struct progress p = { 0 };
	int r;

	if (to < 0) {
		*failure = (struct copy_failure){ .err = -errno };
		return failure->err;
	}
	progress_init(&p, beside, (uint64_t)size);
	r = copy_file(from, to, size, &p, failure);
	if (r == 0 && (r = io_fsync(to)) < 0)
		*failure = (struct copy_failure){ .err = r };
	return r;
}

static int save_file(const struct args *a, const char *id, int from, const char *file)
{
	auto_buf struct buf beside = { 0 };
	struct copy_failure failure = { 0 };
	struct stat st;
	unsigned int flags = args_has(a, "force") ? 0 : RENAME_NOREPLACE;
	int r;

	if (flags && lstat(file, &st) == 0) {
		report_error(a, file, -EEXIST, "already exists; --force overwrites it");
		return EXIT_FAILED;
	}
	if (fstat(from, &st) < 0)
		return say_failed(a, id, -errno);
	buf_printf(&beside, "%s.%d.part", file, (int)getpid());
	if (write_beside(from, beside.s, st.st_size, &failure) < 0) {
		unlink(beside.s);
		return say_failed(a, failure.reading ? id : file, failure.err);
	}
	r = renameat2(AT_FDCWD, beside.s, AT_FDCWD, file, flags);
	if (r < 0 && errno == EINVAL) /* a file system that knows no flags; we have looked above */
		r = rename(beside.s, file);
	if (r < 0) {
		r = -errno;
		unlink(beside.s);
		return say_failed(a, file, r);
	}
	return EXIT_OK;
}

int reject_save(const struct args *a, const char *id, const char *file)
{
	struct copy_failure failure = { 0 };
	auto_fd int from = -1;
	int code;

	if (!number_is_token(id))
		return report_usage(a, "\"%s\" is not an id; fence rejects lists them", id);
	code = open_kept(a, id, &from);
	if (code)
		return code;
	if (strcmp(file, "-") != 0)
		return save_file(a, id, from, file);
	if (copy_stream(from, STDOUT_FILENO, NULL, &failure) == 0)
		return EXIT_OK;
	return failure.err == -EPIPE ? EXIT_FAILED : say_failed(a, id, failure.err);
}
