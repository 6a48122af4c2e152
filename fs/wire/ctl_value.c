/* SPDX-License-Identifier: MIT */
/* See ctl_value.h. Layer: wire. */
#include "wire/ctl_value.h"

#include "base/path.h"
#include "wire/duration.h"
#include "wire/number.h"
#include "wire/seconds.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int ctl_token(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int err = number_parse(s, out);

	if (err == -ERANGE)
		return ctl_error_set(error, -ERANGE, key, s,
				     "a token is at most 9223372036854775807");
	if (err < 0)
		return ctl_error_set(error, -EINVAL, key, s,
				     "a token is a decimal number without sign or leading zeros");
	return 0;
}

int ctl_count(const struct ctl_line *l, const char *key, int64_t max, int64_t *out,
	      struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int64_t n;
	int err = number_parse(s, &n);

	if (err == -EINVAL)
		return ctl_error_set(error, -EINVAL, key, s,
				     "%s= is a decimal number without sign or leading zeros", key);
	if (err < 0 || n > max)
		return ctl_error_set(error, -ERANGE, key, s, "%s= is at most %" PRId64, key, max);
	*out = n;
	return 0;
}

int ctl_mode(const struct ctl_line *l, const char *key, uint32_t *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (number_parse_mode(s, out) < 0)
		return ctl_error_set(error, -EINVAL, key, s,
				     "%s= is octal permission bits, 0 to 7777", key);
	return 0;
}

int ctl_duration(const struct ctl_line *l, const char *key, int64_t *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);
	int64_t ns;
	int err = duration_parse(s, &ns);

	if (err == -EINVAL)
		return ctl_error_set(error, -EINVAL, key, s,
				     "%s= is a duration such as 30s, 10m, 1h30m", key);
	if (err < 0 || ns < SECOND / 1000)
		return ctl_error_set(error, -ERANGE, key, s, "%s= is from 1ms to 3650d", key);
	*out = ns;
	return 0;
}

int ctl_flag(const struct ctl_line *l, const char *key, bool *out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!s)
		return 0;
	if (strcmp(s, "0") != 0 && strcmp(s, "1") != 0)
		return ctl_error_set(error, -EINVAL, key, s, "%s= is 1 or 0", key);
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
		return ctl_error_set(error, -ENAMETOOLONG, key, s,
				     "a name has at most 255 bytes, a path 4096");
	case -EPERM:
		return ctl_error_set(error, -EPERM, key, s, "the name .fence is reserved");
	default:
		return ctl_error_set(
			error, -EINVAL, key, s,
			"a path is relative to the mount's root and has no \"..\"; the root is \".\"");
	}
}

int ctl_word(const struct ctl_line *l, const char *key, const char **out, struct ctl_error *error)
{
	const char *s = ctl_line_get(l, key);

	if (!s)
		return 0;
	if (!*s || strlen(s) > CTL_WORD_MAX)
		return ctl_error_set(error, -EINVAL, key, s, "%s= has 1 to %d bytes", key,
				     CTL_WORD_MAX);
	for (const char *p = s; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return ctl_error_set(error, -EINVAL, key, NULL,
					     "%s= has a control character", key);
	*out = s;
	return 0;
}
