/* SPDX-License-Identifier: MIT */
/* See mount_option.h. Layer: wire. Input is untrusted: nothing asserts. */
#include "wire/mount_option.h"

#include "base/nearest.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct mount_option mount_options[] = {
	{ "passthrough", MOUNT_OWN, MOUNT_MAY_VALUE },
	{ "io_uring", MOUNT_OWN, MOUNT_MAY_VALUE },
	{ "ro", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "rw", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "dev", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "nodev", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "suid", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "nosuid", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "exec", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "noexec", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "sync", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "async", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "dirsync", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "noatime", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "nodiratime", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "symfollow", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "nosymfollow", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "allow_other", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "allow_root", MOUNT_PASSED, MOUNT_NO_VALUE },
	{ "context", MOUNT_PASSED, MOUNT_VALUE },
	{ "fscontext", MOUNT_PASSED, MOUNT_VALUE },
	{ "defcontext", MOUNT_PASSED, MOUNT_VALUE },
	{ "rootcontext", MOUNT_PASSED, MOUNT_VALUE },
	{ "user", MOUNT_DROPPED, MOUNT_MAY_VALUE },
	{ "defaults", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "auto", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "noauto", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "users", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nouser", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "owner", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "noowner", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "group", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nogroup", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "_netdev", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nofail", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "fail", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "atime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "diratime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "relatime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "norelatime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "strictatime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nostrictatime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "lazytime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nolazytime", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "iversion", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "noiversion", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "mand", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "nomand", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "loud", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "silent", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "default_permissions", MOUNT_DROPPED, MOUNT_NO_VALUE },
	{ "comment", MOUNT_DROPPED, MOUNT_VALUE },
	{ "loop", MOUNT_DROPPED, MOUNT_VALUE },
	{ "uhelper", MOUNT_DROPPED, MOUNT_VALUE },
	{ "helper", MOUNT_DROPPED, MOUNT_VALUE },
	{ "x-fence.timeout", MOUNT_TIMEOUT, MOUNT_VALUE },
	{ "remount", MOUNT_REMOUNT, MOUNT_NO_VALUE },
	{ "auto_unmount", MOUNT_UNSAFE, MOUNT_NO_VALUE },
	{ NULL, MOUNT_DROPPED, MOUNT_NO_VALUE },
};

const char mount_option_unsafe[] =
	"not available, since after a crash it would let unfenced writes into the bare directory:";

static const struct mount_option other = { "", MOUNT_DROPPED, MOUNT_MAY_VALUE };

const struct mount_option *mount_option_find(const char *opt)
{
	size_t len = strcspn(opt, "=");
	bool has_value = opt[len] == '=';

	for (const struct mount_option *o = mount_options; o->name; o++) {
		if (strlen(o->name) != len || memcmp(o->name, opt, len) != 0)
			continue;
		if (has_value ? o->value == MOUNT_NO_VALUE : o->value == MOUNT_VALUE)
			return NULL;
		return o;
	}
	if (!*opt || strncmp(opt, "x-", 2) == 0 || strncmp(opt, "X-", 2) == 0)
		return &other;
	return NULL;
}

const char *mount_option_value(const char *opt)
{
	const char *equals = strchr(opt, '=');

	return equals ? equals + 1 : NULL;
}

const char *mount_option_nearest(const char *opt)
{
	char name[64];
	struct nearest near;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(opt, "="), opt);
	nearest_init(&near, name);
	for (const struct mount_option *o = mount_options; o->name; o++)
		if (o->use == MOUNT_OWN || o->use == MOUNT_PASSED || o->use == MOUNT_DROPPED)
			nearest_try(&near, o->name);
	return near.best;
}
