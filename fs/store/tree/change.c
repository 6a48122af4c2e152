/* SPDX-License-Identifier: MIT */
/*
 * One commit, from its request to its revision: the order of its checks. Layer: store.
 *
 * Commits and claims run one after the other on the writing connection, each in its own savepoint,
 * many in one durable transaction. What interleaves is everything around them: sessions read, stage
 * and decide at revisions that are long past when their commit arrives here. Therefore nothing that
 * a session saw is taken for true; every check below reads the tree as it is now:
 *
 *  - A claims 5, B claims 6 on the same path, B commits, then A: A's token meets B's row (P1). If A
 *    commits between B's claim and B's commit, it is refused just the same: the claim alone shuts
 *    it out.
 *  - A commits, B claims, A's reply is lost, A tries again with its op: the op is looked up first,
 *    so A learns that its commit took place although its token is stale by now.
 *  - A claims 5 on reports, B claims 6 on reports/x, A commits reports/x and reports/y: refused
 *    whole, for x (P3).
 *  - A removes or moves reports/old while B holds a higher fence beneath it: refused by B's row;
 *    while B (at the same token) has put a file in it:
 *    refused as not empty.
 *  - A has a file in reports/d changed; B moves reports/d to reports/e and commits; A commits: the
 *    directory is no longer at the path that A's change says, so A is refused, and its content does
 *    not turn up at reports/e.
 *  - Two commits in one transaction: the second one sees all of the first, and if it is refused,
 *    its savepoint takes back only its own.
 */
#include "store/tree/change.h"
#include "store/tree/change_plan.h"
#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/fence/refusal_fill.h"
#include "store/tree/revision.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has_op(const struct commit_request *req)
{
	return req->op && req->op[0];
}

/* What could not be read back must not be written. */
static int check_request(const struct commit_request *req)
{
	if (req->token < 0)
		return -ERANGE;
	if (strlen(req->owner) > OWNER_MAX || (req->op && strlen(req->op) > OWNER_MAX))
		return -EINVAL;
	for (size_t i = 0; i < req->n_expects; i++) {
		if (strlen(req->expects[i].path) > FENCE_PATH_MAX)
			return -ENAMETOOLONG;
	}
	return strlen(req->path) > FENCE_PATH_MAX ? -ENAMETOOLONG : 0;
}

static void replay(struct commit_result *out, const struct revision *r)
{
	out->revision = r->revision;
	out->changed = r->changed;
	out->replayed = true;
}

/* 1: an earlier commit with the same op is the answer. */
static int check_op(struct db *db, const struct commit_request *req, struct commit_result *out)
{
	struct revision r;
	int err;

	if (!has_op(req))
		return 0;
	err = revision_by_op(db, req->path, req->op, &r);
	if (err)
		return err == -ENOENT ? 0 : err;
	replay(out, &r);
	return 1;
}

static int check_token(struct db *db, const struct commit_request *req, struct commit_result *out)
{
	struct fence_row highest;
	int err = fence_highest(db, req->path, &highest);

	if (err)
		return err;
	if (req->token < highest.token)
		return refusal_stale(&out->refusal, req->path, req->token, &highest);
	return 0;
}

/* 1: this ownership has written already. */
static int check_once(struct db *db, const struct commit_request *req, struct commit_result *out)
{
	struct revision r;
	struct entry e;
	int err;

	if (!req->once)
		return 0;
	err = revision_once(db, req->path, req->token, &r);
	if (err == -ENOENT) {
		err = entry_resolve(db, req->path, ENTRY_NOW, &e);
		if (err == -ENOENT || err == -ENOTDIR || (!err && e.token != req->token))
			return 0;
		/* The root's first entry carries token 0 and was nobody's write. */
		if (!err && e.born == 0)
			return 0;
		if (!err)
			err = revision_get(db, e.born, &r);
	}
	if (err)
		return err;
	replay(out, &r);
	return 1;
}

static int check_seq(struct db *db, const struct commit_request *req, struct commit_result *out)
{
	int err;

	if (req->seq < 0)
		return 0;
	/*
	 * The row may have been dropped under an equal one above; claiming again changes nothing
	 * but that.
	 */
	err = fence_claim(db, req->path, req->token, req->owner, req->now_ns, &out->refusal);
	if (err)
		return err;
	return fence_advance_seq(db, req->path, req->token, req->seq, &out->refusal);
}

static int record(struct db *db, const struct commit_request *req, const struct plan *p)
{
	struct revision r = {
		.revision = p->revision,
		.at = req->now_ns,
		.token = req->token,
		.changed = p->changed,
	};

	snprintf(r.path, sizeof(r.path), "%s", req->path);
	snprintf(r.owner, sizeof(r.owner), "%s", req->owner);
	snprintf(r.op, sizeof(r.op), "%s", has_op(req) ? req->op : "");
	snprintf(r.session, sizeof(r.session), "%s", req->session ? req->session : "");
	return revision_add(db, &r, req->once);
}

static int run(struct plan *p, struct commit_result *out)
{
	int64_t current = 0;
	int err = change_check_expects(p);

	if (!err)
		err = plan_build(p);
	if (!err)
		err = change_check_fences(p);
	if (!err)
		err = change_verify_before(p);
	if (!err)
		err = revision_current(p->db, &current);
	if (err)
		return err;
	p->revision = current + 1;
	out->revision = current;
	if (p->changed == 0 && !has_op(p->req))
		return 0;
	err = change_apply(p);
	if (!err)
		err = change_verify_after(p);
	if (!err)
		err = record(p->db, p->req, p);
	if (!err)
		err = change_tell(p);
	out->revision = p->revision;
	out->changed = p->changed;
	out->dirs_moved = p->dirs_moved;
	return err;
}

int change_commit(struct db *db, const struct commit_request *req, struct commit_result *out)
{
	struct plan plan = { .db = db, .req = req, .refusal = &out->refusal };
	int res;

	*out = (struct commit_result){ .refusal.err = 0 };
	res = check_request(req);
	if (!res)
		res = check_op(db, req, out);
	if (!res)
		res = check_token(db, req, out);
	if (!res)
		res = check_once(db, req, out);
	if (res)
		return res > 0 ? 0 : res;
	res = check_seq(db, req, out);
	if (!res)
		res = run(&plan, out);
	plan_fini(&plan);
	return res;
}
