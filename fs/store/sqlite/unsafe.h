/* SPDX-License-Identifier: MIT */
/*
 * Ways to break P2 on purpose, for the control runs of a power-loss test that must be able to fail.
 * Environment variables, always compiled in, so that the test runs what is shipped; each is warned
 * of in the log.
 *
 * FENCEFS_UNSAFE_SYNCHRONOUS=normal   commits are not fsynced: acknowledged ones are lost at power
 * loss FENCEFS_UNSAFE_NO_DIR_FSYNC=1       directories of blobs are not fsynced: content that
 * commits refer to is lost
 */
#ifndef FENCE_STORE_SQLITE_UNSAFE_H
#define FENCE_STORE_SQLITE_UNSAFE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool unsafe_is_set(const char *variable, const char *value)
{
	const char *set = getenv(variable);

	return set && strcmp(set, value) == 0;
}

static inline bool unsafe_synchronous_normal(void)
{
	return unsafe_is_set("FENCEFS_UNSAFE_SYNCHRONOUS", "normal");
}

static inline bool unsafe_no_dir_fsync(void)
{
	return unsafe_is_set("FENCEFS_UNSAFE_NO_DIR_FSYNC", "1");
}

#endif
