/* SPDX-License-Identifier: MIT */
/*
 * A refusal written down: orphans and reject rows (P9). Within a transaction. For this layer only.
 */
#ifndef FENCE_CORE_PUBLISH_REFUSE_H
#define FENCE_CORE_PUBLISH_REFUSE_H

#include "core/publish/change_list.h"

struct refused_write {
	const struct refusal *why;
	const char *path;			  /* claimed path, for rows without a file */
	const char *owner, *op, *session, *stage; /* op, session may be NULL */
	int64_t token;
	uint32_t uid;
	const struct caller *who; /* of a session, whose content may be somebody else's; or NULL */
};

/*
 * One reject row for each file of @list that has sealed content, its blob recorded as garbage; one
 * row without content if there is none.
 */
int refuse_record(struct db *db, const struct refused_write *w, const struct sealed_set *sealed,
		  const struct change_list *list);
/* One row without content, for a claim or an open. */
int refuse_record_plain(struct db *db, const struct refused_write *w);

#endif
