/* SPDX-License-Identifier: MIT */
/* .fence/metrics: counters and gauges as Prometheus reads them. Layer: fuse. */
#include "base/metric_text.h"
#include "fuse/control/control_file.h"
#include "fuse/control/report_file.h"
#include "fuse/state/fs.h"
#include "fuse/state/fs_metrics.h"

static int metrics_make(fuse_req_t req, char **out_text, size_t *out_len)
{
	struct metric_text t = { 0 };
	int err = fs_metrics_write(fs_of(req), &t);

	if (err < 0) {
		metric_text_fini(&t);
		return err;
	}
	*out_text = t.s;
	*out_len = t.len;
	return 0;
}

static int metrics_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi)
{
	return report_file_open(req, inode, fi, metrics_make);
}

static const struct inode_type metrics_type = {
	.kind = ENTRY_FILE,
	.mode = REPORT_MODE,
	.attr = control_file_attr,
	.open = metrics_open,
};

const struct control_file metrics_file = { "metrics", &metrics_type, control_file_fixed };
