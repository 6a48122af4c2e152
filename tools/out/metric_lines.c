/* SPDX-License-Identifier: MIT */
/* See metric_lines.h. Layer: tools. */
#include "out/metric_lines.h"

#include "parse/utf8.h"

#include <stdio.h>
#include <string.h>

/* The end of the name and labels of the sample at @line: the space before its value. */
static const char *name_end(const char *line, size_t len)
{
	const char *end = memrchr(line, ' ', len);

	return end ? end : line + len;
}

bool metric_line_next(const char *text, struct metric_line *out)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		const char *space;

		end = strchrnul(text, '\n');
		if (*text == '#' || end == text)
			continue;
		space = name_end(text, (size_t)(end - text));
		snprintf(out->name, sizeof(out->name), "%.*s", (int)(space - text), text);
		snprintf(out->value, sizeof(out->value), "%.*s",
			 space < end ? (int)(end - space - 1) : 0, space < end ? space + 1 : "");
		out->after = *end ? end + 1 : end;
		return true;
	}
	return false;
}

bool metric_line_label(const struct metric_line *line, const char *label, char *out, size_t room)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "%s=\"", label);
	for (at = strchr(line->name, '{'); at; at = strstr(at, "\",")) {
		at += *at == '{' ? 1 : 2;
		if (strncmp(at, key, strlen(key)) != 0)
			continue;
		at += strlen(key);
		snprintf(out, room, "%.*s", (int)strcspn(at, "\""), at);
		return true;
	}
	return false;
}

const char *metric_lines_value(const char *text, const char *name, struct metric_line *room)
{
	while (metric_line_next(text, room)) {
		if (strcmp(room->name, name) == 0)
			return room->value;
		text = room->after;
	}
	return "";
}

void metric_lines_quote(struct buf *out, const char *value)
{
	while (*value) {
		uint32_t code;
		size_t len = utf8_next(value, &code);

		if (*value == '\n')
			buf_str(out, "\\n");
		else if (*value == '"' || *value == '\\')
			buf_printf(out, "\\%c", *value);
		else if (len)
			buf_add(out, value, len);
		else
			buf_str(out, "\xef\xbf\xbd");
		value += len ? len : 1;
	}
}

static void relabel_line(struct buf *out, const char *line, size_t len, const char *pair)
{
	size_t name = strcspn(line, "{ ");

	buf_add(out, line, name);
	if (line[name] == '{') {
		buf_printf(out, "{%s,", pair);
		name++;
	} else {
		buf_printf(out, "{%s}", pair);
	}
	buf_add(out, line + name, len - name);
}

void metric_lines_relabel(struct buf *out, const char *text, const char *label, const char *value)
{
	auto_buf struct buf pair = { 0 };

	buf_printf(&pair, "%s=\"", label);
	metric_lines_quote(&pair, value);
	buf_char(&pair, '"');
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		if (*text == '#' || end == text)
			buf_add(out, text, (size_t)(end - text));
		else
			relabel_line(out, text, (size_t)(end - text), pair.s);
		buf_char(out, '\n');
	}
}
