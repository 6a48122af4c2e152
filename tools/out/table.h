/* SPDX-License-Identifier: MIT */
/* Columns for people: each as wide as its widest cell. */
#ifndef FENCE_TOOLS_OUT_TABLE_H
#define FENCE_TOOLS_OUT_TABLE_H

#include "wire/reply.h"

#include <stddef.h>

struct table_column {
	const char *key; /* of the reply's field; NULL ends the list */
	const char *title;
	int is_right; /* aligned to the right: numbers */
};

struct table {
	const struct table_column *columns;
	int n_columns;
	char **cells; /* owned, row by row */
	size_t n_cells;
};

void table_init(struct table *t, const struct table_column *columns);
/* A row from the fields of @r; "-" where it has none. */
void table_add(struct table *t, const struct reply *r);
/* Titles and rows; nothing when there are no rows. */
void table_print(const struct table *t);
void table_fini(struct table *t);

#define auto_table __attribute__((cleanup(table_fini)))

#endif
