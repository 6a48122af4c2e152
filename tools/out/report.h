/* SPDX-License-Identifier: MIT */
/*
 * What the tool says on stderr. Every line begins with "fence: "; names in it are escaped. All
 * return the exit code.
 */
#ifndef FENCE_TOOLS_OUT_REPORT_H
#define FENCE_TOOLS_OUT_REPORT_H

#include "parse/args.h"
#include "wire/reply.h"

/* "fence: put: TEXT" and where to read on: EXIT_USAGE. */
int report_usage(const struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "fence: put NAME: TEXT" (NULL @name: "fence: put: TEXT"); the code is that of @err. */
int report_error(const struct args *a, const char *name, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with the words for @err. */
int report_errno(const struct args *a, const char *name, int err);

/*
 * A refused request: one line that says why, one that says what to do; with --json also an object
 * on stdout.
 */
int report_refusal(const struct args *a, const char *name, const struct reply *reply);

/* "fence: TEXT", advice after an error. */
void report_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Flush stdout and say what went wrong with it, if anything and if anyone is there to be told. */
int report_output(int code);

#endif
