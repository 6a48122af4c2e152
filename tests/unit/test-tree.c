/* SPDX-License-Identifier: MIT */
/*
 * Random commits against a model that keeps the whole tree of every revision in memory. Everything
 * that can be asked about the tree must agree at every revision: lookup, listing, paths of
 * directories, times, history, version numbers, and whether a commit is refused.
 */
#include "scratch.h"

#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/fsck/fsck.h"
#include "store/sqlite/txn.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 96, REVS_MAX = 160, PATHS_MAX = 4096, PATH_LEN = 40, CHANGES_MAX = 2 * ROWS_MAX };

struct row {
	int64_t dir, child, ver, seq, mtime;
	enum entry_kind kind;
	uint32_t mode;
	char name[4];
};

struct tree {
	struct row row[ROWS_MAX]; /* row[0] is the root */
	int n;
};

struct fence_claim_made {
	char path[PATH_LEN];
	int64_t token;
};

struct model {
	struct tree rev[REVS_MAX];
	int n_revs;
	struct {
		char path[PATH_LEN];
		int64_t seq;
	} highest[PATHS_MAX]; /* highest version number ever seen at a path */
	int n_highest;
	struct fence_claim_made claim[REVS_MAX * 4];
	int n_claims;
	int64_t last_ver, last_new;
};

static unsigned int seed;

static int pick(int n)
{
	return rand_r(&seed) % n;
}

static struct row *row_of_dir(struct tree *t, int64_t child)
{
	for (int i = 0; i < t->n; i++) {
		if (t->row[i].child == child)
			return &t->row[i];
	}
	return NULL;
}

/* The directory that @dir lies in. */
static int64_t above(struct tree *t, int64_t dir)
{
	const struct row *r = row_of_dir(t, dir);

	return r ? r->dir : 1;
}

static struct row *find(struct tree *t, int64_t dir, const char *name)
{
	for (int i = 0; i < t->n; i++) {
		if (t->row[i].dir == dir && strcmp(t->row[i].name, name) == 0)
			return &t->row[i];
	}
	return NULL;
}

static void path_of(struct tree *t, const struct row *r, char *out)
{
	char parent[PATH_LEN];

	if (r->dir == 0) {
		strcpy(out, ".");
		return;
	}
	if (r->dir == 1) {
		strcpy(out, r->name);
		return;
	}
	path_of(t, row_of_dir(t, r->dir), parent);
	snprintf(out, PATH_LEN, "%.30s/%.3s", parent, r->name);
}

static int depth_of(struct tree *t, int64_t dir)
{
	int depth = 0;

	for (; dir != 1; dir = above(t, dir))
		depth++;
	return depth;
}

static bool is_in(struct tree *t, int64_t dir, int64_t top)
{
	for (; dir != 1; dir = above(t, dir)) {
		if (dir == top)
			return true;
	}
	return top == 1;
}

static void drop(struct tree *t, int i)
{
	int64_t child = t->row[i].child;

	t->row[i] = t->row[--t->n];
	for (int k = 0; child && k < t->n;) {
		if (t->row[k].dir == child) {
			drop(t, k);
			k = 0;
		} else {
			k++;
		}
	}
}

static int64_t random_dir(struct tree *t)
{
	for (;;) {
		const struct row *r = &t->row[pick(t->n)];

		if (r->child && depth_of(t, r->child) < 4)
			return r->child;
	}
}

static void random_name(char *out)
{
	static const char *const names[] = { "a", "b", "c", "a-", "\xfe" };

	strcpy(out, names[pick(5)]);
}

static void add(struct model *m, struct tree *t, int64_t dir, const char *name,
		enum entry_kind kind)
{
	struct row r = { .dir = dir, .ver = ++m->last_ver, .mtime = m->last_ver, .kind = kind };

	strcpy(r.name, name);
	r.mode = (uint32_t)pick(512);
	if (kind == ENTRY_DIR)
		r.child = --m->last_new;
	if (t->n < ROWS_MAX)
		t->row[t->n++] = r;
}

static void op_create(struct model *m, struct tree *t)
{
	int64_t dir = random_dir(t);
	char name[4];
	struct row *there;

	random_name(name);
	there = find(t, dir, name);
	if (there && there->kind == ENTRY_DIR && pick(3))
		return;
	if (there)
		drop(t, (int)(there - t->row));
	/* What it lay in may have been dropped with nothing else: only whole directories are. */
	add(m, t, dir, name, pick(2) ? ENTRY_DIR : pick(4) ? ENTRY_FILE : ENTRY_SYMLINK);
}

static void op_move(struct model *m, struct tree *t)
{
	int from = pick(t->n);
	struct row r = t->row[from];
	int64_t dir = random_dir(t);
	char name[4];
	struct row *there;

	random_name(name);
	there = find(t, dir, name);
	if (from == 0 || (r.child && is_in(t, dir, r.child)) ||
	    (there && is_in(t, r.dir, there->child)) || there == &t->row[from])
		return;
	if (there)
		drop(t, (int)(there - t->row));
	there = find(t, r.dir, r.name);
	if (!there)
		return;
	there->dir = dir;
	strcpy(there->name, name);
	there->ver = ++m->last_ver;
}

static void op_chmod(struct model *m, struct tree *t)
{
	struct row *r = &t->row[pick(t->n)];

	r->mode = (uint32_t)pick(512);
	r->ver = ++m->last_ver;
	r->mtime = r->ver;
}

static void random_ops(struct model *m, struct tree *t)
{
	for (int n = 1 + pick(6); n > 0; n--) {
		int what = pick(10);

		if (what < 5)
			op_create(m, t);
		else if (what < 7)
			op_move(m, t);
		else if (what < 8)
			op_chmod(m, t);
		else if (t->n > 1)
			drop(t, 1 + pick(t->n - 1));
	}
}

/* The commit that leads from one tree to another. */
struct compiled {
	struct change change[CHANGES_MAX];
	char path[CHANGES_MAX][PATH_LEN];
	bool carries[CHANGES_MAX]; /* a directory leaves or arrives: what is beneath counts */
	size_t n;
};

static void emit(struct compiled *c, struct change change, const char *path, bool carries)
{
	strcpy(c->path[c->n], path);
	c->carries[c->n] = carries;
	change.path = c->path[c->n];
	c->change[c->n++] = change;
}

static void compile_removals(struct tree *from, struct tree *to, struct compiled *c)
{
	for (int i = 1; i < from->n; i++) {
		const struct row *r = &from->row[i];
		char path[PATH_LEN];

		if (find(to, r->dir, r->name))
			continue;
		path_of(from, r, path);
		emit(c, (struct change)REMOVE_AT(r->dir, r->name, NULL), path, r->child != 0);
	}
}

static void compile_births(struct tree *from, struct tree *to, int depth, struct compiled *c)
{
	for (int i = 0; i < to->n; i++) {
		const struct row *r = &to->row[i];
		const struct row *old = find(from, r->dir, r->name);
		struct change change = {
			.dir = r->dir, .name = r->name, .mode = r->mode, .mtime = r->mtime
		};
		bool arrives = r->child > 0 && !(old && old->child == r->child);
		bool leaves = old && old->child && old->child != r->child;
		char path[PATH_LEN];

		if ((old && old->ver == r->ver) || (r->dir ? depth_of(to, r->dir) : 0) != depth)
			continue;
		change.kind = r->kind == ENTRY_DIR  ? CHANGE_DIR :
			      r->kind == ENTRY_FILE ? CHANGE_FILE :
						      CHANGE_SYMLINK;
		change.child = r->child;
		change.target = "t";
		path_of(to, r, path);
		emit(c, change, path, arrives || leaves);
	}
}

/* Parents before what is in them; otherwise in no order. */
static void compile(struct tree *from, struct tree *to, struct compiled *c)
{
	c->n = 0;
	if (pick(2))
		compile_removals(from, to, c);
	for (int depth = 0; depth < 12; depth++)
		compile_births(from, to, depth, c);
	if (c->n == 0 || c->change[0].kind != CHANGE_REMOVE)
		compile_removals(from, to, c);
}

static bool covers(const char *top, const char *path)
{
	size_t len = strlen(top);

	return strcmp(top, ".") == 0 ||
	       (strncmp(top, path, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* P1, as the design states it, over every claim ever accepted. */
static bool model_allows(const struct model *m, const struct compiled *c, int64_t token)
{
	for (size_t i = 0; i < c->n; i++) {
		for (int k = 0; k < m->n_claims; k++) {
			const struct fence_claim_made *f = &m->claim[k];

			if (f->token <= token)
				continue;
			if (covers(f->path, c->path[i]) ||
			    (c->carries[i] && covers(c->path[i], f->path)))
				return false;
		}
	}
	for (int k = 0; k < m->n_claims; k++) {
		if (strcmp(m->claim[k].path, ".") == 0 && m->claim[k].token > token)
			return false;
	}
	return true;
}

static int64_t *highest_seq(struct model *m, const char *path)
{
	for (int i = 0; i < m->n_highest; i++) {
		if (strcmp(m->highest[i].path, path) == 0)
			return &m->highest[i].seq;
	}
	assert_true(m->n_highest < PATHS_MAX);
	strcpy(m->highest[m->n_highest].path, path);
	m->highest[m->n_highest].seq = 0;
	return &m->highest[m->n_highest++].seq;
}

static void renumber(struct tree *to, int64_t old, int64_t new)
{
	for (int i = 0; i < to->n; i++) {
		if (to->row[i].dir == old)
			to->row[i].dir = new;
		if (to->row[i].child == old)
			to->row[i].child = new;
	}
}

/* Ids that the store gave to new directories. */
static void adopt_ids(struct scratch *t, struct tree *to)
{
	for (int i = 0; i < to->n; i++) {
		char path[PATH_LEN];
		struct entry e;

		if (to->row[i].child >= 0)
			continue;
		path_of(to, &to->row[i], path);
		assert_int_equal(entry_resolve(t->db, path, ENTRY_NOW, &e), 0);
		renumber(to, to->row[i].child, e.child);
	}
}

/*
 * Names that come, go or stand for something else set the time of their directory, unless that has
 * a new version itself.
 */
static void touch_dirs(struct tree *from, struct tree *to, int64_t now)
{
	for (int i = 0; i < to->n; i++) {
		struct row *d = &to->row[i];
		const struct row *before = d->child > 0 ? row_of_dir(from, d->child) : NULL;
		bool changed = false;

		if (!before || before->ver != d->ver)
			continue;
		for (int k = 0; k < from->n; k++) {
			const struct row *r = &from->row[k];
			const struct row *after = find(to, r->dir, r->name);

			changed |= r->dir == d->child &&
				   (!after || after->kind != r->kind || after->child != r->child);
		}
		for (int k = 0; k < to->n; k++)
			changed |= to->row[k].dir == d->child &&
				   !find(from, d->child, to->row[k].name);
		if (changed)
			d->mtime = now;
	}
}

static void number_versions(struct model *m, struct tree *from, struct tree *to)
{
	char path[PATH_LEN];

	for (int i = 0; i < to->n; i++) {
		struct row *r = &to->row[i];
		const struct row *old = find(from, r->dir, r->name);

		path_of(to, r, path);
		if (!old || old->ver != r->ver)
			r->seq = *highest_seq(m, path) + 1;
	}
	for (int i = 0; i < to->n; i++) {
		path_of(to, &to->row[i], path);
		if (to->row[i].seq > *highest_seq(m, path))
			*highest_seq(m, path) = to->row[i].seq;
	}
}

static void random_path(struct tree *t, char *out)
{
	char name[4];

	path_of(t, &t->row[pick(t->n)], out);
	if (pick(3))
		return;
	random_name(name);
	if (strcmp(out, ".") == 0)
		strcpy(out, name);
	else if (strlen(out) < 24)
		sprintf(out + strlen(out), "/%s", name);
}

static void random_claim(struct scratch *t, struct model *m)
{
	struct fence_claim_made *f = &m->claim[m->n_claims];
	struct refusal r;
	bool accepted = true;

	random_path(&m->rev[m->n_revs - 1], f->path);
	f->token = pick(40) + m->n_revs / 4;
	for (int k = 0; k < m->n_claims; k++)
		accepted &= m->claim[k].token <= f->token || !covers(m->claim[k].path, f->path);
	assert_int_equal(fence_claim(t->db, f->path, f->token, "o", 1, &r), accepted ? 0 : -ESTALE);
	m->n_claims += accepted;
}

static void random_commit(struct scratch *t, struct model *m)
{
	static struct compiled c;
	struct tree *from = &m->rev[m->n_revs - 1], *to = &m->rev[m->n_revs];
	int64_t token = pick(60) + m->n_revs / 4;
	struct commit_result out;
	int err;

	*to = *from;
	random_ops(m, to);
	compile(from, to, &c);
	err = scratch_commit(t, token, c.change, c.n, &out);
	if (!model_allows(m, &c, token)) {
		assert_int_equal(err, -ESTALE);
		assert_true(out.refusal.highest > token);
		return;
	}
	if (err)
		fail_msg("%d %s", err, out.refusal.text);
	assert_int_equal(out.changed, c.n);
	if (c.n == 0)
		return;
	assert_int_equal(out.revision, m->n_revs);
	touch_dirs(from, to, 1000);
	number_versions(m, from, to);
	adopt_ids(t, to);
	m->n_revs++;
}

static void check_row(struct scratch *t, struct tree *tree, const struct row *r, int64_t rev)
{
	char path[PATH_LEN], dir_path[FENCE_PATH_MAX + 1];
	struct entry e;

	path_of(tree, r, path);
	assert_int_equal(entry_resolve(t->db, path, rev, &e), 0);
	assert_int_equal(e.kind, r->kind);
	assert_int_equal(e.mode, r->mode);
	assert_int_equal(e.child, r->child);
	assert_int_equal(e.seq, r->seq);
	assert_int_equal(e.mtime, r->mtime);
	assert_int_equal(entry_lookup(t->db, r->dir, r->name, rev, &e), 0);
	if (!r->child)
		return;
	assert_int_equal(entry_path(t->db, r->child, rev, dir_path), 0);
	assert_string_equal(dir_path, path);
	assert_int_equal(entry_by_child(t->db, r->child, rev, &e), 0);
	assert_string_equal(e.name, r->name);
	assert_int_equal(e.mtime, r->mtime);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static void check_list(struct scratch *t, struct tree *tree, int64_t dir, int64_t rev)
{
	struct row want[ROWS_MAX];
	struct entry got[2];
	char after[FENCE_NAME_MAX + 1] = "";
	int n = 0, at = 0, k;

	for (int i = 0; i < tree->n; i++) {
		if (tree->row[i].dir == dir)
			want[n++] = tree->row[i];
	}
	qsort(want, (size_t)n, sizeof(*want), by_name);
	assert_int_equal(entry_has_children(t->db, dir, rev), n > 0);
	while ((k = entry_list(t->db, dir, rev, after, got, 2)) > 0) {
		for (int i = 0; i < k; i++, at++) {
			assert_true(at < n);
			assert_string_equal(got[i].name, want[at].name);
			assert_int_equal(got[i].seq, want[at].seq);
			assert_int_equal(got[i].mtime, want[at].mtime);
		}
		strcpy(after, got[k - 1].name);
	}
	assert_int_equal(k, 0);
	assert_int_equal(at, n);
}

static struct row *model_resolve(struct tree *tree, const char *path)
{
	for (int i = 0; i < tree->n; i++) {
		char p[PATH_LEN];

		path_of(tree, &tree->row[i], p);
		if (strcmp(p, path) == 0)
			return &tree->row[i];
	}
	return NULL;
}

static void check_revision(struct scratch *t, struct model *m, int rev, int64_t ask)
{
	struct tree *tree = &m->rev[rev];

	for (int i = 0; i < tree->n; i++) {
		check_row(t, tree, &tree->row[i], ask);
		if (tree->row[i].child)
			check_list(t, tree, tree->row[i].child, ask);
	}
	for (int i = 0; i < 10; i++) {
		const char *path = m->highest[pick(m->n_highest)].path;
		struct entry e;
		int err = entry_resolve(t->db, path, ask, &e);

		if (model_resolve(tree, path))
			assert_int_equal(err, 0);
		else
			assert_true(err == -ENOENT || err == -ENOTDIR);
	}
}

struct seen {
	int64_t seq[REVS_MAX], mtime[REVS_MAX];
	int n;
};

static int note(void *arg, const struct entry *e)
{
	struct seen *s = arg;

	s->seq[s->n++] = e->seq;
	return 0;
}

/* Distinct versions, by the last time that each was seen. */
static void check_history(struct scratch *t, struct model *m, const char *path)
{
	struct seen got = { .n = 0 };
	int64_t vers[REVS_MAX], seqs[REVS_MAX];
	int n = 0;

	for (int rev = m->n_revs - 1; rev >= 0; rev--) {
		const struct row *r = model_resolve(&m->rev[rev], path);
		bool known = false;

		for (int i = 0; r && i < n; i++)
			known |= vers[i] == r->ver;
		if (!r || known)
			continue;
		vers[n] = r->ver;
		seqs[n++] = r->seq;
	}
	assert_int_equal(entry_history(t->db, path, note, &got), 0);
	assert_int_equal(got.n, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(got.seq[i], seqs[i]);
	for (int i = 0; i < n; i++) {
		struct entry e;

		assert_int_equal(entry_version(t->db, path, seqs[i], &e), 0);
		assert_int_equal(e.seq, seqs[i]);
	}
}

static void check_all(struct scratch *t, struct model *m)
{
	check_revision(t, m, m->n_revs - 1, ENTRY_NOW);
	for (int rev = 0; rev < m->n_revs; rev++)
		check_revision(t, m, rev, rev);
	for (int i = 0; i < m->n_highest; i++)
		check_history(t, m, m->highest[i].path);
}

static void start(struct scratch *t, struct model *m)
{
	struct entry root;

	assert_int_equal(entry_resolve(t->db, ".", ENTRY_NOW, &root), 0);
	memset(m, 0, sizeof(*m));
	m->n_revs = 1;
	m->rev[0].n = 1;
	m->rev[0].row[0] = (struct row){
		.child = 1, .seq = 1, .kind = ENTRY_DIR, .mode = 0755, .mtime = root.mtime
	};
	*highest_seq(m, ".") = 1;
}

static int found(void *arg, const struct fsck_finding *x)
{
	(void)arg;
	if (x->rule ==
	    FSCK_FENCE_LOW) /* these commits come without the claim that a session makes */
		return 0;
	fail_msg("fsck: %s: %s: %s", fsck_rule_name(x->rule), x->path, x->what);
	return 0;
}

static void check_is_clean(struct scratch *t)
{
	struct fsck_options opt = { .fn = found };
	struct fsck *f;

	assert_int_equal(fsck_open(t->s, &opt, &f), 0);
	assert_int_equal(fsck_structure(f), 0);
	fsck_close(f);
}

static void agrees_with_the_model(void **state)
{
	const char *rounds = getenv("FENCE_TEST_ROUNDS");
	struct model *m = malloc(sizeof(*m));
	void *inner = NULL;

	(void)state;
	for (unsigned int round = 0; round < (unsigned int)(rounds ? atoi(rounds) : 3); round++) {
		struct scratch *t;

		seed = round;
		scratch_txn(&inner);
		t = inner;
		start(t, m);
		for (int i = 0; i < 400 && m->n_revs < REVS_MAX - 1; i++) {
			if (pick(4) == 0)
				random_claim(t, m);
			else
				random_commit(t, m);
			if (pick(10) == 0)
				check_revision(t, m, m->n_revs - 1, ENTRY_NOW);
		}
		assert_true(m->n_revs > 50);
		check_all(t, m);
		assert_int_equal(txn_commit(t->db), 0);
		scratch_reopen(t);
		check_all(t, m);
		check_is_clean(t);
		scratch_remove(&inner);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_model),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
