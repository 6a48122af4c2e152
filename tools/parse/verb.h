/* SPDX-License-Identifier: MIT */
/*
 * What a verb is. Help, option parsing, the answer to a misspelt name, --dump-verbs (and from it
 * completions, manual pages and the check of README.md) all come from the rows of this kind.
 */
#ifndef FENCE_TOOLS_PARSE_VERB_H
#define FENCE_TOOLS_PARSE_VERB_H

struct args;

struct option_spec {
	const char *name; /* without "--"; NULL ends a table */
	char letter;	  /* 0: none */
	const char *arg;  /* what the argument is called; NULL: takes none */
	const char *help;
};

struct verb {
	const char *name;
	const char *summary;	  /* one line, no full stop */
	const char *const *usage; /* what follows "fence NAME", NULL-terminated */
	const char *about;	  /* for --help, which breaks the lines; may be NULL */
	const char *examples;	  /* one command a line; may be NULL */
	const struct option_spec *options;
	const int *exits;		     /* beside 0, 1 and 2; ends with 0 */
	int min_args, max_args;		     /* positional arguments; max -1: any number */
	int (*run)(const struct args *args); /* the exit code; has said on stderr what went wrong */
};

#define OPTION_JSON                                               \
	{                                                         \
		"json", 0, NULL, "print JSON; tokens are strings" \
	}
#define OPTION_TOKEN                                                  \
	{                                                             \
		"token", 't', "N", "the token; default: $FENCE_TOKEN" \
	}
#define OPTION_OWNER                                                                              \
	{                                                                                         \
		"owner", 'o', "NAME",                                                             \
			"who you are; default: $FENCE_OWNER, or else user@host:pid of the caller" \
	}
#define OPTION_MOUNT                                                       \
	{                                                                  \
		"mount", 'm', "DIR", "any path in the mount that is meant" \
	}
#define OPTION_PARENTS                                                      \
	{                                                                   \
		"parents", 'p', NULL, "make directories missing above PATH" \
	}
#define OPTION_OP                                                                               \
	{                                                                                       \
		"op", 0, "KEY", "idempotency key: the same KEY again returns the first outcome" \
	}
#define OPTION_ONCE                                                    \
	{                                                              \
		"once", 0, NULL, "write at most once under this token" \
	}
#define OPTION_VERBOSE                                    \
	{                                                 \
		"verbose", 'v', NULL, "say what was done" \
	}
#define OPTION_END                  \
	{                           \
		NULL, 0, NULL, NULL \
	}

#endif
