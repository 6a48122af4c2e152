/* SPDX-License-Identifier: MIT */
/* See when.h. Layer: tools. */
#include "parse/when.h"
#include "wire/seconds.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

int64_t when_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

/* Exactly @digits digits (0: one or more), moved over. */
static bool take_number(const char **s, int digits, int64_t *out)
{
	int64_t n = 0;
	int i;

	for (i = 0; (!digits || i < digits) && **s >= '0' && **s <= '9'; i++, (*s)++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, **s - '0', &n))
			return false;
	*out = n;
	return i > 0 && (!digits || i == digits);
}

static bool take_char(const char **s, char c)
{
	if (**s != c)
		return false;
	(*s)++;
	return true;
}

/* ".25", or nothing. */
static bool take_fraction(const char **s, int64_t *out_ns)
{
	int64_t scale = SECOND / 10;
	bool any = false;

	*out_ns = 0;
	if (!take_char(s, '.'))
		return true;
	for (; **s >= '0' && **s <= '9'; (*s)++, scale /= 10, any = true)
		*out_ns += (**s - '0') * scale;
	return any;
}

static int in_seconds(int64_t seconds, int64_t fraction, int64_t *out)
{
	int64_t ns;

	if (__builtin_mul_overflow(seconds, SECOND, &ns) ||
	    __builtin_add_overflow(ns, fraction, &ns))
		return -ERANGE;
	*out = ns;
	return 0;
}

static int64_t unit_seconds(char c)
{
	switch (c) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	case 'w':
		return 604800;
	default:
		return 0;
	}
}

/* "1h30m ago", "10m" */
static int parse_ago(const char *s, int64_t now, int64_t *out)
{
	int64_t total = 0;

	do {
		int64_t n, fraction;
		int64_t unit;

		if (!take_number(&s, 0, &n) || !take_fraction(&s, &fraction) ||
		    !(unit = unit_seconds(*s)))
			return -EINVAL;
		s++;
		if (__builtin_mul_overflow(n, unit * SECOND, &n) ||
		    __builtin_add_overflow(total, n, &total) ||
		    __builtin_add_overflow(total, fraction * unit, &total))
			return -ERANGE;
		while (*s == ' ')
			s++;
	} while (*s >= '0' && *s <= '9');
	if (*s && strcmp(s, "ago") != 0)
		return -EINVAL;
	if (total > now)
		return -ERANGE;
	*out = now - total;
	return 0;
}

/* "11:02[:03[.25]]" into @tm. */
static bool take_clock(const char **s, struct tm *tm, int64_t *out_fraction)
{
	int64_t hour, minute, second = 0;

	*out_fraction = 0;
	if (!take_number(s, 2, &hour) || !take_char(s, ':') || !take_number(s, 2, &minute))
		return false;
	if (take_char(s, ':') && (!take_number(s, 2, &second) || !take_fraction(s, out_fraction)))
		return false;
	tm->tm_hour = (int)hour;
	tm->tm_min = (int)minute;
	tm->tm_sec = (int)second;
	return hour < 24 && minute < 60 && second <= 60;
}

static bool take_date(const char **s, struct tm *tm)
{
	int64_t year, month, day;

	if (!take_number(s, 4, &year) || !take_char(s, '-') || !take_number(s, 2, &month) ||
	    !take_char(s, '-') || !take_number(s, 2, &day))
		return false;
	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)month - 1;
	tm->tm_mday = (int)day;
	return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* "Z", "+01:00", "+0100": seconds east of Greenwich. Nothing there: *out_local. */
static bool take_zone(const char **s, int64_t *out_east, bool *out_local)
{
	int64_t hours, minutes;
	int sign;

	*out_local = false;
	*out_east = 0;
	if (take_char(s, 'Z') || take_char(s, 'z'))
		return true;
	if (**s != '+' && **s != '-') {
		*out_local = true;
		return true;
	}
	sign = **s == '-' ? -1 : 1;
	(*s)++;
	if (!take_number(s, 2, &hours))
		return false;
	take_char(s, ':');
	if (!take_number(s, 2, &minutes))
		return false;
	*out_east = sign * (hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

static int finish(struct tm tm, bool local, int64_t east, int64_t fraction, int64_t *out)
{
	int day = tm.tm_mday;
	bool leap = tm.tm_sec == 60; /* may end the day */
	time_t t;

	tm.tm_isdst = -1;
	t = local ? mktime(&tm) : timegm(&tm);
	if (tm.tm_mday != day && !leap)
		return -EINVAL; /* there is no such day */
	return in_seconds((int64_t)t - east, fraction, out);
}

static int parse_calendar(const char *s, int64_t now, int64_t *out)
{
	struct tm tm = { 0 };
	int64_t fraction = 0, east;
	time_t today = (time_t)(now / SECOND);
	bool local;

	if (strchr(s, '-') && strspn(s, "0123456789") == 4) {
		if (!take_date(&s, &tm))
			return -EINVAL;
		if ((take_char(&s, 'T') || take_char(&s, 't') || take_char(&s, ' ')) &&
		    !take_clock(&s, &tm, &fraction))
			return -EINVAL;
	} else {
		struct tm day;

		if (!localtime_r(&today, &day) || !take_clock(&s, &tm, &fraction))
			return -EINVAL;
		tm.tm_year = day.tm_year;
		tm.tm_mon = day.tm_mon;
		tm.tm_mday = day.tm_mday;
	}
	take_char(&s, ' ');
	if (!take_zone(&s, &east, &local) || *s)
		return -EINVAL;
	return finish(tm, local, east, fraction, out);
}

int when_parse(const char *s, int64_t now, int64_t *out)
{
	int err;

	if (strcmp(s, "now") == 0) {
		*out = now;
		return 0;
	}
	err = seconds_parse(s, out);
	if (err == -EINVAL)
		err = parse_ago(s, now, out);
	if (err == -EINVAL)
		err = parse_calendar(s, now, out);
	return err;
}
