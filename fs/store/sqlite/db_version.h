/* SPDX-License-Identifier: MIT */
/* The version of SQLite. Layer: store. */
#ifndef FENCE_STORE_SQLITE_DB_VERSION_H
#define FENCE_STORE_SQLITE_DB_VERSION_H

/* Of the SQLite that is loaded, such as "3.46.1". */
const char *db_version(void);

#endif
