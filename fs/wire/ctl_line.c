/* SPDX-License-Identifier: MIT */
/* See ctl_line.h. Layer: wire. */
#include "wire/ctl_line.h"

#include "wire/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ctl_error_set(struct ctl_error *e, int err, const char *key, const char *value, const char *fmt,
		  ...)
{
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->err = err;
	if (key)
		snprintf(e->key, sizeof(e->key), "%s", key);
	if (value)
		snprintf(e->value, sizeof(e->value), "%s", value);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return err;
}

static int decode(const char *key, char *value, struct ctl_error *error)
{
	switch (escape_decode(value)) {
	case 0:
		return 0;
	case -EILSEQ:
		return ctl_error_set(error, -EINVAL, key, NULL,
				     "%%00 is refused: no name contains NUL");
	default:
		return ctl_error_set(error, -EINVAL, key, NULL,
				     "\"%%\" needs two hex digits (a plain one is %%25)");
	}
}

static int check_bytes(const char *text, size_t len, struct ctl_error *error)
{
	if (len == 0)
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "empty line; a request is: verb key=value ...");
	if (memchr(text, '\0', len))
		return ctl_error_set(error, -EINVAL, NULL, NULL, "a NUL byte in the line");
	if (text[len - 1] == '\r')
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "the line ends with CR LF; end it with LF alone");
	if (memchr(text, '\r', len))
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "a CR in the line; write it as %%0D");
	if (memchr(text, '\t', len))
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "a TAB in the line; write it as %%09");
	return 0;
}

static bool is_word(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(s);
}

static int add_pair(struct ctl_line *l, char *word, struct ctl_error *error)
{
	char *eq = strchr(word, '=');

	if (!*word)
		return ctl_error_set(
			error, -EINVAL, NULL, NULL,
			"two spaces in a row, or one at an end; a space in a value is %%20");
	if (!eq)
		return ctl_error_set(error, -EINVAL, word, NULL,
				     "\"%.60s\" is not key=value; a space in a value is %%20",
				     word);
	*eq = '\0';
	if (!is_word(word))
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "a key is lower-case letters; \"%.60s\" is not", word);
	if (ctl_line_get(l, word))
		return ctl_error_set(error, -EINVAL, word, NULL, "%s= is given twice", word);
	if (l->n == CTL_KEYS_MAX)
		return ctl_error_set(error, -EINVAL, word, NULL, "too many keys");
	l->kv[l->n].key = word;
	l->kv[l->n].value = eq + 1;
	l->n++;
	return decode(word, eq + 1, error);
}

int ctl_line_parse(const char *text, size_t len, struct ctl_line *out, struct ctl_error *error)
{
	struct ctl_line l = { 0 };
	char *rest, *word;
	int err = check_bytes(text, len, error);

	if (err < 0)
		return err;
	l.buf = strndup(text, len);
	if (!l.buf)
		return ctl_error_set(error, -ENOMEM, NULL, NULL, "out of memory");
	rest = l.buf;
	l.verb = strsep(&rest, " ");
	if (!is_word(l.verb))
		err = ctl_error_set(error, -EINVAL, NULL, NULL,
				    "a request begins with a verb in lower-case letters");
	while (!err && (word = strsep(&rest, " ")))
		err = add_pair(&l, word, error);
	if (err < 0) {
		free(l.buf);
		return err;
	}
	*out = l;
	return 0;
}

void ctl_line_fini(struct ctl_line *l)
{
	free(l->buf);
	*l = (struct ctl_line){ 0 };
}

const char *ctl_line_get(const struct ctl_line *l, const char *key)
{
	for (int i = 0; i < l->n; i++)
		if (strcmp(l->kv[i].key, key) == 0)
			return l->kv[i].value;
	return NULL;
}
