/* SPDX-License-Identifier: MIT */
/* See claim.h. Layer: core, room publish. */
#include "core/publish/claim.h"

#include "base/io.h"
#include "core/access/permission.h"
#include "core/publish/record_event.h"
#include "core/publish/refuse.h"
#include "store/fence/fence.h"

#include <errno.h>
#include <string.h>

int claim_to_write(struct db *db, const struct caller *who, const char *path)
{
	return permission_recheck(db, who, path);
}

int claim_to_remove(struct db *db, const struct caller *who, const char *path)
{
	struct permission_target t;

	if (who->uid == 0)
		return 0;
	return permission_remove(db, ENTRY_NOW, who, path, &t) == -EACCES ? -EACCES : 0;
}

int claim_raise(struct claim *m, struct db *db)
{
	int err;

	memset(m->why, 0, sizeof(*m->why));
	m->at = io_now_ns();
	err = fence_claim(db, m->path, m->token, m->owner, m->at, m->why);
	if (!err && m->allowed(db, m->who, m->path) < 0)
		err = permission_refuse(m->why, m->path, m->token);
	if (err < 0 || !m->how)
		return err;
	return record_claim(db, m->path, m->token, m->owner, m->who->uid, m->how);
}

int claim_record_refusal(const struct claim *m, struct db *db, const char *stage)
{
	struct refused_write w = {
		.why = m->why,
		.path = m->path,
		.owner = m->owner,
		.stage = stage,
		.token = m->token,
		.uid = m->who->uid,
	};

	return m->why->err ? refuse_record_plain(db, &w) : 0;
}
