/* SPDX-License-Identifier: MIT */
/* See mount_table.h. Layer: tools. */
#include "client/mount_table.h"

#include "base/cleanup.h"
#include "base/dead_mark.h"
#include "base/mountinfo.h"
#include "parse/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FSTYPE "fencefs"

static bool has_option(const char *options, const char *wanted)
{
	size_t len = strlen(wanted);

	for (const char *p = options; (p = strstr(p, wanted)); p += len)
		if ((p == options || p[-1] == ',') && (p[len] == ',' || !p[len]))
			return true;
	return false;
}

static bool is_fencefs_type(const char *type, const char *super_options)
{
	if (strcmp(type, "fuse." FSTYPE) == 0 || strcmp(type, FSTYPE) == 0)
		return true;
	return strcmp(type, "fuse") == 0 && has_option(super_options, "subtype=" FSTYPE);
}

bool mount_row_parse(char *line, struct mount_row *out)
{
	struct mountinfo row;

	if (!mountinfo_parse(line, &row))
		return false;
	out->id = row.id;
	out->dev = row.dev;
	out->root = str_copy(row.root);
	out->point = str_copy(row.point);
	out->is_fencefs = is_fencefs_type(row.type, row.super);
	out->source = str_copy(out->is_fencefs ? dead_mark_skip(row.source) : row.source);
	return true;
}

static void add_row(struct mount_table *t, const struct mount_row *row)
{
	void *grown = reallocarray(t->rows, (size_t)t->n + 1, sizeof(*row));

	if (!grown)
		abort();
	t->rows = grown;
	t->rows[t->n++] = *row;
}

int mount_table_read(struct mount_table *out)
{
	auto_mount_table struct mount_table t = { 0 };
	auto_free char *line = NULL;
	struct mount_row row;
	size_t cap = 0;
	ssize_t len;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return -errno;
	while ((len = getline(&line, &cap, f)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (mount_row_parse(line, &row))
			add_row(&t, &row);
	}
	fclose(f);
	*out = t;
	t = (struct mount_table){ 0 };
	return 0;
}

void mount_table_fini(struct mount_table *t)
{
	for (int i = 0; i < t->n; i++) {
		free(t->rows[i].root);
		free(t->rows[i].point);
		free(t->rows[i].source);
	}
	free(t->rows);
	*t = (struct mount_table){ 0 };
}

const struct mount_row *mount_by_id(const struct mount_table *t, uint64_t id)
{
	for (int i = 0; i < t->n; i++)
		if (t->rows[i].id == id)
			return &t->rows[i];
	return NULL;
}

const struct mount_row *mount_by_point(const struct mount_table *t, const char *point)
{
	for (int i = t->n - 1; i >= 0; i--)
		if (strcmp(t->rows[i].point, point) == 0)
			return &t->rows[i];
	return NULL;
}

const struct mount_row *mount_whole(const struct mount_table *t, dev_t dev)
{
	for (int i = t->n - 1; i >= 0; i--)
		if (t->rows[i].dev == dev && strcmp(t->rows[i].root, "/") == 0)
			return &t->rows[i];
	return NULL;
}
