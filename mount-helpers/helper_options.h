/* SPDX-License-Identifier: MIT */
/* What mount(8) passes to a helper with -o, sorted by who has a use for it. */
#ifndef FENCE_HELPER_OPTIONS_H
#define FENCE_HELPER_OPTIONS_H

#include <stdbool.h>

struct helper_options {
	char *pass;  /* owned; comma-separated, for fencefs -o; "" if none */
	int timeout; /* seconds to wait for the mount; x-fence.timeout */
	bool remount;
};

/*
 * A sentence for a person goes to stderr. -EINVAL: an option nobody knows, or a bad value; @sloppy
 * warns of the former and drops it. -ENOMEM.
 */
int helper_options_add(struct helper_options *m, const char *list, bool sloppy);
void helper_options_fini(struct helper_options *m);

#endif
