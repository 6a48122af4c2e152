/* SPDX-License-Identifier: MIT */
/* What fence fsck prints: a finding as soon as it is made, for people or as JSON. */
#ifndef FENCE_TOOLS_OUT_FSCK_PRINT_H
#define FENCE_TOOLS_OUT_FSCK_PRINT_H

#include "out/json.h"
#include "store/fsck/fsck.h"

struct fsck_print {
	bool as_json;
	bool with_plan; /* say what a repair would do */
	bool is_silent; /* nothing but JSON may be printed, and that is over */
	struct json json;
};

void fsck_print_begin(struct fsck_print *p, const char *store, bool is_live);
void fsck_print_finding(struct fsck_print *p, const struct fsck_finding *x);
/* Nothing else may follow for JSON but fsck_print_end(). */
void fsck_print_totals(struct fsck_print *p, const struct fsck_totals *t, bool with_data);
void fsck_print_end(struct fsck_print *p, int code);

#endif
