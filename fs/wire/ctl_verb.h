/* SPDX-License-Identifier: MIT */
/*
 * What can be asked on the control file: one table of verbs and their keys, from which the daemon
 * checks requests, help is made, and the tests check what is written about it. Layer: wire.
 */
#ifndef FENCE_WIRE_CTL_VERB_H
#define FENCE_WIRE_CTL_VERB_H

#include "wire/ctl_key.h"
#include "wire/ctl_line.h"

#include <stdbool.h>

enum ctl_verb_id {
	CTL_HELLO,
	CTL_CLAIM,
	CTL_OPEN,
	CTL_EXPECT,
	CTL_COMMIT,
	CTL_ABORT,
	CTL_OUTCOME,
	CTL_PUT,
	CTL_REMOVE,
	CTL_ACQUIRE,
	CTL_RENEW,
	CTL_RELEASE,
	CTL_RESTORE,
	CTL_AT,
	CTL_STAT,
	CTL_RESET,
	CTL_LIST,
	CTL_DAMAGED,
	CTL_GC,
	CTL_POLICY,
	CTL_VERBS
};

#define CTL_VERB_KEYS_MAX 14

struct ctl_verb {
	const char *name;
	const char *meaning; /* one line, no full stop */
	struct ctl_key keys[CTL_VERB_KEYS_MAX + 1];
	const char *replies; /* fields that an "ok" may have, space-separated */
	const char *example; /* a whole request */
	const char *note;    /* more for help; NULL: none */
	bool reads;	     /* it changes nothing: one that was not answered can be asked again */
};

/* By ctl_verb_id. */
extern const struct ctl_verb ctl_verbs[CTL_VERBS];

/*
 * The verb of a request that names one and has its keys, all that it requires and no others.
 * -EOPNOTSUPP, -EINVAL; *error says which. *out is set, too, where a known verb has wrong keys.
 */
int ctl_verb_check(const struct ctl_line *l, enum ctl_verb_id *out, struct ctl_error *error);
/* The verb that @request begins with; NULL: none. */
const struct ctl_verb *ctl_verb_find(const char *request);
/* NULL: no such key. */
const struct ctl_key *ctl_verb_key(const struct ctl_verb *v, const char *name);

#endif
