/* SPDX-License-Identifier: MIT */
/*
 * Names of errno values. The table is glibc's; Linux numbers its errors below 4096. Layer: wire.
 */
#include "wire/errname.h"

#include <string.h>

#define ERRNO_END 4096

const char *errname(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name && name[0] == 'E' ? name : "EIO";
}

int errname_parse(const char *name)
{
	for (int err = 1; err < ERRNO_END; err++) {
		const char *known = strerrorname_np(err);

		if (known && strcmp(known, name) == 0)
			return err;
	}
	return 0;
}
