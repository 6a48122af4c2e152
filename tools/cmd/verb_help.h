/* SPDX-License-Identifier: MIT */
/* The table of verbs in print. */
#ifndef FENCE_TOOLS_CMD_VERB_HELP_H
#define FENCE_TOOLS_CMD_VERB_HELP_H

#include "parse/verb.h"

#include <stdio.h>

/* fence --help */
void verb_help_all(FILE *to);
/* fence VERB --help */
void verb_help(const struct verb *v);
/* fence --dump-verbs: all of it as JSON. */
void verb_dump(void);

#endif
