/* SPDX-License-Identifier: MIT */
/* See field.h. Layer: tools. */
#include "out/field.h"

#include "wire/errname.h"
#include "out/display.h"
#include "out/exit_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum field_kind {
	FIELD_TEXT, /* also tokens and ids: JSON numbers lose digits beyond 2^53 */
	FIELD_NUMBER,
	FIELD_SIZE,
	FIELD_TIME,
	FIELD_BOOL,
	FIELD_PLACE, /* a path relative to the mount point */
};

static const struct {
	const char *key;
	enum field_kind kind;
} kinds[] = {
	{ "revision", FIELD_NUMBER }, { "version", FIELD_NUMBER }, { "changed", FIELD_NUMBER },
	{ "staged", FIELD_NUMBER },   { "uid", FIELD_NUMBER },	   { "gid", FIELD_NUMBER },
	{ "size", FIELD_SIZE },	      { "at", FIELD_TIME },	   { "set_at", FIELD_TIME },
	{ "opened", FIELD_TIME },     { "mtime", FIELD_TIME },	   { "keep", FIELD_BOOL },
	{ "current", FIELD_BOOL },    { "replayed", FIELD_BOOL },  { "data", FIELD_PLACE },
	{ "dir", FIELD_PLACE },	      { "waiters", FIELD_NUMBER },
};

static enum field_kind kind_of(const char *key)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].key, key) == 0)
			return kinds[i].kind;
	return FIELD_TEXT;
}

static bool is_number(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= 18 && strspn(s, "0123456789") == len;
}

void field_display(struct buf *out, const char *key, const char *value)
{
	switch (kind_of(key)) {
	case FIELD_TIME:
		display_time(out, value);
		break;
	case FIELD_SIZE:
		display_size(out, strtoull(value, NULL, 10));
		break;
	case FIELD_BOOL:
		buf_str(out, strcmp(value, "1") == 0 ? "yes" : "no");
		break;
	case FIELD_TEXT:
	case FIELD_NUMBER:
	case FIELD_PLACE:
		display_name(out, value);
		break;
	}
}

static void json_time(struct json *j, const char *value)
{
	auto_buf struct buf utc = { 0 };

	display_utc(&utc, value);
	json_string(j, utc.s);
}

static void json_place(struct json *j, const char *mount, const char *value)
{
	auto_buf struct buf place = { 0 };

	if (mount)
		buf_printf(&place, "%s/", strcmp(mount, "/") == 0 ? "" : mount);
	buf_str(&place, value);
	json_string(j, place.s);
}

void field_json(struct json *j, const char *mount, const char *key, const char *value)
{
	enum field_kind kind = kind_of(key);

	json_key(j, key);
	if (kind == FIELD_TIME)
		json_time(j, value);
	else if (kind == FIELD_PLACE)
		json_place(j, mount, value);
	else if (kind == FIELD_BOOL)
		json_bool(j, strcmp(value, "1") == 0);
	else if ((kind == FIELD_NUMBER || kind == FIELD_SIZE) && is_number(value))
		json_number(j, strtoll(value, NULL, 10));
	else
		json_string(j, value);
}

void field_json_all(struct json *j, const char *mount, const struct reply *r)
{
	for (int i = 0; i < r->n; i++)
		field_json(j, mount, r->fields[i].key, r->fields[i].value);
}

void field_print_refusal(const struct reply *r)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	json_key(&j, "error");
	json_string(&j, errname(r->err));
	json_key(&j, "message");
	json_string(&j, *r->text ? r->text : exit_error_text(r->err));
	field_json_all(&j, NULL, r);
	json_close(&j, '}');
	json_print(&j);
}

void field_print_reply(const char *mount, const struct reply *r)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	field_json_all(&j, mount, r);
	json_close(&j, '}');
	json_print(&j);
}
