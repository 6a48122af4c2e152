/* SPDX-License-Identifier: MIT */
/* Which file a command's name means. */
#ifndef FENCE_TOOLS_RUN_RUN_PROGRAM_H
#define FENCE_TOOLS_RUN_RUN_PROGRAM_H

#include "parse/buf.h"

/*
 * The absolute path of @name: looked up in $PATH when it has no '/', else from the working
 * directory. That is the caller's: a job is started elsewhere. -ENOENT: there is none; -EACCES:
 * what is there cannot be executed.
 */
int run_program_find(const char *name, struct buf *out);

#endif
