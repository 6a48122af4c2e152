/* SPDX-License-Identifier: MIT */
/* The text of .fence/metrics: core's families, and those of this layer. Layer: fuse. */
#ifndef FENCE_FUSE_STATE_FS_METRICS_H
#define FENCE_FUSE_STATE_FS_METRICS_H

struct fs;
struct metric_text;

int fs_metrics_write(struct fs *fs, struct metric_text *out);

#endif
