/* SPDX-License-Identifier: MIT */
/* The families of this layer. See fs_metrics.h. Layer: fuse. */
#include "fuse/state/fs_metrics.h"

#include "base/version.h"
#include "fuse/state/fs.h"
#include "fuse/state/handle.h"
#include "fuse/state/inode_table.h"

#include <errno.h>
#include <fuse_lowlevel.h>

enum family { BUILD, PASSTHROUGH, OP_TIME, OPENS, DROPPED, HANDLES, INODES, FAMILIES };

static const struct metric families[FAMILIES] = {
	[BUILD] = { "fencefs_build_info", "Always 1; versions of the daemon and its libraries.",
		    METRIC_GAUGE },
	[PASSTHROUGH] = { "fencefs_passthrough",
			  "Whether the kernel reads and writes file contents by itself.",
			  METRIC_GAUGE },
	[OP_TIME] = { "fencefs_fuse_operation_duration_seconds",
		      "Time that a request from the kernel kept a worker busy; waiting does not "
		      "count.",
		      METRIC_HISTOGRAM },
	[OPENS] = { "fencefs_opens_total",
		    "Files opened, by who reads and writes them: kernel, daemon, or the database "
		    "(inline).",
		    METRIC_COUNTER },
	[DROPPED] = { "fencefs_invalidations_total", "What the kernel was told to forget, by kind.",
		      METRIC_COUNTER },
	[HANDLES] = { "fencefs_open_handles", "Open files and directories, .fence included.",
		      METRIC_GAUGE },
	[INODES] = { "fencefs_known_inodes", "Inodes the kernel remembers.", METRIC_GAUGE },
};

static const char *const op_names[FS_OPS] = {
	[FS_OP_LOOKUP] = "lookup",
	[FS_OP_GETATTR] = "getattr",
	[FS_OP_SETATTR] = "setattr",
	[FS_OP_READLINK] = "readlink",
	[FS_OP_STATFS] = "statfs",
	[FS_OP_MKNOD] = "mknod",
	[FS_OP_MKDIR] = "mkdir",
	[FS_OP_SYMLINK] = "symlink",
	[FS_OP_LINK] = "link",
	[FS_OP_UNLINK] = "unlink",
	[FS_OP_RMDIR] = "rmdir",
	[FS_OP_RENAME] = "rename",
	[FS_OP_CREATE] = "create",
	[FS_OP_OPEN] = "open",
	[FS_OP_READ] = "read",
	[FS_OP_WRITE] = "write",
	[FS_OP_FLUSH] = "flush",
	[FS_OP_RELEASE] = "release",
	[FS_OP_FALLOCATE] = "fallocate",
	[FS_OP_LSEEK] = "lseek",
	[FS_OP_POLL] = "poll",
	[FS_OP_COPY_FILE_RANGE] = "copy_file_range",
	[FS_OP_OPENDIR] = "opendir",
	[FS_OP_READDIR] = "readdir",
	[FS_OP_READDIRPLUS] = "readdirplus",
	[FS_OP_RELEASEDIR] = "releasedir",
	[FS_OP_GETXATTR] = "getxattr",
	[FS_OP_SETXATTR] = "setxattr",
	[FS_OP_LISTXATTR] = "listxattr",
	[FS_OP_REMOVEXATTR] = "removexattr",
};

int fs_metrics_write(struct fs *fs, struct metric_text *out)
{
	static const char *const ways[OPEN_WAYS] = { "kernel", "daemon", "inline" };
	static const char *const kinds[DROPPED_KINDS] = { "name", "directory", "session", "pages" };
	int err = metrics_write(fs->core, out);

	if (err < 0)
		return err;
	metric_begin(out, &families[BUILD]);
	metric_int(out, &families[BUILD],
		   METRIC_LABELS("version", version(), "libfuse", fuse_pkgversion(), "sqlite",
				 metrics_database_version()),
		   1);
	metric_family(out, &families[PASSTHROUGH], atomic_load(&fs->passthrough));
	metric_family_of(out, &families[OPENS], "content", ways, fs->counters.opens, OPEN_WAYS);
	metric_family_of(out, &families[DROPPED], "kind", kinds, fs->counters.dropped,
			 DROPPED_KINDS);
	metric_family(out, &families[HANDLES], (int64_t)handle_count(fs->handles));
	metric_family(out, &families[INODES], (int64_t)inode_count(fs->inodes));
	metric_begin(out, &families[OP_TIME]);
	for (int i = 0; i < FS_OPS; i++)
		metric_histogram(out, &families[OP_TIME], METRIC_LABEL("operation", op_names[i]),
				 &fs->counters.op_time[i]);
	return out->failed ? -ENOMEM : 0;
}
