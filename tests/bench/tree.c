/* SPDX-License-Identifier: MIT */
/* See tree.h. Of the bench's client. */
#include "tree.h"

#include "conversation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(int dir, long number, const char *data, size_t size, bool sync)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%03ld", number);
	fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || (sync && fsync(fd) < 0))
		die(name);
	close(fd);
}

static int make_dir(const char *parent, long number)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%03ld", parent, number);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		die(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

void tree_write(const char *dir, long count, size_t size, bool sync)
{
	char *data = malloc(size);
	int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!data || parent < 0)
		die(dir);
	memset(data, 'x', size);
	for (long first = 0; first < count; first += TREE_FAN) {
		int fd = make_dir(dir, first / TREE_FAN);

		for (long i = first; i < count && i < first + TREE_FAN; i++)
			write_file(fd, i - first, data, size, sync);
		if (sync && fsync(fd) < 0)
			die("fsync of a directory");
		close(fd);
	}
	if (sync && fsync(parent) < 0)
		die("fsync of a directory");
	close(parent);
	free(data);
}
