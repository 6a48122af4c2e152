/* SPDX-License-Identifier: MIT */
/* fence doctor: descriptors, and the SQLite that is loaded. */
#include "doctor/doctor.h"

#include "store/sqlite/db_version.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define FILES_WANT 1048576 /* what the daemon asks for */
#define FILES_FEW  65536

static void check_files(struct doctor *d)
{
	struct rlimit limit;
	char text[32] = "";
	unsigned long long most;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	most = limit.rlim_max;
	/* Root's daemon raises its own, as far as the kernel lets anybody. */
	if (d->is_root && doctor_read("/proc/sys/fs/nr_open", text, sizeof(text)) &&
	    most < FILES_WANT) {
		most = strtoull(text, NULL, 10);
		most = most < FILES_WANT ? limit.rlim_max : FILES_WANT;
	}
	if (most < FILES_FEW)
		doctor_say(
			d, DOCTOR_NOTE, "open files",
			d->is_root ? "sysctl fs.nr_open=1048576" :
				     "\"* hard nofile 1048576\" in /etc/security/limits.conf, or "
				     "LimitNOFILE=1048576 in the unit",
			"a daemon may have %llu files open: no more than that can be read at the "
			"same time",
			most);
	else
		doctor_say(d, DOCTOR_OK, "open files", NULL, "a daemon may have %llu files open",
			   most);
}

/* SQLite before 3.51.3 can lose pages when two connections write; fencefs has one that does. */
static void check_sqlite(struct doctor *d)
{
	const char *version = db_version();
	int major = 0, minor = 0, patch = 0;

	sscanf(version, "%9d.%9d.%9d", &major, &minor, &patch);
	if (doctor_is_at_least(version, 3, 52) || (major == 3 && minor == 51 && patch >= 3))
		doctor_say(d, DOCTOR_OK, "SQLite", NULL, "SQLite %s", version);
	else
		doctor_say(d, DOCTOR_OK, "SQLite", NULL,
			   "SQLite %s; before 3.51.3, a second program that writes to a store's "
			   "meta.db can destroy pages: let none do so",
			   version);
}

void doctor_limits(struct doctor *d)
{
	check_files(d);
	check_sqlite(d);
}
