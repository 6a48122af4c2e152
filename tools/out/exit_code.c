/* SPDX-License-Identifier: MIT */
/* See exit_code.h. Layer: tools. */
#include "out/exit_code.h"

#include <errno.h>
#include <string.h>

const struct exit_row exit_rows[] = {
	{ EXIT_OK, "ok" },
	{ EXIT_FAILED, "failed" },
	{ EXIT_USAGE, "usage: the command line is wrong" },
	{ EXIT_PARTLY, "partly done: some of several paths failed" },
	{ EXIT_NOT_FENCEFS, "not a fencefs mount or store" },
	{ EXIT_HELD, "somebody else holds the lease" },
	{ EXIT_TIMED_OUT, "timed out waiting" },
	{ EXIT_STALE, "stale token: a newer owner has taken the path" },
	{ EXIT_LOST, "the lease was lost while the job ran" },
	{ EXIT_UNKNOWN, "the outcome is unknown: ask again" },
	{ EXIT_PRECONDITION, "a precondition failed" },
	{ EXIT_DAMAGE, "damage was found" },
	{ EXIT_RUN_FAILED, "run: fence itself failed; the job was not started or not published" },
	{ EXIT_RUN_CANNOT, "run: the command cannot be executed" },
	{ EXIT_RUN_NOT_FOUND, "run: the command was not found" },
	{ 0, NULL },
};

struct error_row {
	int err;
	int code;
	const char *text; /* NULL: strerror */
};

static const struct error_row errors[] = {
	{ ESTALE, EXIT_STALE, "stale token: a newer owner has taken the path" },
	{ EBUSY, EXIT_HELD, "somebody else holds the lease" },
	{ ETIMEDOUT, EXIT_TIMED_OUT, "timed out waiting" },
	{ ETIME, EXIT_LOST, "the lease has expired" },
	{ EREMOTEIO, EXIT_UNKNOWN,
	  "the outcome is unknown: the daemon went away before it answered" },
	{ ECANCELED, EXIT_PRECONDITION, "a precondition failed" },
	{ EEXIST, EXIT_PRECONDITION, "it already exists" },
	{ EMEDIUMTYPE, EXIT_NOT_FENCEFS, "not a fencefs mount or store" },
	{ EUCLEAN, EXIT_DAMAGE, "damage was found" },
	{ ENOTCONN, EXIT_FAILED, "the daemon of this mount is gone; mount it again" },
	{ EROFS, EXIT_FAILED, "outside what this session may change" },
	{ EPROTO, EXIT_FAILED,
	  "the mount gave an answer that this version of fence does not understand" },
	{ ERANGE, EXIT_FAILED, "the token is out of range (0 to 9223372036854775807)" },
};

static const struct error_row *error_find(int err)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].err == -err)
			return &errors[i];
	return NULL;
}

int exit_code_of(int err)
{
	const struct error_row *row = error_find(err);

	return row ? row->code : EXIT_FAILED;
}

const char *exit_error_text(int err)
{
	const struct error_row *row = error_find(err);

	return row ? row->text : strerror(-err);
}
