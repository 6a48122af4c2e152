/* SPDX-License-Identifier: MIT */
/* The verb that each cmd_*.c defines. Layer: tools. */
#ifndef FENCE_TOOLS_CMD_CMD_H
#define FENCE_TOOLS_CMD_CMD_H

#include "parse/verb.h"

extern const struct verb verb_abort;
extern const struct verb verb_acquire;
extern const struct verb verb_at;
extern const struct verb verb_backup;
extern const struct verb verb_cat;
extern const struct verb verb_claim;
extern const struct verb verb_commit;
extern const struct verb verb_df;
extern const struct verb verb_diff;
extern const struct verb verb_doctor;
extern const struct verb verb_fsck;
extern const struct verb verb_gc;
extern const struct verb verb_init;
extern const struct verb verb_leases;
extern const struct verb verb_log;
extern const struct verb verb_metrics;
extern const struct verb verb_mount;
extern const struct verb verb_open;
extern const struct verb verb_policy;
extern const struct verb verb_put;
extern const struct verb verb_rejects;
extern const struct verb verb_release;
extern const struct verb verb_renew;
extern const struct verb verb_restore;
extern const struct verb verb_restore_store;
extern const struct verb verb_rm;
extern const struct verb verb_run;
extern const struct verb verb_sessions;
extern const struct verb verb_show;
extern const struct verb verb_status;
extern const struct verb verb_timeline;
extern const struct verb verb_umount;
extern const struct verb verb_version;
extern const struct verb verb_watch;

#endif
