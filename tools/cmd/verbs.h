/* SPDX-License-Identifier: MIT */
/* The table of verbs. Layer: tools. */
#ifndef FENCE_TOOLS_CMD_VERBS_H
#define FENCE_TOOLS_CMD_VERBS_H

#include "parse/verb.h"

/* NULL-terminated, in the order of --help. */
extern const struct verb *const verbs[];

/* NULL: no such verb. */
const struct verb *verb_find(const char *name);

#endif
