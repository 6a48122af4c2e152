/* SPDX-License-Identifier: MIT */
/* See mount_failure.h. Layer: fuse. */
#include "fuse/mount/mount_failure.h"

#include "base/cleanup.h"
#include "base/conf_line.h"
#include "fuse/mount/options.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define DEVICE		 "/dev/fuse"
#define FUSE_CONF	 "/etc/fuse.conf"
#define APPARMOR_ENABLED "/sys/module/apparmor/parameters/enabled"
#define APPARMOR_PROFILE "/etc/apparmor.d/fusermount3"
#define FUSERMOUNT	 "fusermount3"
#define DEFAULT_PATH	 "/bin:/usr/bin" /* of posix_spawnp() without PATH */

static bool is_in_path(const char *program)
{
	const char *path = getenv("PATH");
	auto_free char *copy = strdup(path ? path : DEFAULT_PATH);
	char *rest = copy, *dir;
	bool found = false;

	while (!found && (dir = strsep(&rest, ":"))) {
		auto_free char *file = NULL;

		if (asprintf(&file, "%s/%s", *dir ? dir : ".", program) < 0)
			file = NULL;
		found = file && access(file, X_OK) == 0;
	}
	return found;
}

/* "allow_other" or "allow_root" when it is asked for, else NULL. */
static const char *wanted_for_others(const struct options *o)
{
	if (!o->mount)
		return NULL;
	return strstr(o->mount, "allow_other") ? "allow_other" :
	       strstr(o->mount, "allow_root")  ? "allow_root" :
						 NULL;
}

static int device_failure(struct errmsg *err)
{
	int e = errno;

	if (e == ENOENT)
		return errmsg_set(err, -e,
				  "there is no " DEVICE ": load the module (modprobe fuse)");
	return errmsg_set(err, -e,
			  DEVICE ": %s: everyone must be able to open it, chmod 666 " DEVICE,
			  strerror(e));
}

static int failure_of_root(const char *mountpoint, struct errmsg *err)
{
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0)
		return errmsg_set(
			err, -EPERM,
			"cannot mount at %s: this needs the capability CAP_SYS_ADMIN, which root "
			"does not have here, as in a container",
			mountpoint);
	return errmsg_set(err, -EIO, "cannot mount at %s", mountpoint);
}

static int failure_of_user(const struct options *o, const char *mountpoint, struct errmsg *err)
{
	const char *others = wanted_for_others(o);

	if (!is_in_path(FUSERMOUNT) && access("/usr/local/bin/" FUSERMOUNT, X_OK) < 0)
		return errmsg_set(err, -ENOENT,
				  "only root can mount without " FUSERMOUNT
				  ", which is missing (package fuse3)");
	if (others && !conf_has_line(FUSE_CONF, "user_allow_other"))
		return errmsg_set(err, -EPERM,
				  "-o %s: ordinary users may use it only if there is a line "
				  "\"user_allow_other\" in " FUSE_CONF ", which root can add",
				  others);
	if (conf_has_line(APPARMOR_ENABLED, "Y") && access(APPARMOR_PROFILE, F_OK) == 0)
		return errmsg_set(
			err, -EACCES,
			"cannot mount at %s: " FUSERMOUNT
			" has said why; \"Permission denied\" is AppArmor's, which allows it only "
			"in some places. Root can add this one to /etc/apparmor.d/local/" FUSERMOUNT
			": mount fstype=fuse.fencefs -> %s/, and umount %s/,",
			mountpoint, mountpoint, mountpoint);
	return errmsg_set(err, -EIO, "cannot mount at %s", mountpoint);
}

int mount_failure(const struct options *o, const char *mountpoint, struct errmsg *err)
{
	if (access(DEVICE, R_OK | W_OK) < 0)
		return device_failure(err);
	return geteuid() == 0 ? failure_of_root(mountpoint, err) :
				failure_of_user(o, mountpoint, err);
}
