/* SPDX-License-Identifier: MIT */
/* Every exit status of fence, and which errno of the control protocol becomes which. */
#ifndef FENCE_TOOLS_OUT_EXIT_CODE_H
#define FENCE_TOOLS_OUT_EXIT_CODE_H

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_PARTLY = 3,
	EXIT_NOT_FENCEFS = 10,
	EXIT_HELD = 11,
	EXIT_TIMED_OUT = 12,
	EXIT_STALE = 13,
	EXIT_LOST = 14,
	EXIT_UNKNOWN = 15,
	EXIT_PRECONDITION = 16,
	EXIT_DAMAGE = 20,
	/* fence run, which otherwise ends with the status of its job */
	EXIT_RUN_FAILED = 125,
	EXIT_RUN_CANNOT = 126,
	EXIT_RUN_NOT_FOUND = 127,
};

struct exit_row {
	int code;
	const char *meaning;
};

/* Ends with a row whose meaning is NULL. */
extern const struct exit_row exit_rows[];

/* Of a refused request or a failure: @err is negative. */
int exit_code_of(int err);
/* The plain words for @err in the words of this product. */
const char *exit_error_text(int err);

#endif
