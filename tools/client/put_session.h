/* SPDX-License-Identifier: MIT */
/*
 * `fence put` of what does not fit into one request: large content, or several files in one commit.
 */
#ifndef FENCE_TOOLS_CLIENT_PUT_SESSION_H
#define FENCE_TOOLS_CLIENT_PUT_SESSION_H

#include "client/session_client.h"
#include "client/source.h"

/*
 * @w has its target and an open conversation. put_large: @s becomes the target. put_many: @names
 * are copied into the target, a directory. Both commit; 0 with the commit's reply in *out, or the
 * exit code.
 */
int put_large(struct client_work *w, const struct source *s, struct reply *out);
int put_many(struct client_work *w, char *const *names, int n, struct reply *out);

#endif
