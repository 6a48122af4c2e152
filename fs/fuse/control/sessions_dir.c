/* SPDX-License-Identifier: MIT */
/* .fence/sessions/ID: the root of that session's view. Layer: fuse. */
#include "base/cleanup.h"
#include "core/session/session.h"
#include "core/view/view.h"
#include "fuse/control/control_file.h"
#include "fuse/object/object.h"
#include "fuse/state/fs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The sessions that there were when a listing began. */
struct session_list {
	int n;
	char ids[][33];
};

static int sessions_lookup(struct fs *fs, const struct inode *dir, const char *name,
			   struct fuse_entry_param *out)
{
	struct view *view;
	int err = session_find(fs->core, name, &view);

	(void)dir;
	if (err < 0)
		return err;
	err = object_root_entry(fs, view, out);
	view_put(view);
	return err;
}

static int list_sessions(struct fs *fs, void **state)
{
	auto_free char(*ids)[33] = NULL;
	int n = session_ids(fs->core, &ids);
	struct session_list *l;

	if (n < 0)
		return n;
	l = malloc(sizeof(*l) + (size_t)n * sizeof(*ids));
	if (!l)
		return -ENOMEM;
	l->n = n;
	if (n > 0)
		memcpy(l->ids, ids, (size_t)n * sizeof(*ids));
	free(*state);
	*state = l;
	return 0;
}

static int sessions_next(struct fs *fs, void **state, int64_t off, struct named_node *out,
			 int64_t *out_next)
{
	int err = off == 0 ? list_sessions(fs, state) : 0;
	const struct session_list *l = *state;

	if (err < 0)
		return err;
	if (!l || off >= l->n)
		return 0;
	snprintf(out->name, sizeof(out->name), "%s", l->ids[off]);
	control_file_listed(fs, ENTRY_DIR, 0700, &out->node);
	*out_next = off + 1;
	return 1;
}

/* 0711: whoever knows an id may go on, only root may see which there are. */
static const struct inode_type sessions_type = {
	.kind = ENTRY_DIR,
	.mode = 0711,
	.attr = control_file_attr,
	.lookup = sessions_lookup,
	.next = sessions_next,
};

const struct control_file sessions_dir = { "sessions", &sessions_type, control_file_fixed };
