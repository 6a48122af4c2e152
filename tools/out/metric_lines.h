/* SPDX-License-Identifier: MIT */
/*
 * Reading the text of .fence/metrics: what fence needs of it, and each sample under one more label.
 */
#ifndef FENCE_TOOLS_OUT_METRIC_LINES_H
#define FENCE_TOOLS_OUT_METRIC_LINES_H

#include "parse/buf.h"

#include <stdbool.h>

/* A sample; all are copies. */
struct metric_line {
	char name[256];	   /* with its labels: name{a="b"} */
	char value[64];	   /* a number, as it stands there */
	const char *after; /* the next line */
};

/* The next sample at or behind @text; comments are passed over. False: there is none. */
bool metric_line_next(const char *text, struct metric_line *out);
/* The value of label @label in @line->name, without escapes undone; false: it has no such label. */
bool metric_line_label(const struct metric_line *line, const char *label, char *out, size_t room);
/* The value of the sample @name, labels included; "" if there is none. */
const char *metric_lines_value(const char *text, const char *name, struct metric_line *room);

/* All of @text, each sample with @label="@value" before its other labels. */
void metric_lines_relabel(struct buf *out, const char *text, const char *label, const char *value);
/* @value as it is written between quotes: escaped, and bytes that are not UTF-8 replaced. */
void metric_lines_quote(struct buf *out, const char *value);

#endif
