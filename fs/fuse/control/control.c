/* SPDX-License-Identifier: MIT */
/* The control tree. Layer: fuse. */
#include "fuse/control/control.h"

#include "base/cleanup.h"
#include "core/publish/salvage.h"
#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/ops/attr.h"
#include "fuse/control/control_past.h"
#include "fuse/control/report_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Above every st_ino that a store gives out. */
#define CONTROL_INO   (UINT64_C(1) << 62)
#define VERSIONS_NAME "versions"
#define STREAM_MODE   0666
#define REPORT_MODE   0444

struct control_node {
	const char *name;
	uint32_t mode;
	int (*lookup)(struct fs *fs, const char *name, struct fuse_entry_param *out);
	int (*next)(struct fs *fs, struct control_listing *l, int64_t off, struct named_node *out,
		    int64_t *out_next);
};

static int root_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out);
static int root_next(struct fs *fs, struct control_listing *l, int64_t off, struct named_node *out,
		     int64_t *out_next);
static int sessions_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out);
static int sessions_next(struct fs *fs, struct control_listing *l, int64_t off,
			 struct named_node *out, int64_t *out_next);
static int rejects_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out);
static int rejects_next(struct fs *fs, struct control_listing *l, int64_t off,
			struct named_node *out, int64_t *out_next);

/* 0711: whoever knows an id may go on, only root may see which there are. */
static const struct control_node nodes[] = {
	[CONTROL_ROOT] = { CONTROL_ROOT_NAME, 0755, root_lookup, root_next },
	[CONTROL_SESSIONS] = { "sessions", 0711, sessions_lookup, sessions_next },
	[CONTROL_AT] = { "at", 0755, at_lookup, at_next },
	[CONTROL_REJECTS] = { "rejects", 0711, rejects_lookup, rejects_next },
};

#define N_NODES ((int)(sizeof(nodes) / sizeof(nodes[0])))

static const struct control_node *node_of(int id)
{
	return id >= CONTROL_ROOT && id < N_NODES ? &nodes[id] : NULL;
}

void control_fill(struct fs *fs, enum entry_kind kind, uint32_t mode, uint64_t nodeid,
		  struct node *out)
{
	*out = (struct node){ .ino = CONTROL_INO | nodeid,
			      .kind = kind,
			      .mode = mode,
			      .uid = fs->uid,
			      .gid = fs->gid,
			      .mtime = fs->started,
			      .ctime = fs->started,
			      .cacheable = true };
}

int control_attr(struct fs *fs, int id, struct node *out)
{
	const struct control_node *c = node_of(id);

	if (!c)
		return -ESTALE;
	control_fill(fs, ENTRY_DIR, c->mode, (uint64_t)id, out);
	return 0;
}

int control_stream_attr(struct fs *fs, const struct inode *inode, struct node *out)
{
	control_fill(fs, ENTRY_FILE, inode->kind == INODE_REPORT ? REPORT_MODE : STREAM_MODE,
		     inode->nodeid, out);
	return 0;
}

int control_entry(struct fs *fs, int id, struct fuse_entry_param *out)
{
	struct node n;
	int err = control_attr(fs, id, &n);

	if (err < 0)
		return err;
	*out = (struct fuse_entry_param){ .ino = (fuse_ino_t)id,
					  .attr_timeout = CACHE_FOREVER,
					  .entry_timeout = CACHE_FOREVER };
	attr_fill(&n, &out->attr);
	return 0;
}

int control_lookup(struct fs *fs, int id, const char *name, struct fuse_entry_param *out)
{
	const struct control_node *c = node_of(id);

	return c ? c->lookup(fs, name, out) : -ESTALE;
}

int control_next(struct fs *fs, int id, struct control_listing *l, int64_t off,
		 struct named_node *out, int64_t *out_next)
{
	const struct control_node *c = node_of(id);

	return c ? c->next(fs, l, off, out, out_next) : -ESTALE;
}

void control_listing_fini(struct control_listing *l)
{
	free(l->sessions);
	*l = (struct control_listing){ 0 };
}

static const struct {
	const char *name;
	enum inode_kind kind;
} streams[] = {
	{ "ctl", INODE_CTL },
	{ "events", INODE_EVENTS },
};

#define N_STREAMS ((int)(sizeof(streams) / sizeof(streams[0])))

/*
 * The kernel serialises direct writes to one inode, whoever makes them: with an inode of its own no
 * conversation waits for another. The entry expires at once, so the next lookup comes here again.
 */
static int stream_entry(struct fs *fs, enum inode_kind kind, struct fuse_entry_param *out)
{
	uint64_t nodeid;
	struct node n;
	int err = inode_learn_fresh(fs->inodes, kind, &nodeid);

	if (err < 0)
		return err;
	*out = (struct fuse_entry_param){ .ino = nodeid, .attr_timeout = CACHE_FOREVER };
	control_fill(fs, ENTRY_FILE, STREAM_MODE, nodeid, &n);
	attr_fill(&n, &out->attr);
	return 0;
}

static int report_entry(struct fs *fs, enum report which, struct fuse_entry_param *out)
{
	uint64_t nodeid;
	struct node n;
	int err = inode_learn(fs->inodes, NULL, INODE_REPORT, which, &nodeid);

	if (err < 0)
		return err;
	*out = (struct fuse_entry_param){ .ino = nodeid,
					  .attr_timeout = CACHE_FOREVER,
					  .entry_timeout = CACHE_FOREVER };
	control_fill(fs, ENTRY_FILE, REPORT_MODE, nodeid, &n);
	attr_fill(&n, &out->attr);
	return 0;
}

static int root_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out)
{
	for (int i = 0; i < N_STREAMS; i++)
		if (strcmp(name, streams[i].name) == 0)
			return stream_entry(fs, streams[i].kind, out);
	for (int i = 0; i < REPORTS; i++)
		if (strcmp(name, report_names[i]) == 0)
			return report_entry(fs, (enum report)i, out);
	if (strcmp(name, VERSIONS_NAME) == 0)
		return versions_entry(fs, out);
	for (int id = CONTROL_ROOT + 1; id < N_NODES; id++)
		if (strcmp(name, nodes[id].name) == 0)
			return control_entry(fs, id, out);
	return -ENOENT;
}

/* The streams, the reports, the versions, then the control directories. */
static int root_next(struct fs *fs, struct control_listing *l, int64_t off, struct named_node *out,
		     int64_t *out_next)
{
	int64_t id = CONTROL_ROOT + off - N_STREAMS - REPORTS;

	(void)l;
	if (id >= N_NODES)
		return 0;
	*out_next = off + 1;
	if (off < N_STREAMS) {
		snprintf(out->name, sizeof(out->name), "%s", streams[off].name);
		control_fill(fs, ENTRY_FILE, STREAM_MODE, UINT32_MAX, &out->node);
		return 1;
	}
	if (off < N_STREAMS + REPORTS) {
		snprintf(out->name, sizeof(out->name), "%s", report_names[off - N_STREAMS]);
		control_fill(fs, ENTRY_FILE, REPORT_MODE, UINT32_MAX, &out->node);
		return 1;
	}
	if (id == CONTROL_ROOT) {
		snprintf(out->name, sizeof(out->name), VERSIONS_NAME);
		control_fill(fs, ENTRY_DIR, 0755, UINT32_MAX, &out->node);
		return 1;
	}
	snprintf(out->name, sizeof(out->name), "%s", nodes[id].name);
	return control_attr(fs, (int)id, &out->node) < 0 ? -ESTALE : 1;
}

static int sessions_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out)
{
	struct view *view;
	struct node n;
	int err = session_find(fs->core, name, &view);

	if (err < 0)
		return err;
	err = attr_of_view(view, ENTRY_DIR, VIEW_ROOT_DIR, &n);
	if (!err)
		err = attr_entry(fs, view, &n, out);
	view_put(view);
	return err;
}

static int sessions_next(struct fs *fs, struct control_listing *l, int64_t off,
			 struct named_node *out, int64_t *out_next)
{
	if (off == 0) {
		control_listing_fini(l);
		l->n_sessions = session_ids(fs->core, &l->sessions);
		if (l->n_sessions < 0) {
			int err = l->n_sessions;

			l->n_sessions = 0;
			return err;
		}
	}
	if (off >= l->n_sessions)
		return 0;
	*out_next = off + 1;
	snprintf(out->name, sizeof(out->name), "%s", l->sessions[off]);
	control_fill(fs, ENTRY_DIR, 0700, UINT32_MAX, &out->node);
	return 1;
}

int64_t control_parse_number(const char *s)
{
	int64_t row = 0;

	if (strcmp(s, "0") == 0)
		return 0;
	if (*s < '1' || *s > '9')
		return -1;
	for (; *s; s++)
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(row, 10, &row) ||
		    __builtin_add_overflow(row, *s - '0', &row))
			return -1;
	return row;
}

static int rejects_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out)
{
	int64_t row = control_parse_number(name);
	uint64_t nodeid;
	struct node n;
	int err = row < 0 ? -ENOENT : salvage_lookup(fs->core, row, &n);

	if (!err)
		err = inode_learn(fs->inodes, NULL, INODE_REJECT, row, &nodeid);
	if (err < 0)
		return err;
	/* gc removes rejects without telling the kernel: the name is asked for each time. */
	*out = (struct fuse_entry_param){ .ino = nodeid };
	attr_fill(&n, &out->attr);
	return 0;
}

/* The offset after a row is its number. */
static int rejects_next(struct fs *fs, struct control_listing *l, int64_t off,
			struct named_node *out, int64_t *out_next)
{
	int64_t row;
	int n = salvage_list(fs->core, off, &row, 1);

	(void)l;
	if (n <= 0)
		return n;
	*out_next = row;
	snprintf(out->name, sizeof(out->name), "%lld", (long long)row);
	control_fill(fs, ENTRY_FILE, 0400, UINT32_MAX, &out->node);
	return 1;
}
