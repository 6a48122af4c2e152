/* SPDX-License-Identifier: MIT */
/* The `list` request: one record a reply, to the end. */
#ifndef FENCE_TOOLS_CLIENT_LIST_H
#define FENCE_TOOLS_CLIENT_LIST_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "out/table.h"
#include "client/target.h"

struct list_query {
	const struct args *args;
	struct ctl_client *ctl;
	const struct target *target; /* the mount, and the path where @by_path */
	const char *kind;
	bool by_path;
};

typedef void (*list_fn)(void *arg, const struct reply *record);

/* Calls @fn for each record. 0, or the exit code. */
int list_each(const struct list_query *q, list_fn fn, void *arg);

/* With --json a JSON array, one object a line; *out_n: how many there were. */
int list_print_json(const struct list_query *q, int *out_n);
/* A table. */
int list_print_table(const struct list_query *q, const struct table_column *columns, int *out_n);
/* A verb that is no more than this: [--json] [-m DIR] [PATH], records of @kind. The exit code. */
int list_run(const struct args *a, const char *kind, const struct table_column *columns);

#endif
