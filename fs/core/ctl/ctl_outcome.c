/* SPDX-License-Identifier: MIT */
/* outcome: what became of a session or an op. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "core/access/permission.h"
#include "store/tree/revision.h"
#include "store/tree/session_row.h"
#include "store/tree/reject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *outcome_name(enum session_outcome o)
{
	static const char *const names[] = {
		[SESSION_OPEN] = "open",       [SESSION_COMMITTED] = "committed",
		[SESSION_REFUSED] = "refused", [SESSION_ABORTED] = "aborted",
		[SESSION_UNKNOWN] = "unknown",
	};

	return names[o];
}

/*
 * A commit is in the database a moment before it can be seen. Who is told "committed" may open the
 * path at once and must find it so, hence until then the answer is "open". @rev: what can be seen.
 */
static void outcome_of_session(struct ctl_call *call, struct db *db, int64_t rev, const char *id)
{
	struct session_row row;
	int err = session_row_get(db, id, &row);

	if (!err && call->ctl->who.uid != 0 && call->ctl->who.uid != row.uid)
		err = -ENOENT;
	if (!err && row.outcome == SESSION_COMMITTED && row.revision > rev)
		row.outcome = SESSION_OPEN;
	reply_ok(&call->reply);
	reply_str(&call->reply, "outcome", outcome_name(err ? SESSION_UNKNOWN : row.outcome));
	if (!err && row.outcome == SESSION_COMMITTED)
		reply_int(&call->reply, "revision", row.revision);
}

static void outcome_of_op(struct ctl_call *call, struct db *db, int64_t live, const char *path,
			  const char *op)
{
	struct revision *rev = calloc(1, sizeof(*rev));
	struct reject *reject = calloc(1, sizeof(*reject));
	bool committed = rev && revision_by_op(db, path, op, rev) == 0;

	reply_ok(&call->reply);
	if (committed && rev->revision > live) {
		reply_str(&call->reply, "outcome", "open");
	} else if (committed) {
		reply_str(&call->reply, "outcome", "committed");
		reply_int(&call->reply, "revision", rev->revision);
		reply_int(&call->reply, "changed", rev->changed);
	} else if (reject && reject_by_op(db, path, op, reject) == 1) {
		reply_str(&call->reply, "outcome", "refused");
		reply_int(&call->reply, "token", reject->token);
		if (reject->highest >= 0)
			reply_int(&call->reply, "highest", reject->highest);
	} else {
		reply_str(&call->reply, "outcome", "unknown");
	}
	free(rev);
	free(reject);
}

void ctl_outcome(struct ctl_call *call)
{
	const char *id = ctl_line_get(&call->line, "session"), *op = NULL;
	char path[FENCE_PATH_MAX + 1];
	struct ctl_error error;
	struct db *db;
	int64_t rev;
	int err = 0;

	if (!id == !(ctl_line_get(&call->line, "path") && ctl_line_get(&call->line, "op")))
		err = ctl_error_set(&error, -EINVAL, NULL, NULL, "give session=, or path= and op=");
	if (!err && !id)
		err = ctl_path(&call->line, "path", path, NULL, &error);
	if (!err && !id)
		err = ctl_word(&call->line, "op", &op, &error);
	if (!err && !id && (err = ctl_may_look(call->ctl->c, &call->ctl->who, path, false)) < 0)
		ctl_error_set(&error, err, "path", path, "no permission to look at this path");
	if (!err && (err = core_read_begin(call->ctl->c, &db, &rev)) < 0)
		ctl_error_set(&error, err, NULL, NULL, "the store's database failed");
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	if (id)
		outcome_of_session(call, db, rev, id);
	else
		outcome_of_op(call, db, rev, path, op);
	core_read_end(call->ctl->c, db);
	ctl_call_done(call);
}
