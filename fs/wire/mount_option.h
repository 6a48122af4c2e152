/* SPDX-License-Identifier: MIT */
/*
 * Mount options (-o) and who has a use for them: one table for the daemon and for the helper of
 * mount(8). Layer: wire.
 */
#ifndef FENCE_WIRE_MOUNT_OPTION_H
#define FENCE_WIRE_MOUNT_OPTION_H

#include <stdbool.h>

enum mount_option_use {
	MOUNT_OWN,    /* fencefs's own */
	MOUNT_PASSED, /* for libfuse and the kernel */
	/*
	 * For mount(8), fstab and systemd, which have used it up; or it changes nothing here: the
	 * kernel's own default, or no sense on FUSE.
	 */
	MOUNT_DROPPED,
	MOUNT_TIMEOUT, /* how long the helper waits */
	MOUNT_REMOUNT, /* cannot be done */
	MOUNT_UNSAFE,  /* refused: see mount_option_unsafe */
};

struct mount_option {
	const char *name; /* NULL ends the table */
	enum mount_option_use use;
	enum { MOUNT_NO_VALUE, MOUNT_MAY_VALUE, MOUNT_VALUE } value;
};

extern const struct mount_option mount_options[];

/* Why the unsafe one is refused; its name follows. */
extern const char mount_option_unsafe[];

/*
 * The row of @opt, "name" or "name=value", one of a comma-separated list. NULL: there is none such,
 * or it has a value and should not, or the reverse. "" and what begins with x- or X- is dropped.
 */
const struct mount_option *mount_option_find(const char *opt);
/* What follows the "="; NULL: it has no value. */
const char *mount_option_value(const char *opt);
/* The nearest name that does something, or NULL. */
const char *mount_option_nearest(const char *opt);

#endif
