/* SPDX-License-Identifier: MIT */
/* Layer: store. */
#include "store/sqlite/db_version.h"

#include <sqlite3.h>

const char *db_version(void)
{
	return sqlite3_libversion();
}
