/* SPDX-License-Identifier: MIT */
/* See event_kind.h. Layer: wire. */
#include "wire/event_kind.h"

#include <string.h>

static const char *const names[] = {
	[EVENT_UNKNOWN] = "unknown", [EVENT_COMMIT] = "commit", [EVENT_REFUSE] = "refuse",
	[EVENT_CLAIM] = "claim",     [EVENT_GRANT] = "grant",	[EVENT_RELEASE] = "release",
	[EVENT_EXPIRE] = "expire",   [EVENT_LOSE] = "lose",	[EVENT_RESET] = "reset",
};

const char *event_kind_name(enum event_kind kind)
{
	return (unsigned int)kind <= EVENT_KIND_LAST ? names[kind] : names[EVENT_UNKNOWN];
}

enum event_kind event_kind_parse(const char *name)
{
	for (int kind = EVENT_COMMIT; kind <= EVENT_KIND_LAST; kind++)
		if (strcmp(names[kind], name) == 0)
			return (enum event_kind)kind;
	return EVENT_UNKNOWN;
}
