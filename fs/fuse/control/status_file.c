/* SPDX-License-Identifier: MIT */
/* .fence/status: how it stands, and what of that the opener may see. Layer: fuse. */
#include "core/access/caller.h"
#include "core/meter/metrics.h"
#include "fuse/control/control_file.h"
#include "fuse/control/opener.h"
#include "fuse/control/report_file.h"
#include "fuse/state/fs.h"

static int status_make(fuse_req_t req, char **out_text, size_t *out_len)
{
	struct caller who;

	opener_of(req, &who);
	return status_text(fs_of(req)->core, &who, out_text, out_len);
}

static int status_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	return report_file_open(req, inode, fi, status_make);
}

static const struct inode_type status_type = {
	.kind = ENTRY_FILE,
	.mode = REPORT_MODE,
	.attr = control_file_attr,
	.open = status_open,
};

const struct control_file status_file = { "status", &status_type, control_file_fixed };
