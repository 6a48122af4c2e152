/* SPDX-License-Identifier: MIT */
/* What fence doctor looks at. Each check says one line; none changes anything. */
#ifndef FENCE_TOOLS_DOCTOR_DOCTOR_H
#define FENCE_TOOLS_DOCTOR_DOCTOR_H

#include "out/json.h"

#include <stdbool.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,	/* it works, but less well than it could, or not for everybody */
	DOCTOR_MISSING, /* it is needed */
};

struct doctor {
	bool as_json, is_root;
	bool is_missing; /* something is that is needed */
	struct json json;
};

/* @remedy: what to do about it; NULL: nothing. */
void doctor_say(struct doctor *d, enum doctor_state state, const char *check, const char *remedy,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Whether "6.9.0-rc1" is at least 6.9. */
bool doctor_is_at_least(const char *version, int major, int minor);
/* Reads a short file, without the line feed at its end. False: it cannot be read. */
bool doctor_read(const char *path, char *out, int room);

void doctor_fuse(struct doctor *d);
void doctor_user(struct doctor *d); /* what mounts of ordinary users need */
void doctor_limits(struct doctor *d);
void doctor_store(struct doctor *d, const char *store);
void doctor_mount(struct doctor *d, const char *mount);

#endif
