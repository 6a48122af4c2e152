/* SPDX-License-Identifier: MIT */
/* See streams.h. Layer: base. */
#include "base/streams.h"

#include <fcntl.h>
#include <unistd.h>

void streams_fill(bool usable)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int useless = (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC;

		/* The lowest number that is free: those below are open by now. */
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", usable ? O_RDWR : useless);
	}
}
