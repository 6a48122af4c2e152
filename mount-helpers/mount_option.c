/* SPDX-License-Identifier: MIT */
/*
 * Options of a mount helper. mount(8) hands on all that stands in fstab but what it has used up
 * itself, so some are nobody's business here (noauto, x-systemd.automount), some are the kernel's,
 * some fencefs's own.
 */
#include "mount_option.h"

#include "base/cleanup.h"
#include "parse/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_KEY "x-fence.timeout="
#define TIMEOUT_MAX 86400

static const char *const passed[] = {
	"ro",	      "rw",	   "dev",	  "nodev",	 "suid",       "nosuid",
	"exec",	      "noexec",	   "sync",	  "async",	 "dirsync",    "noatime",
	"nodiratime", "symfollow", "nosymfollow", "allow_other", "allow_root",
};

static const char *const passed_with_value[] = {
	"passthrough", "io_uring", "context", "fscontext", "defcontext", "rootcontext",
};

/*
 * Others have used them up, or they change nothing here: the kernel's own default, or no sense on
 * FUSE.
 */
static const char *const dropped[] = {
	"defaults",   "auto",	     "noauto",	      "user",
	"users",      "nouser",	     "owner",	      "noowner",
	"group",      "nogroup",     "_netdev",	      "nofail",
	"fail",	      "atime",	     "diratime",      "relatime",
	"norelatime", "strictatime", "nostrictatime", "lazytime",
	"nolazytime", "iversion",    "noiversion",    "mand",
	"nomand",     "loud",	     "silent",	      "default_permissions",
};

static const char *const dropped_with_value[] = { "user", "comment", "loop", "uhelper", "helper" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_in(const char *s, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && strncmp(s, list[i], len) == 0)
			return true;
	return false;
}

static int append(struct mount_options *m, const char *opt)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", m->pass ? m->pass : "", m->pass && *m->pass ? "," : "",
		     opt) < 0)
		return -ENOMEM;
	free(m->pass);
	m->pass = joined;
	return 0;
}

static int set_timeout(struct mount_options *m, const char *value)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < 1 || n > TIMEOUT_MAX) {
		fprintf(stderr, "mount.fencefs: x-fence.timeout=%s: seconds are wanted, 1 to %d\n",
			value, TIMEOUT_MAX);
		return -EINVAL;
	}
	m->timeout = (int)n;
	return 0;
}

static int unknown(const char *opt, size_t len, bool sloppy)
{
	char name[64];
	struct nearest near;

	snprintf(name, sizeof(name), "%.*s", (int)len, opt);
	nearest_init(&near, name);
	for (size_t i = 0; i < COUNT(passed); i++)
		nearest_try(&near, passed[i]);
	for (size_t i = 0; i < COUNT(passed_with_value); i++)
		nearest_try(&near, passed_with_value[i]);
	for (size_t i = 0; i < COUNT(dropped); i++)
		nearest_try(&near, dropped[i]);
	fprintf(stderr, "mount.fencefs: %sunknown option '%s'%s%s%s\n", sloppy ? "warning: " : "",
		opt, near.best ? "; did you mean '" : "", near.best ? near.best : "",
		near.best ? "'?" : "");
	return sloppy ? 0 : -EINVAL;
}

static int add_one(struct mount_options *m, const char *opt, bool sloppy)
{
	size_t len = strcspn(opt, "=");
	bool has_value = opt[len] == '=';

	if (strncmp(opt, TIMEOUT_KEY, strlen(TIMEOUT_KEY)) == 0)
		return set_timeout(m, opt + strlen(TIMEOUT_KEY));
	if (!*opt || strncmp(opt, "x-", 2) == 0 || strncmp(opt, "X-", 2) == 0)
		return 0;
	if (has_value ? is_in(opt, len, dropped_with_value, COUNT(dropped_with_value)) :
			is_in(opt, len, dropped, COUNT(dropped)))
		return 0;
	if (is_in(opt, len, passed_with_value, COUNT(passed_with_value)) ||
	    (!has_value && is_in(opt, len, passed, COUNT(passed))))
		return append(m, opt);
	return unknown(opt, len, sloppy);
}

static bool has_remount(const char *list)
{
	static const char word[] = "remount";
	size_t len = sizeof(word) - 1;

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
	return false;
}

int mount_options_add(struct mount_options *m, const char *list, bool sloppy)
{
	auto_free char *copy = strdup(list);
	char *rest = copy, *opt;
	int err = copy ? 0 : -ENOMEM;

	/*
	 * mount(8) adds what the kernel shows of the mount, such as user_id=0: the refusal is what
	 * matters.
	 */
	if (has_remount(list)) {
		m->remount = true;
		return 0;
	}
	while (!err && (opt = strsep(&rest, ",")))
		err = add_one(m, opt, sloppy);
	return err;
}

void mount_options_fini(struct mount_options *m)
{
	free(m->pass);
	m->pass = NULL;
}
