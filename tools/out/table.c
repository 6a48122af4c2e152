/* SPDX-License-Identifier: MIT */
/* See table.h. Layer: tools. */
#include "out/table.h"

#include "parse/buf.h"
#include "out/display.h"
#include "out/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, const struct table_column *columns)
{
	*t = (struct table){ .columns = columns };
	while (columns[t->n_columns].key)
		t->n_columns++;
}

static void add_cell(struct table *t, char *cell)
{
	char **grown = reallocarray(t->cells, t->n_cells + 1, sizeof(*grown));

	if (!grown)
		abort();
	t->cells = grown;
	t->cells[t->n_cells++] = cell;
}

void table_add(struct table *t, const struct reply *r)
{
	for (int i = 0; i < t->n_columns; i++) {
		const char *value = reply_get(r, t->columns[i].key);
		struct buf cell = { 0 };

		if (value && *value)
			field_display(&cell, t->columns[i].key, value);
		else
			buf_char(&cell, '-');
		add_cell(t, cell.s);
	}
}

static size_t column_width(const struct table *t, int column)
{
	size_t widest = strlen(t->columns[column].title);

	for (size_t i = (size_t)column; i < t->n_cells; i += (size_t)t->n_columns) {
		size_t width = display_width(t->cells[i]);

		if (width > widest)
			widest = width;
	}
	return widest;
}

static void print_cell(const struct table *t, int column, size_t width, const char *text)
{
	int pad = (int)(width - display_width(text));
	const char *gap = column ? "  " : "";

	if (t->columns[column].is_right)
		printf("%s%*s%s", gap, pad, "", text);
	else if (column == t->n_columns - 1)
		printf("%s%s", gap, text);
	else
		printf("%s%s%*s", gap, text, pad, "");
}

void table_print(const struct table *t)
{
	size_t widths[16];

	if (!t->n_cells)
		return;
	for (int c = 0; c < t->n_columns; c++) {
		widths[c] = column_width(t, c);
		print_cell(t, c, widths[c], t->columns[c].title);
	}
	putchar('\n');
	for (size_t i = 0; i < t->n_cells; i++) {
		int c = (int)(i % (size_t)t->n_columns);

		print_cell(t, c, widths[c], t->cells[i]);
		if (c == t->n_columns - 1)
			putchar('\n');
	}
}

void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}
