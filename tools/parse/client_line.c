/* SPDX-License-Identifier: MIT */
#include "parse/client_line.h"

#include "base/cleanup.h"
#include "base/errname.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

void ctl_request_begin(struct buf *req, const char *verb)
{
	buf_clear(req);
	buf_str(req, verb);
}

void ctl_request_field(struct buf *req, const char *key, const char *value)
{
	if (!value)
		return;
	buf_printf(req, " %s=", key);
	for (; *value; value++) {
		if (strchr(" \t\n\r%", *value))
			buf_printf(req, "%%%02X", (unsigned int)(unsigned char)*value);
		else
			buf_char(req, *value);
	}
}

void ctl_request_number(struct buf *req, const char *key, uint64_t value)
{
	buf_printf(req, " %s=%" PRIu64, key, value);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool decode(char *value)
{
	char *to = value;

	for (const char *from = value; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = hex_digit(from[1]);
		low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0 || high * 16 + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return true;
}

static int add_field(struct ctl_reply *r, char *word)
{
	char *equals = strchr(word, '=');

	if (!equals || equals == word)
		return -EPROTO;
	if (r->n == CTL_REPLY_FIELDS_MAX)
		return 0; /* a newer mount says more than we have use for */
	*equals = '\0';
	if (!decode(equals + 1))
		return -EPROTO;
	r->fields[r->n].key = word;
	r->fields[r->n++].value = equals + 1;
	return 0;
}

/* The next word of *rest, which moves on; NULL at the end. */
static char *next_word(char **rest)
{
	char *word = *rest;
	char *space;

	if (!word)
		return NULL;
	space = strchr(word, ' ');
	if (space)
		*space = '\0';
	*rest = space ? space + 1 : NULL;
	return word;
}

static int parse_status(struct ctl_reply *r, char **rest)
{
	const char *status = next_word(rest);
	const char *name;

	if (strcmp(status, "ok") == 0)
		return 0;
	if (strcmp(status, "err") != 0)
		return -EPROTO;
	name = next_word(rest);
	r->err = name ? errname_parse(name) : 0;
	return r->err ? 0 : -EPROTO;
}

int ctl_reply_parse(char *line, struct ctl_reply *out)
{
	auto_ctl_reply struct ctl_reply r = { .line = line, .text = "" };
	char *rest = line;
	char *word;
	int err = parse_status(&r, &rest);

	while (err == 0 && (word = next_word(&rest))) {
		if (strcmp(word, "#") == 0) {
			r.text = rest ? rest : "";
			break;
		}
		err = add_field(&r, word);
	}
	if (err < 0)
		return err;
	*out = r;
	r.line = NULL;
	return 0;
}

const char *ctl_reply_get(const struct ctl_reply *r, const char *key)
{
	for (int i = 0; i < r->n; i++)
		if (strcmp(r->fields[i].key, key) == 0)
			return r->fields[i].value;
	return NULL;
}

void ctl_reply_fini(struct ctl_reply *r)
{
	free(r->line);
	r->line = NULL;
	r->n = 0;
}
