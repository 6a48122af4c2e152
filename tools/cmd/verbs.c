/* SPDX-License-Identifier: MIT */
/* See verbs.h. Layer: tools. */
#include "cmd/verbs.h"

#include "cmd/cmd.h"

#include <stddef.h>
#include <string.h>

const struct verb *const verbs[] = {
	&verb_init,	&verb_mount,
	&verb_umount,	&verb_put,
	&verb_cat,	&verb_show,
	&verb_diff,	&verb_restore,
	&verb_at,	&verb_watch,
	&verb_timeline, &verb_log,
	&verb_open,	&verb_commit,
	&verb_abort,	&verb_sessions,
	&verb_claim,	&verb_rm,
	&verb_rejects,	&verb_run,
	&verb_acquire,	&verb_renew,
	&verb_release,	&verb_leases,
	&verb_version,	&verb_doctor,
	&verb_fsck,	&verb_gc,
	&verb_policy,	&verb_df,
	&verb_status,	&verb_metrics,
	&verb_backup,	&verb_restore_store,
	NULL,
};

const struct verb *verb_find(const char *name)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (strcmp((*v)->name, name) == 0)
			return *v;
	return NULL;
}
