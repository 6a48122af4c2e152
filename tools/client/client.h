/* SPDX-License-Identifier: MIT */
/*
 * What nearly every verb does first: find the mount, open a conversation, ask. Says itself what
 * went wrong.
 */
#ifndef FENCE_TOOLS_CLIENT_CLIENT_H
#define FENCE_TOOLS_CLIENT_CLIENT_H

#include "parse/args.h"
#include "client/ctl_client.h"
#include "client/target.h"

/* The mount of @path (NULL: of --mount, see target_default). 0, or the exit code. */
int client_open(const struct args *a, const char *path, struct target *out_target,
		struct ctl_client *out_ctl);

/*
 * Ask; @name is what the request is about, for messages. 0 with an "ok" in *out, or the exit code.
 */
int client_call(const struct args *a, const char *name, struct ctl_client *c, struct line *req,
		struct reply *out);
/* The same with content after the request line. */
struct client_request {
	const struct args *args;
	const char *name;
	struct ctl_client *ctl;
	struct line *line;
	const struct buf *content; /* NULL: none */
};
int client_call_with(const struct client_request *q, struct reply *out);

void client_add_path(struct line *req, const struct target *t);
/*
 * Those options of @names (NULL-terminated) that the verb has and that were given, under the keys
 * of the protocol.
 */
void client_add_options(struct line *req, const struct args *a, const char *const *names);

#endif
