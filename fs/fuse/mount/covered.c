/* SPDX-License-Identifier: MIT */
/* See covered.h. Layer: fuse. */
#include "fuse/mount/covered.h"

#include "base/log.h"
#include "fuse/mount/stale.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 1000 /* it may be millions, and one would do */

void covered_warn(const char *mountpoint)
{
	DIR *dir = stale_is_automount(mountpoint) ? NULL : opendir(mountpoint);
	const struct dirent *d;
	char first[256] = "";
	int n = 0;

	if (!dir)
		return;
	while (n <= COUNT_MAX && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (n++ == 0)
			snprintf(first, sizeof(first), "%s", d->d_name);
	}
	closedir(dir);
	if (n == 1)
		log_warning("%s is not empty: %s is hidden while it is mounted", mountpoint, first);
	else if (n > 1)
		log_warning(
			"%s is not empty: %s%d entries are hidden while it is mounted, such as %s",
			mountpoint, n > COUNT_MAX ? "more than " : "",
			n > COUNT_MAX ? COUNT_MAX : n, first);
}
