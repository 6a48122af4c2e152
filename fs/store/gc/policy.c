/* SPDX-License-Identifier: MIT */
/* See policy.h. Layer: store, room gc. */
#include "store/gc/policy.h"
#include "store/blob/quota.h"
#include "store/sqlite/setting.h"

#include <errno.h>

const char *const policy_keep_names[RETAIN_KINDS] = {
	[RETAIN_LAST] = "keep_last",	   [RETAIN_HOURLY] = "keep_hourly",
	[RETAIN_DAILY] = "keep_daily",	   [RETAIN_WEEKLY] = "keep_weekly",
	[RETAIN_MONTHLY] = "keep_monthly", [RETAIN_YEARLY] = "keep_yearly",
};

/* A number that is not there is 0. */
static int get(struct db *db, const char *name, int64_t *out)
{
	int err = setting_get(db, name, out);

	if (err == -ENOENT) {
		*out = 0;
		err = 0;
	}
	if (!err && *out < 0)
		err = -EUCLEAN;
	return err;
}

static int put(struct db *db, const char *name, int64_t value)
{
	return value ? setting_set(db, name, value) : setting_drop(db, name);
}

int policy_get(struct db *db, struct policy *out)
{
	struct policy p = { 0 };
	int64_t used;
	int err = get(db, POLICY_WITHIN, &p.keep.within);

	for (int k = 0; k < RETAIN_KINDS && !err; k++)
		err = get(db, policy_keep_names[k], &p.keep.count[k]);
	if (!err)
		err = quota_get(db, &p.max_size, &used);
	if (!err)
		*out = p;
	return err;
}

int policy_set(struct db *db, const struct policy *p)
{
	int err = put(db, POLICY_WITHIN, p->keep.within);

	for (int k = 0; k < RETAIN_KINDS && !err; k++)
		err = put(db, policy_keep_names[k], p->keep.count[k]);
	return err ? err : quota_set(db, p->max_size);
}
