/* SPDX-License-Identifier: MIT */
/*
 * Table setting: counters, policies and marks, whole numbers under a name. Writers inside a
 * transaction only. Layer: store, room sqlite.
 */
#ifndef FENCE_STORE_SQLITE_SETTING_H
#define FENCE_STORE_SQLITE_SETTING_H

#include <stdint.h>

struct db;

/* -ENOENT. */
int setting_get(struct db *db, const char *name, int64_t *out);
int setting_set(struct db *db, const char *name, int64_t value);
/* 0 also if there is no such setting. */
int setting_drop(struct db *db, const char *name);

#endif
