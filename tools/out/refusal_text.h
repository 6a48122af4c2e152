/* SPDX-License-Identifier: MIT */
/* The words for an "err" reply. */
#ifndef FENCE_TOOLS_OUT_REFUSAL_TEXT_H
#define FENCE_TOOLS_OUT_REFUSAL_TEXT_H

#include "parse/buf.h"
#include "wire/reply.h"

/*
 * One line, its names not escaped yet, such as: stale token 41 < 42 (set by job-b at 2026-11-30
 * 11:02:03 +0100) @name: what the user called it; NULL: nothing.
 */
void refusal_text(struct buf *out, const char *name, const struct reply *r);
/* What to do about it; NULL: nothing that would help. */
const char *refusal_hint(const char *verb, const struct reply *r);

#endif
