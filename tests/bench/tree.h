/* SPDX-License-Identifier: MIT */
/* Many small files, as a job writes them: DIR/NNN/NNN, a thousand to a directory. */
#ifndef FENCE_BENCH_TREE_H
#define FENCE_BENCH_TREE_H

#include <stdbool.h>
#include <stddef.h>

#define TREE_FAN 1000 /* files in a directory */

/* @sync: fsync of each file and each directory. */
void tree_write(const char *dir, long count, size_t size, bool sync);

#endif
