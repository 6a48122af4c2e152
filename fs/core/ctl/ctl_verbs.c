/* SPDX-License-Identifier: MIT */
/*
 * Which function runs a verb of the table in wire/ctl_verb.h, and the verbs that only look. Core
 * layer.
 */
#include "core/ctl/ctl_impl.h"
#include "core/lease/lease_table.h"

#include "base/version.h"
#include "store/fence/fence.h"
#include "store/store.h"
#include "wire/ctl_verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void (*const run[CTL_VERBS])(struct ctl_call *call) = {
	[CTL_HELLO] = ctl_hello,     [CTL_CLAIM] = ctl_claim,	[CTL_OPEN] = ctl_open_session,
	[CTL_EXPECT] = ctl_expect,   [CTL_COMMIT] = ctl_commit, [CTL_ABORT] = ctl_abort,
	[CTL_OUTCOME] = ctl_outcome, [CTL_PUT] = ctl_put,	[CTL_REMOVE] = ctl_remove,
	[CTL_ACQUIRE] = ctl_acquire, [CTL_RENEW] = ctl_renew,	[CTL_RELEASE] = ctl_release,
	[CTL_RESTORE] = ctl_restore, [CTL_AT] = ctl_at,		[CTL_STAT] = ctl_stat,
	[CTL_RESET] = ctl_reset,     [CTL_LIST] = ctl_list,	[CTL_DAMAGED] = ctl_damaged,
	[CTL_GC] = ctl_gc,	     [CTL_POLICY] = ctl_policy,
};

_Static_assert(CTL_VERBS <= METRIC_VERBS_MAX, "each is counted");
_Static_assert(CTL_WORD_MAX == OWNER_MAX, "an owner that is taken has room");

const char *ctl_verb_name(int i)
{
	return i < CTL_VERBS ? ctl_verbs[i].name : NULL;
}

static bool is_put(const struct ctl_call *call)
{
	return strncmp(call->text, "put", 3) == 0 && (!call->text[3] || call->text[3] == ' ');
}

static void execute(struct ctl_call *call)
{
	enum ctl_verb_id verb = CTL_VERBS;
	struct ctl_error error;
	int err = ctl_line_parse(call->text, call->text_len, &call->line, &error);

	if (!err)
		err = ctl_verb_check(&call->line, &verb, &error);
	if (verb != CTL_VERBS)
		call->verb = (int)verb + 1;
	if (!err)
		run[verb](call);
	else if (is_put(call))
		ctl_put_refuse(call, &error);
	else
		ctl_call_error(call, &error);
}

static void closed(struct ctl *ctl)
{
	lease_conversation_ended(ctl->c, ctl);
	ctl_detach_all(ctl);
}

int ctl_open(struct core *c, const struct caller *who, struct ctl **out)
{
	static const struct ctl_ops ops = { .execute = execute, .closed = closed };
	struct ctl *ctl = ctl_new(c, who, &ops);

	if (!ctl)
		return -ENOMEM;
	*out = ctl;
	return 0;
}

void ctl_hello(struct ctl_call *call)
{
	struct core *c = call->ctl->c;
	const char *proto = ctl_line_get(&call->line, "proto");

	if (proto && strcmp(proto, "1") != 0) {
		ctl_call_fail(call, -EPROTONOSUPPORT, "proto", proto,
			      "this fencefs speaks proto=1");
		return;
	}
	reply_ok(&call->reply);
	reply_str(&call->reply, "fencefs", version());
	reply_int(&call->reply, "proto", 1);
	reply_str(&call->reply, "store", store_uuid(c->store));
	reply_int(&call->reply, "revision", atomic_load(&c->live.rev));
	reply_str(&call->reply, "mount", c->opt.mountpoint);
	reply_str(&call->reply, "features", atomic_load(&c->features));
	ctl_call_done(call);
}
