/* SPDX-License-Identifier: MIT */
/* See publish_put.h. Core layer. */
#include "core/publish/publish_put.h"

#include "base/io.h"
#include "core/service/core_impl.h"
#include "core/session/overlay.h"
#include "core/access/past_mode.h"
#include "core/publish/claim.h"
#include "core/access/permission.h"
#include "core/publish/refuse.h"
#include "core/publish/record_event.h"
#include "store/tree/policy.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct publish *publish_of(struct job *j)
{
	return (struct publish *)(void *)j;
}

static void drop_changes(struct publish *p)
{
	struct xattr_set x = { .n = p->n_xattrs, .v = p->xattrs };

	for (size_t i = 0; i < p->n_changes; i++)
		free((void *)(uintptr_t)p->changes[i].path);
	free(p->changes);
	free(p->target);
	p->target = NULL;
	xattr_set_fini(&x);
	p->changes = NULL;
	p->xattrs = NULL;
	p->n_changes = 0;
	p->n_xattrs = 0;
}

void publish_free(struct publish *p)
{
	drop_changes(p);
	sealed_fini(&p->sealed);
	free(p);
}

static int refuse(struct publish *p, int err, const char *path, const char *text)
{
	struct refusal *r = &p->result.refusal;

	r->err = -err;
	r->token = p->token;
	r->highest = -1;
	strcpy(r->path, path);
	snprintf(r->text, sizeof(r->text), "%s", text);
	return err;
}

static struct change *add_change(struct publish *p, const char *path)
{
	struct change *ch, *grown = reallocarray(p->changes, p->n_changes + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	p->changes = grown;
	ch = &grown[p->n_changes];
	*ch = (struct change){ .path = strdup(path) };
	if (!ch->path)
		return NULL;
	p->n_changes++;
	ch->name = strrchr(ch->path, '/') ? strrchr(ch->path, '/') + 1 : ch->path;
	ch->uid = p->who.uid;
	ch->gid = p->who.gid;
	ch->mtime = io_now_ns();
	return ch;
}

/* One directory above the path: the one that is there, or one to be made. */
static int parent_step(struct publish *p, struct db *db, const char *path, const char *name,
		       int64_t *dir, uint32_t *sgid)
{
	struct change *ch;
	struct entry e;
	int err = *dir > 0 ? entry_lookup(db, *dir, name, ENTRY_NOW, &e) : -ENOENT;

	if (!err && e.kind != ENTRY_DIR)
		return refuse(p, -ENOTDIR, path, "a part of this path is not a directory");
	if (!err) {
		*dir = e.child;
		*sgid = e.mode & S_ISGID ? e.gid : UINT32_MAX;
		return 0;
	}
	if (err != -ENOENT)
		return err;
	if (!p->parents)
		return refuse(p, -ENOENT, path, "this directory is missing; parents=1 makes it");
	ch = add_change(p, path);
	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_DIR;
	ch->implied = true;
	ch->dir = *dir;
	ch->child = -(int64_t)p->n_changes;
	ch->mode = 0755;
	if (*sgid != UINT32_MAX) {
		ch->gid = *sgid;
		ch->mode |= S_ISGID;
	}
	*dir = ch->child;
	return 0;
}

static int walk_parents(struct publish *p, struct db *db, int64_t *out_dir, uint32_t *out_sgid)
{
	int64_t dir = STORE_ROOT_DIR;
	uint32_t sgid = UINT32_MAX;
	char path[FENCE_PATH_MAX + 1];
	struct entry root;
	int err = entry_by_child(db, STORE_ROOT_DIR, ENTRY_NOW, &root);

	if (!err && (root.mode & S_ISGID))
		sgid = root.gid;
	strcpy(path, p->path);
	for (char *at = path, *slash; !err && (slash = strchr(at, '/')); at = slash + 1) {
		*slash = '\0';
		err = parent_step(p, db, path, at, &dir, &sgid);
		*slash = '/';
	}
	if (err < 0)
		return err;
	*out_dir = dir;
	*out_sgid = sgid;
	return 0;
}

static int keep_xattr(void *arg, const char *name, const void *value, size_t len)
{
	return xattr_set_put(arg, name, value, len);
}

/* As writing in place would: owner, mode and attributes of what is replaced stay. */
static int keep_attributes(struct publish *p, struct db *db, const struct entry *e,
			   struct change *ch)
{
	struct xattr_set x = { 0 };
	int err = entry_xattr_each(db, e->row, keep_xattr, &x);

	p->xattrs = x.v;
	p->n_xattrs = x.n;
	ch->xattrs = x.v;
	ch->n_xattrs = (size_t)x.n;
	ch->mode = e->mode;
	ch->uid = e->uid;
	ch->gid = e->gid;
	if (p->who.uid != 0)
		ch->mode &= ~(uint32_t)(S_ISUID | S_ISGID);
	return err;
}

static int build_put(struct publish *p, struct db *db, int64_t dir, uint32_t sgid)
{
	struct change *ch = add_change(p, p->path);
	struct entry e;
	int err;

	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_FILE;
	ch->dir = dir;
	ch->mode = 0644;
	if (sgid != UINT32_MAX)
		ch->gid = sgid;
	ch->size = p->sealed.size;
	ch->has_blob = !p->sealed.empty;
	ch->blob = p->sealed.id;
	err = dir > 0 ? entry_lookup(db, dir, ch->name, ENTRY_NOW, &e) : -ENOENT;
	if (!err && e.kind == ENTRY_DIR)
		return refuse(p, -EISDIR, p->path, "a directory is there; put writes files");
	if (!err && e.kind == ENTRY_FILE)
		err = keep_attributes(p, db, &e, ch);
	if (err < 0 && err != -ENOENT)
		return err;
	if (p->has_mode && !err && e.kind == ENTRY_FILE && p->who.uid != 0 && p->who.uid != e.uid)
		return refuse(p, -EPERM, p->path, "only the file's owner may set its mode");
	if (p->has_mode)
		ch->mode = p->mode;
	/* As chmod(2) does. */
	if (p->who.uid != 0 && !permission_in_group(&p->who, ch->gid))
		ch->mode &= ~(uint32_t)S_ISGID;
	return 0;
}

static int restored_version(struct publish *p, struct db *db, struct entry *out)
{
	struct entry access;
	int err = entry_version(db, p->path, p->version, out);

	if (err == -ENOENT)
		return refuse(p, -ENOENT, p->path,
			      "this path has no such version, or gc has removed it");
	if (err < 0)
		return err;
	if (out->kind == ENTRY_DIR)
		return refuse(
			p, -EISDIR, p->path,
			"this version is a directory; a directory of the past is in .fence/at");
	err = past_mode(db, ENTRY_NOW, out, &access);
	if (err < 0)
		return err;
	if (!(permission_bits(&p->who, access.mode, access.uid, access.gid) & 04))
		return refuse(p, -EACCES, p->path, "no read permission on this version");
	return 0;
}

/*
 * A new version with old content: the blob is shared, nothing is copied. Owner and mode are those
 * of what is there now.
 */
static int build_restore(struct publish *p, struct db *db, int64_t dir, uint32_t sgid)
{
	struct change *ch;
	struct entry old;
	int err = restored_version(p, db, &old);

	if (!err)
		err = build_put(p, db, dir, sgid);
	if (err < 0)
		return err;
	ch = &p->changes[p->n_changes - 1];
	ch->size = old.size;
	ch->has_blob = old.has_blob;
	ch->blob = old.blob;
	if (old.kind == ENTRY_SYMLINK) {
		ch->kind = CHANGE_SYMLINK;
		err = entry_target(db, old.row, &p->target);
		ch->target = p->target;
	}
	if (!err && old.has_blob)
		err = garbage_unmark(db, &old.blob);
	return err;
}

static int build_remove(struct publish *p, struct db *db, int64_t dir)
{
	struct change *ch = add_change(p, p->path);
	struct entry e;
	int err;

	if (!ch)
		return -ENOMEM;
	ch->kind = CHANGE_REMOVE;
	ch->dir = dir;
	err = entry_lookup(db, dir, ch->name, ENTRY_NOW, &e);
	if (err == -ENOENT)
		return refuse(p, -ENOENT, p->path, "there is nothing at this path");
	return err;
}

static int build(struct publish *p, struct db *db)
{
	int64_t dir;
	uint32_t sgid;
	int err = walk_parents(p, db, &dir, &sgid);

	if (err < 0)
		return err;
	if (p->remove)
		return build_remove(p, db, dir);
	return p->restore ? build_restore(p, db, dir, sgid) : build_put(p, db, dir, sgid);
}

/*
 * An op that was done before is answered before anything is looked at: its path may be gone by now.
 */
static int done_before(struct publish *p, struct db *db)
{
	struct revision *rev;
	int err;

	if (!p->op[0])
		return 0;
	rev = malloc(sizeof(*rev));
	if (!rev)
		return -ENOMEM;
	err = revision_by_op(db, p->path, p->op, rev);
	if (!err) {
		p->result.revision = rev->revision;
		p->result.changed = rev->changed;
		p->result.replayed = true;
	}
	free(rev);
	return err == -ENOENT ? 0 : err;
}

static int commit_changes(struct publish *p, struct db *db)
{
	struct commit_request req = {
		.changes = p->changes,
		.n_changes = p->n_changes,
		.expects = &p->expect,
		.n_expects = p->has_expect,
		.path = p->path,
		.token = p->token,
		.owner = p->owner,
		.op = p->op[0] ? p->op : NULL,
		.seq = -1,
		.once = p->once,
		.now_ns = p->claimed_at,
	};

	int err = change_commit(db, &req, &p->result);

	if (!err && p->result.replayed)
		return 0;
	return err ? err : record_commit(db, &req, &p->result, p->who.uid);
}

static int claim(struct publish *p, struct db *db)
{
	struct claim m = { .path = p->path,
			   .owner = p->owner,
			   .token = p->token,
			   .who = &p->who,
			   .allowed = p->remove ? claim_to_remove : claim_to_write,
			   .why = &p->result.refusal };
	int err = claim_raise(&m, db);

	p->claimed_at = m.at;
	return err;
}

static int publish_apply(struct job *j, struct db *db)
{
	struct publish *p = publish_of(j);
	int err;

	drop_changes(p);
	memset(&p->result, 0, sizeof(p->result));
	err = done_before(p, db);
	if (!err && p->result.replayed)
		return -EALREADY;
	if (!err)
		err = claim(p, db);
	if (!err)
		err = build(p, db);
	if (!err && !p->remove)
		err = sealed_record(db, &p->sealed);
	if (!err)
		err = commit_changes(p, db);
	if (!err && p->result.replayed)
		return -EALREADY;
	if (!err && !p->remove && !p->restore && !p->sealed.empty)
		err = quota_check(db);
	return err;
}

static int publish_record(struct job *j, struct db *db)
{
	struct publish *p = publish_of(j);
	struct refused_write w = {
		.why = &p->result.refusal,
		.path = p->path,
		.owner = p->owner,
		.op = p->op,
		.stage = p->remove  ? "remove" :
			 p->restore ? "restore" :
				      "put",
		.token = p->token,
		.uid = p->who.uid,
	};
	struct change only = {
		.kind = CHANGE_FILE, .path = p->path, .has_blob = true, .blob = p->sealed.id
	};
	struct change_list list = { .v = &only, .n = 1 };
	struct sealed_set set = { .v = &p->sealed, .n = p->remove || p->restore ? 0 : 1 };

	if (!p->result.refusal.err || j->err == -EALREADY)
		return 0;
	return refuse_record(db, &w, &set, &list);
}

static void count(struct core *c, const struct publish *p, int err)
{
	enum commit_verb verb = p->remove  ? COMMIT_VERB_REMOVE :
				p->restore ? COMMIT_VERB_RESTORE :
					     COMMIT_VERB_PUT;

	metrics_commit(&c->metrics, verb, err, p->result.replayed, p->result.changed, p->begun);
}

static void finish(struct core *c, struct publish *p, int err)
{
	bool unused = err == -EALREADY || (err && !p->result.refusal.err && err != -EREMOTEIO);

	if (unused && p->sealed.moved)
		blob_remove(c->store, &p->sealed.id);
	if (p->staged && !p->sealed.moved)
		staging_remove(c->store, &p->staged_id);
	if (err == -EALREADY)
		err = 0;
	count(c, p, err);
	p->done(p, err);
	busy_end(&c->busy);
}

static void failed(void *arg)
{
	struct publish *p = arg;

	finish(p->c, p, p->err);
}

static void publish_done(struct job *j)
{
	finish(publish_of(j)->c, publish_of(j), j->err);
}

static const struct job_ops publish_job = {
	.apply = publish_apply,
	.record = publish_record,
	.done = publish_done,
};

/* Nobody but us ever had the staging file of a put open. */
static void seal_large(struct work *w)
{
	struct publish *p = (struct publish *)(void *)((char *)w - offsetof(struct publish, work));
	struct core *c = p->c;
	int err = seal_file(c, &p->staged_id, false, false, &p->sealed, &p->dirs);

	if (!err)
		err = blob_sync_dirs(c->store, &p->dirs);
	if (err < 0) {
		p->err = err == -ENOSPC || err == -EDQUOT ? err : -EIO;
		notifier_call(&c->notifier, failed, p);
	} else {
		committer_submit(&c->committer, &p->job);
	}
}

int publish_submit(struct core *c, struct publish *p)
{
	int err = busy_begin(&c->busy);

	if (err < 0)
		return err;
	p->c = c;
	p->begun = io_boot_ns();
	p->job.ops = &publish_job;
	if (p->staged) {
		p->work.run = seal_large;
		pool_submit(&c->pool, &p->work);
	} else {
		committer_submit(&c->committer, &p->job);
	}
	return 0;
}
