/* SPDX-License-Identifier: MIT */
/* `fence rejects --save` (P9). */
#ifndef FENCE_TOOLS_CLIENT_REJECT_SAVE_H
#define FENCE_TOOLS_CLIENT_REJECT_SAVE_H

#include "parse/args.h"

/*
 * The content of reject @id to @file, which must not exist (--force: may), or to standard output
 * for "-". The exit code.
 */
int reject_save(const struct args *a, const char *id, const char *file);

#endif
