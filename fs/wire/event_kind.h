/* SPDX-License-Identifier: MIT */
/*
 * Kinds of events, as .fence/events and `list kind=event` name them. Layer: wire. The numbers stand
 * in stores: they never change.
 */
#ifndef FENCE_WIRE_EVENT_KIND_H
#define FENCE_WIRE_EVENT_KIND_H

enum event_kind {
	EVENT_UNKNOWN = 0,
	EVENT_COMMIT = 1,
	EVENT_REFUSE,
	EVENT_CLAIM,
	EVENT_GRANT,   /* of a lease */
	EVENT_RELEASE, /* of a lease, by its holder */
	EVENT_EXPIRE,  /* of a lease */
	EVENT_LOSE,    /* a lease was overtaken by a claim */
	EVENT_RESET
};
#define EVENT_KIND_LAST EVENT_RESET

/* Never NULL: "unknown" for what is none. */
const char *event_kind_name(enum event_kind kind);
/* EVENT_UNKNOWN: a newer daemon may have more. */
enum event_kind event_kind_parse(const char *name);

#endif
