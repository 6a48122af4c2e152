/* SPDX-License-Identifier: MIT */
/*
 * An event as a line of JSON. Core layer. Tokens are strings: many readers of JSON have no 64-bit
 * integers. Bytes of a name that are not UTF-8 are written as lone surrogates U+DC80 to U+DCFF
 * (Python's surrogateescape), so that the line is JSON and the name can be had back.
 */
#include "core/events/events_impl.h"

#include "store/tree/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Length of the valid UTF-8 sequence at @s, 0 if there is none (RFC 3629, table in section 4). */
static int utf8_len(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf && (s[1] & 0xc0) == 0x80)
		return 2;
	if ((s[0] & 0xf0) == 0xe0 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 &&
	    !(s[0] == 0xe0 && s[1] < 0xa0) && !(s[0] == 0xed && s[1] > 0x9f))
		return 3;
	if (s[0] >= 0xf0 && s[0] <= 0xf4 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 &&
	    (s[3] & 0xc0) == 0x80 && !(s[0] == 0xf0 && s[1] < 0x90) &&
	    !(s[0] == 0xf4 && s[1] > 0x8f))
		return 4;
	return 0;
}

static void put_string(FILE *f, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	fputc('"', f);
	while (*p) {
		int n = utf8_len(p);

		if (n == 0)
			fprintf(f, "\\udc%02x", *p++);
		else if (n == 1 && (*p < 0x20 || *p == 0x7f))
			fprintf(f, "\\u%04x", *p++);
		else if (n == 1 && (*p == '"' || *p == '\\'))
			fprintf(f, "\\%c", *p++);
		else
			p += fwrite(p, 1, (size_t)n, f);
	}
	fputc('"', f);
}

static void put_field(FILE *f, const char *key, const char *value)
{
	if (!*value)
		return;
	fprintf(f, ",\"%s\":", key);
	put_string(f, value);
}

static void put_time(FILE *f, int64_t ns)
{
	time_t s = (time_t)(ns / 1000000000);
	char text[32];
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		strcpy(text, "1970-01-01T00:00:00");
	fprintf(f, ",\"at\":\"%s.%06" PRId64 "Z\"", text, ns % 1000000000 / 1000);
}

static void put_detail(FILE *f, const struct event *e)
{
	const char *space = strchr(e->detail, ' ');

	switch (e->kind) {
	case EVENT_COMMIT:
		fprintf(f, ",\"changed\":%" PRId64, e->n);
		break;
	case EVENT_GRANT:
		fprintf(f, ",\"ttl\":%" PRId64 ".%03" PRId64, e->n / 1000000000,
			e->n / 1000000 % 1000);
		break;
	case EVENT_REFUSE:
		if (space)
			fprintf(f, ",\"stage\":\"%.*s\",\"why\":\"%s\"", (int)(space - e->detail),
				e->detail, space + 1);
		break;
	case EVENT_CLAIM:
		put_field(f, "by", e->detail);
		break;
	case EVENT_RELEASE:
	case EVENT_EXPIRE:
	case EVENT_LOSE:
	case EVENT_RESET:
	case EVENT_UNKNOWN:
		break;
	}
}

int event_json(const struct event *e, char **out, size_t *out_len)
{
	FILE *f = open_memstream(out, out_len);

	if (!f)
		return -ENOMEM;
	fprintf(f, "{\"id\":%" PRId64 ",\"event\":\"%s\"", e->id, event_kind_name(e->kind));
	put_time(f, e->at);
	fprintf(f, ",\"revision\":%" PRId64, e->revision);
	put_field(f, "path", e->path);
	fprintf(f, ",\"token\":\"%" PRId64 "\"", e->token);
	put_field(f, "owner", e->owner);
	if (e->uid != UINT32_MAX)
		fprintf(f, ",\"uid\":%u", e->uid);
	if (e->highest >= 0)
		fprintf(f, ",\"highest\":\"%" PRId64 "\"", e->highest);
	put_field(f, "held_by", e->other);
	put_detail(f, e);
	fputs("}\n", f);
	return fclose(f) ? -ENOMEM : 0;
}

int event_json_missed(long long first_revision, char **out, size_t *out_len)
{
	int n = asprintf(out, "{\"event\":\"missed\",\"from_revision\":%lld}\n", first_revision);

	if (n < 0)
		return -ENOMEM;
	*out_len = (size_t)n;
	return 0;
}
