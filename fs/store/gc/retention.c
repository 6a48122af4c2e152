/* SPDX-License-Identifier: MIT */
/*
 * See retention.h. Layer: store.
 *
 * Two things differ from restic, both towards keeping more:
 *
 *  - `within` looks at when a version was current, not at when it was made. A snapshot shows what
 *    was there when it was taken; a version is what is there until the next one comes. Judged by
 *    the time it was made, a file written a month ago and overwritten an hour ago would lose its
 *    only good content to --keep-within 7d, and the tree as of yesterday would have a hole.
 *  - It counts back from the store's newest revision, not from the newest version of the name
 *    (restic: of the group, which is the whole tree there, too): a removed name expires, and a
 *    store in which nothing happens any more keeps what it has.
 *
 * As in restic, the oldest version is kept while a rule has counts left.
 */
#include "store/gc/retention.h"

#include <time.h>

#define SECOND INT64_C(1000000000)

static int64_t floor_seconds(int64_t ns)
{
	int64_t s = ns / SECOND;

	return ns % SECOND < 0 ? s - 1 : s;
}

/* Years from then on, so that the number of a later period is another one. */
static int64_t iso_week(const struct tm *tm)
{
	char text[16];
	struct tm copy = *tm;
	int64_t n = 0;

	strftime(text, sizeof(text), "%G%V", &copy);
	for (const char *c = text; *c >= '0' && *c <= '9'; c++)
		n = n * 10 + (*c - '0');
	return n;
}

/* Equal for two times in the same period. @nr: position of the version, for RETAIN_LAST. */
static int64_t period(enum retain kind, int64_t at, size_t nr)
{
	time_t seconds = (time_t)floor_seconds(at);
	struct tm tm = { 0 };
	int64_t year;

	if (kind == RETAIN_LAST)
		return (int64_t)nr;
	localtime_r(&seconds, &tm);
	year = tm.tm_year + INT64_C(1900);
	switch (kind) {
	case RETAIN_HOURLY:
		return ((year * 12 + tm.tm_mon) * 31 + tm.tm_mday) * 24 + tm.tm_hour;
	case RETAIN_DAILY:
		return year * 366 + tm.tm_yday;
	case RETAIN_WEEKLY:
		return iso_week(&tm);
	case RETAIN_MONTHLY:
		return year * 12 + tm.tm_mon;
	case RETAIN_YEARLY:
	case RETAIN_LAST:
	case RETAIN_KINDS:
		break;
	}
	return year;
}

struct bucket {
	int64_t left, last; /* last: period of the version that was kept last */
};

static bool take(struct bucket *b, enum retain kind, int64_t at, size_t nr, bool is_oldest)
{
	int64_t in;

	if (b->left <= 0)
		return false;
	in = period(kind, at, nr);
	if (in == b->last && !is_oldest)
		return false;
	b->last = in;
	b->left--;
	return true;
}

void retention_apply(const struct retention *r, int64_t now, struct retention_version *v, size_t n)
{
	struct bucket bucket[RETAIN_KINDS];

	for (int k = 0; k < RETAIN_KINDS; k++)
		bucket[k] = (struct bucket){ r->count[k], INT64_MIN };
	for (size_t i = 0; i < n; i++) {
		v[i].keep = v[i].until == INT64_MAX || (r->within && v[i].until > now - r->within);
		for (int k = 0; k < RETAIN_KINDS; k++)
			v[i].keep |= take(&bucket[k], (enum retain)k, v[i].at, i, i + 1 == n);
	}
}
