/* SPDX-License-Identifier: MIT */
/* See doctor.h: how a check says what it has seen. Layer: tools. */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const state_names[] = { "ok", "note", "missing" };

static void add_json(struct json *j, enum doctor_state state, const char *check, const char *remedy,
		     const char *text)
{
	json_line(j);
	json_open(j, '{');
	json_key(j, "check");
	json_string(j, check);
	json_key(j, "state");
	json_string(j, state_names[state]);
	json_key(j, "text");
	json_string(j, text);
	json_key(j, "remedy");
	json_string(j, remedy);
	json_close(j, '}');
}

void doctor_say(struct doctor *d, enum doctor_state state, const char *check, const char *remedy,
		const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->is_missing = d->is_missing || state == DOCTOR_MISSING;
	if (d->as_json)
		add_json(&d->json, state, check, remedy, text);
	else
		printf("%-7s  %-11s  %s%s%s\n", state_names[state], check, text,
		       remedy ? "; remedy: " : "", remedy ? remedy : "");
}

bool doctor_is_at_least(const char *version, int major, int minor)
{
	int has_major = 0, has_minor = 0;

	if (sscanf(version, "%9d.%9d", &has_major, &has_minor) < 1)
		return false;
	return has_major > major || (has_major == major && has_minor >= minor);
}

bool doctor_read(const char *path, char *out, int room)
{
	FILE *f = fopen(path, "re");
	bool is_read = f && fgets(out, room, f);

	if (is_read)
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	return is_read;
}
