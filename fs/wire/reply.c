/* SPDX-License-Identifier: MIT */
/* See reply.h. Layer: wire. */
#include "wire/reply.h"

#include "wire/errname.h"
#include "wire/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_field(struct reply *r, char *word)
{
	char *equals = strchr(word, '=');

	if (!equals || equals == word)
		return -EPROTO;
	if (r->n == REPLY_FIELDS_MAX)
		return 0;
	*equals = '\0';
	if (escape_decode(equals + 1) < 0)
		return -EPROTO;
	r->fields[r->n].key = word;
	r->fields[r->n++].value = equals + 1;
	return 0;
}

static int parse_status(struct reply *r, char **rest)
{
	const char *status = strsep(rest, " ");
	const char *name;

	if (strcmp(status, "ok") == 0)
		return 0;
	if (strcmp(status, "err") != 0)
		return -EPROTO;
	name = strsep(rest, " ");
	r->err = name ? -errname_parse(name) : 0;
	return r->err ? 0 : -EPROTO;
}

static int parse(struct reply *r)
{
	char *rest = r->line;
	char *word;
	int err = parse_status(r, &rest);

	while (!err && (word = strsep(&rest, " "))) {
		if (strcmp(word, "#") == 0) {
			r->text = rest ? rest : "";
			break;
		}
		err = add_field(r, word);
	}
	return err;
}

int reply_parse(const char *line, size_t len, struct reply *out)
{
	auto_reply struct reply r = { .text = "" };
	int err;

	if (len && memchr(line, '\0', len))
		return -EPROTO;
	r.line = strndup(line, len);
	if (!r.line)
		return -ENOMEM;
	err = parse(&r);
	if (err < 0)
		return err;
	*out = r;
	r.line = NULL;
	return 0;
}

const char *reply_get(const struct reply *r, const char *key)
{
	for (int i = 0; i < r->n; i++)
		if (strcmp(r->fields[i].key, key) == 0)
			return r->fields[i].value;
	return NULL;
}

void reply_fini(struct reply *r)
{
	free(r->line);
	r->line = NULL;
	r->n = 0;
}
