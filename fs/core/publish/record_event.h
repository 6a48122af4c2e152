/* SPDX-License-Identifier: MIT */
/* Claims and commits as events, in their own transaction. For this layer only. */
#ifndef FENCE_CORE_PUBLISH_RECORD_EVENT_H
#define FENCE_CORE_PUBLISH_RECORD_EVENT_H

#include "store/tree/change.h"

#include <stdint.h>

int record_claim(struct db *db, const char *path, int64_t token, const char *owner, uint32_t uid,
		 const char *detail);
/* Nothing if the commit changed nothing. */
int record_commit(struct db *db, const struct commit_request *req,
		  const struct commit_result *result, uint32_t uid);

#endif
