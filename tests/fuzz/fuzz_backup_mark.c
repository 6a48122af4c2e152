/* SPDX-License-Identifier: MIT */
/* The file that makes a directory a backup, written by whoever could write there. */
#include "template.h"

#include "store/backup/backup.h"
#include "store/backup/backup_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[PATH_MAX];
	struct backup_dir d = BACKUP_DIR_CLOSED;
	struct errmsg msg;
	int fd;

	snprintf(name, sizeof(name), "%s/" BACKUP_MARK, template_path());
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	if (backup_dir_open(template_path(), &d, &msg) == 0)
		backup_dir_close(&d);
	return 0;
}
