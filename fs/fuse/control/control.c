/* SPDX-License-Identifier: MIT */
/* .fence itself: the table of its files, looked up and listed. Layer: fuse. */
#include "fuse/control/control.h"

#include "fuse/control/control_file.h"
#include "fuse/state/fs.h"
#include "fuse/state/inode_table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROOT_NODEID  (NODEID_ROOT + 1)
#define FIRST_NODEID (ROOT_NODEID + 1) /* of the first file, if it is fixed; and so on */

#define ADDRESS(file) &file,
static const struct control_file *const files[] = { CONTROL_FILES(ADDRESS) };
#undef ADDRESS

#define N_FILES ((int)(sizeof(files) / sizeof(files[0])))

static_assert(FIRST_NODEID + N_FILES <= NODEID_FIXED_MAX, "more nodeids are needed");

static uint64_t nodeid_of(int i)
{
	return FIRST_NODEID + (uint64_t)i;
}

static bool is_fixed(const struct control_file *f)
{
	return f->entry == control_file_fixed;
}

static int root_lookup(struct fs *fs, const struct inode *dir, const char *name,
		       struct fuse_entry_param *out)
{
	(void)dir;
	for (int i = 0; i < N_FILES; i++)
		if (strcmp(name, files[i]->name) == 0)
			return files[i]->entry(fs, files[i], nodeid_of(i), out);
	return -ENOENT;
}

static int root_next(struct fs *fs, void **state, int64_t off, struct named_node *out,
		     int64_t *out_next)
{
	const struct control_file *f;

	(void)state;
	if (off >= N_FILES)
		return 0;
	f = files[off];
	snprintf(out->name, sizeof(out->name), "%s", f->name);
	control_file_node(fs, f->type, is_fixed(f) ? nodeid_of((int)off) : CONTROL_NODEID_UNKNOWN,
			  &out->node);
	*out_next = off + 1;
	return 1;
}

static const struct inode_type root_type = {
	.kind = ENTRY_DIR,
	.mode = 0755,
	.attr = control_file_attr,
	.lookup = root_lookup,
	.next = root_next,
};

static const struct control_file root = { CONTROL_ROOT_NAME, &root_type, control_file_fixed };

void control_attach(struct fs *fs)
{
	inode_table_fix(fs->inodes, ROOT_NODEID, &root_type);
	for (int i = 0; i < N_FILES; i++)
		if (is_fixed(files[i]))
			inode_table_fix(fs->inodes, nodeid_of(i), files[i]->type);
}

void control_root_entry(struct fs *fs, struct fuse_entry_param *out)
{
	(void)root.entry(fs, &root, ROOT_NODEID, out);
}

uint64_t control_sessions_nodeid(void)
{
	int i = 0;

	while (files[i] != &sessions_dir)
		i++;
	return nodeid_of(i);
}
