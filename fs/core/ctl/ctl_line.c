/* SPDX-License-Identifier: MIT */
/* See ctl_line.h. Core layer. Untrusted input: nothing here asserts. */
#include "core/ctl/ctl_line.h"

#include "base/path.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ctl_error_set(struct ctl_error *e, int err, const char *key, const char *value, const char *fmt,
		  ...)
{
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->err = err < 0 ? -err : err;
	if (key)
		snprintf(e->key, sizeof(e->key), "%s", key);
	if (value)
		snprintf(e->value, sizeof(e->value), "%s", value);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -e->err;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int decode(const char *key, char *value, struct ctl_error *error)
{
	char *in = value, *out = value;

	while (*in) {
		int hi, lo;

		if (*in != '%') {
			*out++ = *in++;
			continue;
		}
		hi = hex(in[1]);
		lo = hi < 0 ? -1 : hex(in[2]);
		if (lo < 0)
			return ctl_error_set(error, EINVAL, key, NULL,
					     "\"%%\" needs two hex digits (a plain one is %%25)");
		if (hi == 0 && lo == 0)
			return ctl_error_set(error, EINVAL, key, NULL,
					     "%%00 is refused: no name contains NUL");
		*out++ = (char)(hi << 4 | lo);
		in += 3;
	}
	*out = '\0';
	return 0;
}

static int check_bytes(const char *text, size_t len, struct ctl_error *error)
{
	if (len == 0)
		return ctl_error_set(error, EINVAL, NULL, NULL,
				     "empty line; a request is: verb key=value ...");
	if (memchr(text, '\0', len))
		return ctl_error_set(error, EINVAL, NULL, NULL, "a NUL byte in the line");
	if (text[len - 1] == '\r')
		return ctl_error_set(error, EINVAL, NULL, NULL,
				     "the line ends in CR LF; end it in LF alone");
	if (memchr(text, '\r', len))
		return ctl_error_set(error, EINVAL, NULL, NULL,
				     "a CR in the line; write it as %%0D");
	if (memchr(text, '\t', len))
		return ctl_error_set(error, EINVAL, NULL, NULL,
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
			error, EINVAL, NULL, NULL,
			"two spaces in a row, or one at an end; a space in a value is %%20");
	if (!eq)
		return ctl_error_set(error, EINVAL, word, NULL,
				     "\"%.60s\" is not key=value; a space in a value is %%20",
				     word);
	*eq = '\0';
	if (!is_word(word))
		return ctl_error_set(error, EINVAL, NULL, NULL,
				     "a key is lower-case letters; \"%.60s\" is not", word);
	if (ctl_line_get(l, word))
		return ctl_error_set(error, EINVAL, word, NULL, "%s= is given twice", word);
	if (l->n == CTL_KEYS_MAX)
		return ctl_error_set(error, EINVAL, word, NULL, "too many keys");
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
		return ctl_error_set(error, ENOMEM, NULL, NULL, "out of memory");
	rest = l.buf;
	l.verb = strsep(&rest, " ");
	if (!is_word(l.verb))
		err = ctl_error_set(error, EINVAL, NULL, NULL,
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

/* Digits only, no sign, no leading zeros. -EINVAL, -ERANGE. */
static int number(const char *s, int64_t *out)
{
	char *end;
	intmax_t n;

	if (!*s || strspn(s, "0123456789") != strlen(s) || (s[0] == '0' && s[1]))
		return -EINVAL;
	errno = 0;
	n = strtoimax(s, &end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	*out = n;
	return 0;
}

int ctl_token(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int err = number(s, out);

	if (err == -ERANGE)
		return ctl_error_set(error, ERANGE, key, s,
				     "a token is at most 9223372036854775807");
	if (err < 0)
		return ctl_error_set(error, EINVAL, key, s,
				     "a token is a decimal number without sign or leading zeros");
	return 0;
}

int ctl_count(const struct ctl_line *l, const char *key, int64_t max, int64_t *out,
	      struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int64_t n;
	int err = number(s, &n);

	if (err == -EINVAL)
		return ctl_error_set(error, EINVAL, key, s,
				     "%s= is a decimal number without sign or leading zeros", key);
	if (err < 0 || n > max)
		return ctl_error_set(error, ERANGE, key, s, "%s= is at most %" PRId64, key, max);
	*out = n;
	return 0;
}

int ctl_mode(const struct ctl_line *l, const char *key, uint32_t *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!*s || strlen(s) > 5 || strspn(s, "01234567") != strlen(s) ||
	    strtoul(s, NULL, 8) > 07777)
		return ctl_error_set(error, EINVAL, key, s,
				     "%s= is octal permission bits, 0 to 7777", key);
	*out = (uint32_t)strtoul(s, NULL, 8);
	return 0;
}

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ms", INT64_C(1000000) },	  { "s", INT64_C(1000000000) },
	{ "m", INT64_C(60000000000) },	  { "h", INT64_C(3600000000000) },
	{ "d", INT64_C(86400000000000) },
};

#define DURATION_MAX (INT64_C(3650) * INT64_C(86400000000000))

static int one_part(const char **s, bool alone, int64_t *total)
{
	char *end;
	unsigned long n;
	size_t len;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(*s, &end, 10);
	len = strspn(end, "abcdefghijklmnopqrstuvwxyz");
	if (errno || n > INT32_MAX)
		return -ERANGE;
	*s = end + len;
	if (len == 0 && alone && !*end) {
		*total = (int64_t)n * units[1].ns;
		return 0;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != len || strncmp(end, units[i].name, len) != 0)
			continue;
		if ((int64_t)n > DURATION_MAX / units[i].ns)
			return -ERANGE;
		*total += (int64_t)n * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

int ctl_duration(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error)
{
	const char *given = ctl_line_get(l, key), *s = given;
	int64_t total = 0;
	int err = *s ? 0 : -EINVAL;

	while (!err && *s) {
		err = one_part(&s, s == given, &total);
		if (!err && total > DURATION_MAX)
			err = -ERANGE;
	}
	if (!err && total < units[0].ns)
		err = -ERANGE;
	if (err == -EINVAL)
		return ctl_error_set(error, EINVAL, key, given,
				     "%s= is a duration such as 30s, 10m, 1h30m", key);
	if (err < 0)
		return ctl_error_set(error, ERANGE, key, given, "%s= is from 1ms to 3650d", key);
	*out = total;
	return 0;
}

int ctl_flag(const struct ctl_line *l, const char *key, bool *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!s)
		return 0;
	if (strcmp(s, "0") != 0 && strcmp(s, "1") != 0)
		return ctl_error_set(error, EINVAL, key, s, "%s= is 1 or 0", key);
	*out = *s == '1';
	return 0;
}

int ctl_path(const struct ctl_line *l, const char *key, char *out, bool *out_dir,
	     struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int err = path_normalise(s, out, out_dir);

	switch (err) {
	case 0:
		return 0;
	case -ENAMETOOLONG:
		return ctl_error_set(error, ENAMETOOLONG, key, s,
				     "a name has at most 255 bytes, a path 4096");
	case -EPERM:
		return ctl_error_set(error, EPERM, key, s, "the name .fence is reserved");
	default:
		return ctl_error_set(
			error, EINVAL, key, s,
			"a path is relative to the mount's root and has no \"..\"; the root is \".\"");
	}
}

int ctl_word(const struct ctl_line *l, const char *key, const char **out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!s)
		return 0;
	if (!*s || strlen(s) > OWNER_MAX)
		return ctl_error_set(error, EINVAL, key, s, "%s= has 1 to %d bytes", key,
				     OWNER_MAX);
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return ctl_error_set(error, EINVAL, key, NULL,
					     "%s= has a control character", key);
	*out = s;
	return 0;
}
