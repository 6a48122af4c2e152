/* SPDX-License-Identifier: MIT */
/* See store_target.h. Layer: tools. */
#include "client/store_target.h"

#include "base/cleanup.h"
#include "out/exit_code.h"
#include "client/mount_table.h"
#include "out/report.h"
#include "store/store.h"
#include "store/store_lock.h"
#include "client/target.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A store has a file `format`; a mount can have one as well, and is looked for first. */
static bool is_store(const char *given)
{
	auto_free char *format = NULL;
	struct stat st;

	if (asprintf(&format, "%s/format", given) < 0)
		return false;
	return lstat(format, &st) == 0 && S_ISREG(st.st_mode);
}

/* The store behind @mount, as its mount names it. */
static int find_store(const struct args *a, const char *mount, struct store_target *t)
{
	auto_mount_table struct mount_table table = { 0 };
	const struct mount_row *row;
	int r = mount_table_read(&table);

	if (r < 0)
		return report_error(a, mount, r, "/proc/self/mountinfo: %s", strerror(-r));
	row = mount_by_point(&table, mount);
	if (!row || !row->is_fencefs)
		return report_errno(a, mount, -EMEDIUMTYPE);
	t->path = str_copy(row->source);
	t->mount = str_copy(mount);
	return EXIT_OK;
}

static int resolve(const struct args *a, const char *given, struct store_target *t)
{
	auto_target struct target mount = { 0 };
	struct errmsg err = { "" };
	int r = target_find(given, &mount, &err);

	if (r == 0)
		return find_store(a, mount.mount, t);
	if (r != -EMEDIUMTYPE || !is_store(given))
		return report_error(a, given, r, "%s",
				    r == -EMEDIUMTYPE ? "not a fencefs mount or store" : err.s);
	t->path = str_copy(given);
	return EXIT_OK;
}

static int open_store(const struct args *a, struct store_target *t)
{
	struct errmsg err = { "" };
	int r = t->mount ? -EBUSY : store_open(t->path, STORE_OWN, NULL, &t->s, &err);

	if (r == -EBUSY) {
		t->is_live = true;
		r = store_open(t->path, STORE_READ, NULL, &t->s, &err);
	}
	if (r == 0)
		return EXIT_OK;
	report_error(a, t->path, r, "%s", *err.s ? err.s : strerror(-r));
	return r == -EBUSY ? EXIT_FAILED : exit_code_of(r);
}

/* Where the daemon that has the store says it is mounted. */
static void find_mount(struct store_target *t)
{
	char mountpoint[PATH_MAX + 1];
	int pid;

	if (store_holder(t->path, &pid, mountpoint) == 0 && mountpoint[0])
		t->mount = str_copy(mountpoint);
}

int store_target_open(const struct args *a, const char *given, struct store_target *out)
{
	auto_store_target struct store_target t = { 0 };
	int code = resolve(a, given, &t);

	if (!code)
		code = open_store(a, &t);
	if (code)
		return code;
	if (t.is_live && !t.mount)
		find_mount(&t);
	*out = t;
	t = (struct store_target){ 0 };
	return EXIT_OK;
}

int store_target_find(const struct args *a, const char *given, struct store_target *out)
{
	auto_store_target struct store_target t = { 0 };
	int code = resolve(a, given, &t);

	if (code)
		return code;
	if (!t.mount)
		find_mount(&t);
	*out = t;
	t = (struct store_target){ 0 };
	return EXIT_OK;
}

int store_target_ctl(const struct args *a, const struct store_target *t, struct ctl_client *out)
{
	struct errmsg err = { "" };
	int r;

	if (!t->mount)
		return report_error(a, t->path, -EBUSY,
				    "its daemon does not say where it is mounted");
	r = ctl_client_open(t->mount, out, &err);
	return r < 0 ? report_error(a, t->mount, r, "%s", err.s) : EXIT_OK;
}

void store_target_close(struct store_target *t)
{
	store_close(t->s);
	free(t->path);
	free(t->mount);
	*t = (struct store_target){ 0 };
}
