/* SPDX-License-Identifier: MIT */
/*
 * Options of a mount helper. mount(8) hands on all that stands in fstab but what it has used up
 * itself; the table in fs/wire says who has a use for which. Layer: mount-helpers.
 */
#include "helper_options.h"

#include "base/cleanup.h"
#include "wire/mount_option.h"
#include "wire/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MAX 86400

static int append(struct helper_options *m, const char *opt)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", m->pass ? m->pass : "", m->pass && *m->pass ? "," : "",
		     opt) < 0)
		return -ENOMEM;
	free(m->pass);
	m->pass = joined;
	return 0;
}

static int set_timeout(struct helper_options *m, const char *value)
{
	int64_t n;

	if (number_parse(value, &n) < 0 || n < 1 || n > TIMEOUT_MAX) {
		fprintf(stderr, "mount.fencefs: x-fence.timeout=%s: expected seconds, 1 to %d\n",
			value, TIMEOUT_MAX);
		return -EINVAL;
	}
	m->timeout = (int)n;
	return 0;
}

static int unknown(const char *opt, bool sloppy)
{
	const char *near = mount_option_nearest(opt);

	fprintf(stderr, "mount.fencefs: %sunknown option '%s'%s%s%s\n", sloppy ? "warning: " : "",
		opt, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return sloppy ? 0 : -EINVAL;
}

static int add_one(struct helper_options *m, const char *opt, bool sloppy)
{
	const struct mount_option *row = mount_option_find(opt);

	if (!row)
		return unknown(opt, sloppy);
	switch (row->use) {
	case MOUNT_OWN:
	case MOUNT_PASSED:
		return append(m, opt);
	case MOUNT_TIMEOUT:
		return set_timeout(m, mount_option_value(opt));
	case MOUNT_UNSAFE:
		fprintf(stderr, "mount.fencefs: %s '%s'\n", mount_option_unsafe, opt);
		return -EINVAL;
	case MOUNT_REMOUNT: /* has_remount() has seen it */
	case MOUNT_DROPPED:
		return 0;
	}
	return 0;
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

int helper_options_add(struct helper_options *m, const char *list, bool sloppy)
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

void helper_options_fini(struct helper_options *m)
{
	free(m->pass);
	m->pass = NULL;
}
