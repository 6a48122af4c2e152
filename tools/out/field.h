/* SPDX-License-Identifier: MIT */
/* The fields of replies as people and as programs (JSON) get them. The types stand in one table. */
#ifndef FENCE_TOOLS_OUT_FIELD_H
#define FENCE_TOOLS_OUT_FIELD_H

#include "parse/buf.h"
#include "wire/reply.h"
#include "out/json.h"

/* For people. */
void field_display(struct buf *out, const char *key, const char *value);

/* Key and value; @mount (may be NULL) goes before paths that are relative to the mount point. */
void field_json(struct json *j, const char *mount, const char *key, const char *value);
/* All fields of @r, within an object that is open. */
void field_json_all(struct json *j, const char *mount, const struct reply *r);

/* {"error": "ESTALE", "message": …, and the fields} on stdout. */
void field_print_refusal(const struct reply *r);
/* {the fields} on stdout. */
void field_print_reply(const char *mount, const struct reply *r);

#endif
