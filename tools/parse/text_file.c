/* SPDX-License-Identifier: MIT */
/* See text_file.h. Layer: tools. */
#include "parse/text_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "parse/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Its name tells whose it is: two that write at the same time do not mix. */
static int make(const char *temporary, const char *bytes, size_t len)
{
	auto_fd int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int err;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) < 0) /* whatever the umask is */
		return -errno;
	err = io_write_all(fd, bytes, len);
	if (!err && close(take_fd(&fd)) < 0)
		err = -errno;
	return err;
}

int text_file_replace(const char *path, const char *bytes, size_t len)
{
	auto_buf struct buf temporary = { 0 };
	int err;

	buf_printf(&temporary, "%s.%d.tmp", path, (int)getpid());
	unlink(temporary.s); /* of one that was killed and had our number */
	err = make(temporary.s, bytes, len);
	if (!err && rename(temporary.s, path) < 0)
		err = -errno;
	if (err)
		unlink(temporary.s);
	return err;
}
