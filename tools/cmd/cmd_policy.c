/* SPDX-License-Identifier: MIT */
/* fence policy: show or set what gc keeps and how large the store may grow. Layer: tools. */
#include "cmd/cmd.h"

#include "parse/buf.h"
#include "client/client.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/json.h"
#include "client/keep.h"
#include "out/report.h"
#include "parse/size.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "store/sqlite/txn.h"
#include "store/gc/policy.h"
#include "client/store_target.h"
#include "wire/seconds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_change {
	const struct args *args;
	struct store_target target;
	int64_t max_size;
	bool is_given; /* something is to be changed */
};

static int parse(struct policy_change *c)
{
	const char *size = args_get(c->args, "max-size");
	struct retention ignored = { .within = 0 };
	int code = keep_parse(c->args, &ignored);

	if (!code && size && strcmp(size, "0") != 0 && !size_parse(size, &c->max_size))
		return report_usage(c->args, "--max-size %s: not a size such as 500G", size);
	c->is_given = size || keep_is_given(c->args);
	return code;
}

static int change_here(struct policy_change *c, struct policy *p)
{
	struct db *db = store_writer(c->target.s);
	int err = txn_begin(db);

	if (err)
		return err;
	(void)keep_parse(c->args, &p->keep);
	if (args_has(c->args, "max-size"))
		p->max_size = c->max_size;
	err = policy_set(db, p);
	if (err) {
		txn_rollback(db);
		return err;
	}
	return txn_commit(db);
}

static int run_offline(struct policy_change *c, struct policy *p)
{
	struct db *db;
	int err = store_reader_get(c->target.s, &db);

	if (!err) {
		err = policy_get(db, p);
		store_reader_put(c->target.s, db);
	}
	if (!err && c->is_given)
		err = change_here(c, p);
	return err ? report_error(c->args, c->target.path, err, "%s", strerror(-err)) : EXIT_OK;
}

static int64_t number(const struct reply *r, const char *key)
{
	const char *s = reply_get(r, key);

	return s ? strtoll(s, NULL, 10) : 0;
}

static int run_live(struct policy_change *c, struct policy *p)
{
	auto_ctl_client struct ctl_client ctl = CTL_CLIENT_CLOSED;
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	int code = store_target_ctl(c->args, &c->target, &ctl);

	if (code)
		return code;
	line_begin(&req, "policy");
	keep_add(&req, c->args);
	if (args_has(c->args, "max-size"))
		line_number(&req, POLICY_MAX_SIZE, c->max_size);
	code = client_call(c->args, c->target.mount, &ctl, &req, &reply);
	if (code)
		return code;
	for (int k = 0; k < RETAIN_KINDS; k++)
		p->keep.count[k] = number(&reply, policy_keep_names[k]);
	p->keep.within = number(&reply, POLICY_WITHIN) * SECOND;
	p->max_size = number(&reply, POLICY_MAX_SIZE);
	return EXIT_OK;
}

static void print_json(const struct policy *p)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	for (int k = 0; k < RETAIN_KINDS; k++) {
		json_key(&j, policy_keep_names[k]);
		json_number(&j, p->keep.count[k]);
	}
	json_key(&j, POLICY_WITHIN);
	json_number(&j, p->keep.within / SECOND);
	json_key(&j, POLICY_MAX_SIZE);
	json_number(&j, p->max_size);
	json_close(&j, '}');
	json_print(&j);
}

static void print_people(const struct policy *p)
{
	auto_buf struct buf out = { 0 };

	for (int k = 0; k < RETAIN_KINDS; k++)
		if (p->keep.count[k])
			buf_printf(&out, "--%s %" PRId64 "\n", policy_keep_names[k],
				   p->keep.count[k]);
	for (char *s = out.s; s && *s; s++)
		if (*s == '_')
			*s = '-';
	if (p->keep.within)
		buf_printf(&out, "--keep-within %" PRId64 "s\n", p->keep.within / SECOND);
	if (p->max_size)
		buf_printf(&out, "--max-size %" PRId64 "\n", p->max_size);
	if (retention_is_empty(&p->keep))
		buf_str(&out, "gc keeps all history\n");
	fputs(out.s, stdout);
}

static int run(const struct args *a)
{
	struct policy_change c = { .args = a };
	struct policy p = { .max_size = 0 };
	int code = parse(&c);

	if (!code)
		code = store_target_open(a, a->rest[0], &c.target);
	if (!code)
		code = c.target.is_live ? run_live(&c, &p) : run_offline(&c, &p);
	store_target_close(&c.target);
	if (code)
		return code;
	if (args_has(a, "json"))
		print_json(&p);
	else
		print_people(&p);
	return EXIT_OK;
}

static const char *const usage[] = {
	"[--keep-last N] [--max-size BYTES] STORE|MOUNT",
	NULL,
};
static const struct option_spec options[] = {
	KEEP_OPTIONS,
	{ "max-size", 0, "BYTES",
	  "how large all blobs together may grow, such as 500G; 0: no limit" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_policy = {
	.name = "policy",
	.summary = "Show or set what gc keeps and how large the store may grow",
	.usage = usage,
	.about = "What is set here applies to each fence gc that is run without --keep options.\n"
		 "0 removes a rule. --max-size limits all blobs together: current ones,\n"
		 "history, and what gc has not removed yet. A write that would exceed it gets\n"
		 "ENOSPC; removing is always possible.",
	.examples = "fence policy --keep-last 20 --keep-within 90d --max-size 2T /mnt/shared\n"
		    "fence policy /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
