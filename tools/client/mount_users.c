/* SPDX-License-Identifier: MIT */
/* See mount_users.h. Layer: tools. */
#include "client/mount_users.h"

#include "out/display.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define USERS_MAX 8

/* The link's device, from what the kernel knows: the daemon is not asked. */
static bool is_on(const char *link, dev_t dev)
{
	struct statx st;

	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
		return false;
	return makedev(st.stx_dev_major, st.stx_dev_minor) == dev;
}

static bool has_open_file(const char *pid, dev_t dev)
{
	char name[128];
	DIR *d;
	const struct dirent *e;
	bool found = false;

	snprintf(name, sizeof(name), "/proc/%s/fd", pid);
	d = opendir(name);
	while (d && !found && (e = readdir(d))) {
		snprintf(name, sizeof(name), "/proc/%s/fd/%.16s", pid, e->d_name);
		found = e->d_name[0] != '.' && is_on(name, dev);
	}
	if (d)
		closedir(d);
	return found;
}

/* A line of /proc/PID/maps: "7f00-7f01 r--s 00000000 00:2a 12   /name" */
static bool has_mapping(const char *pid, dev_t dev)
{
	char line[512];
	FILE *f;
	bool found = false;

	snprintf(line, sizeof(line), "/proc/%s/maps", pid);
	f = fopen(line, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned int major, minor;

		found = sscanf(line, "%*s %*s %*s %x:%x", &major, &minor) == 2 &&
			makedev(major, minor) == dev;
	}
	if (f)
		fclose(f);
	return found;
}

static const char *use_of(const char *pid, dev_t dev)
{
	static const char *const links[][2] = {
		{ "cwd", "working directory" },
		{ "root", "root directory" },
		{ "exe", "running program" },
	};
	char name[128];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(name, sizeof(name), "/proc/%s/%s", pid, links[i][0]);
		if (is_on(name, dev))
			return links[i][1];
	}
	if (has_open_file(pid, dev))
		return "open file";
	return has_mapping(pid, dev) ? "mapped file" : NULL;
}

static void add_user(struct buf *out, const char *pid, const char *use)
{
	char name[128], comm[64] = "?";
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%s/comm", pid);
	f = fopen(name, "re");
	if (f && fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
	if (out->len)
		buf_str(out, ", ");
	buf_printf(out, "%s (pid %s, %s)", comm, pid, use);
}

int mount_users(dev_t dev, struct buf *out)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int n = 0;

	while (d && n < USERS_MAX && (e = readdir(d))) {
		char pid[16];
		const char *use;

		if (!isdigit((unsigned char)e->d_name[0]) || strlen(e->d_name) >= sizeof(pid))
			continue;
		strcpy(pid, e->d_name);
		if (atoi(pid) == getpid())
			continue;
		use = use_of(pid, dev);
		if (!use)
			continue;
		add_user(out, pid, use);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}
