/* SPDX-License-Identifier: MIT */
/* The command line of one verb, parsed by its option table. */
#ifndef FENCE_TOOLS_PARSE_ARGS_H
#define FENCE_TOOLS_PARSE_ARGS_H

#include "base/errmsg.h"
#include "parse/verb.h"

#include <stdbool.h>

#define ARGS_OPTIONS_MAX 32
#define ARGS_GIVEN_MAX	 64 /* options with an argument on one command line */

struct args {
	const struct verb *verb;
	/* By index into verb->options; "1" for those without argument. */
	const char *values[ARGS_OPTIONS_MAX];
	/* Those with an argument, in their order: an option may be given more than once. */
	struct {
		int option;
		const char *value;
	} given[ARGS_GIVEN_MAX];
	int n_given;
	bool help;   /* --help or -h was given */
	char **rest; /* positional arguments, borrowed from argv */
	int n;
};

/*
 * @argv (what follows the verb) is reordered: positional arguments move to its front. Options may
 * stand anywhere; "--" ends them. -EINVAL with a sentence: unknown option (names the nearest),
 * missing or needless argument, wrong number of positional arguments.
 */
int args_parse(const struct verb *verb, int argc, char **argv, struct args *out,
	       struct errmsg *err);

/* Whether the verb has an option of this name at all. */
bool args_knows(const struct args *a, const char *name);
/* @name must be in the verb's table. args_get: NULL if it was not given. */
bool args_has(const struct args *a, const char *name);
const char *args_get(const struct args *a, const char *name);
/* The @i-th value of an option that may be repeated, from 0; NULL: it was not given so often. */
const char *args_get_nth(const struct args *a, const char *name, int i);

#endif
