/* SPDX-License-Identifier: MIT */
/*
 * The words of a refusal. Layer: store.
 */
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A sentence has room for that much of a path or an owner; the fields beside it have all of it. */
#define SHOW "%.120s"

struct when {
	char s[40];
};

static struct when utc(int64_t ns)
{
	time_t t = (time_t)(ns / INT64_C(1000000000));
	struct when w = { "an unknown time" };
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(w.s, sizeof(w.s), "%Y-%m-%d %H:%M:%S UTC", &tm);
	return w;
}

static void fill(struct refusal *out, int err, const char *path, int64_t token)
{
	*out = (struct refusal){ .err = err, .token = token, .highest = -1 };
	snprintf(out->path, sizeof(out->path), "%s", path);
}

static void fill_row(struct refusal *out, const struct fence_row *row)
{
	out->highest = row->token;
	out->set_at = row->updated;
	memcpy(out->set_path, row->path, sizeof(out->set_path));
	memcpy(out->set_by, row->owner, sizeof(out->set_by));
}

int refusal_stale(struct refusal *out, const char *path, int64_t token, const struct fence_row *row)
{
	fill(out, ESTALE, path, token);
	fill_row(out, row);
	snprintf(out->text, sizeof(out->text),
		 "token %" PRId64 " is older than %" PRId64 " on " SHOW " (set %s" SHOW
		 "%s%s); take a new token",
		 token, row->token, row->path, row->owner[0] ? "by " : "", row->owner,
		 row->owner[0] ? " at " : "at ", utc(row->updated).s);
	return -ESTALE;
}

int refusal_seq(struct refusal *out, const char *path, int64_t token, int64_t seq,
		const struct fence_row *row)
{
	fill(out, ESTALE, path, token);
	fill_row(out, row);
	snprintf(out->text, sizeof(out->text),
		 "seq %" PRId64 " under token %" PRId64 " is not newer than seq %" PRId64
		 " under token %" PRId64 ", the last one accepted on " SHOW,
		 seq, token, row->seq, row->token, row->path);
	return -ESTALE;
}

int refusal_set(struct refusal *out, int err, const char *path, int64_t token, const char *fmt, ...)
{
	va_list ap;

	fill(out, err, path, token);
	va_start(ap, fmt);
	vsnprintf(out->text, sizeof(out->text), fmt, ap);
	va_end(ap);
	return -err;
}
