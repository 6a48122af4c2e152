/* SPDX-License-Identifier: MIT */
/* See record_event.h. Core layer. */
#include "core/publish/record_event.h"

#include "store/tree/event.h"

#include <stdio.h>
#include <string.h>

int record_claim(struct db *db, const char *path, int64_t token, const char *owner, uint32_t uid,
		 const char *detail)
{
	struct event e = { .kind = EVENT_CLAIM, .token = token, .uid = uid, .highest = -1 };

	strcpy(e.path, path);
	snprintf(e.owner, sizeof(e.owner), "%s", owner);
	snprintf(e.detail, sizeof(e.detail), "%s", detail);
	return event_add(db, &e);
}

int record_commit(struct db *db, const struct commit_request *req,
		  const struct commit_result *result, uint32_t uid)
{
	struct event e = {
		.kind = EVENT_COMMIT,
		.revision = result->revision,
		.token = req->token,
		.uid = uid,
		.highest = -1,
		.n = result->changed,
	};

	if (!result->changed)
		return 0;
	strcpy(e.path, req->path);
	snprintf(e.owner, sizeof(e.owner), "%s", req->owner);
	return event_add(db, &e);
}
