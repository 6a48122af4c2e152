/* SPDX-License-Identifier: MIT */
/* Durable and complete system calls: no short writes, no EINTR, -errno on failure. */
#ifndef FENCE_BASE_IO_H
#define FENCE_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int io_write_all(int fd, const void *buf, size_t len);
int io_pwrite_all(int fd, const void *buf, size_t len, off_t off);
/* Reads until @len or end of file; bytes read, or -errno. */
ssize_t io_pread_all(int fd, void *buf, size_t len, off_t off);
int io_fsync(int fd);
/*
 * Copy @len bytes between files at equal offsets: reflink, else copy_file_range, else read and
 * write. Keeps holes.
 */
int io_copy(int from, int to, off_t len);
/*
 * openat2 with RESOLVE_BENEATH | NO_SYMLINKS | NO_MAGICLINKS; O_CLOEXEC added. The descriptor, or
 * -errno.
 */
int io_open_beneath(int dir, const char *path, int flags, mode_t mode);

/* CLOCK_REALTIME and CLOCK_BOOTTIME in nanoseconds. */
int64_t io_now_ns(void);
int64_t io_boot_ns(void);

#endif
