/* SPDX-License-Identifier: MIT */
/* See store_migrate.h. Layer: store. */
#include "store/store_migrate.h"
#include "store/sqlite/migrate.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int step(const struct store_upgrade *u, int64_t version, struct errmsg *err)
{
	int res = schema_migrate(u->db, u->steps, version);

	if (res)
		return errmsg_set(err, res,
				  "cannot bring the store %s from format %" PRId64 " to %" PRId64
				  ": %s; opening it again goes on from where it is",
				  u->path, version, version + 1, strerror(-res));
	log_info("store %s: its database has format %" PRId64 " now, it had %" PRId64, u->path,
		 version + 1, version);
	return 0;
}

static int write_format(const struct store_upgrade *u, int64_t version, struct errmsg *err)
{
	int res = layout_write_format(u->root, u->format->uuid.s, version, 0);

	return res ? errmsg_set(err, res, "cannot write %s/%s: %s", u->path, LAYOUT_FORMAT,
				strerror(-res)) :
		     0;
}

int store_migrate(const struct store_upgrade *u, struct errmsg *err)
{
	int64_t newest = migrations_newest(u->steps), format = u->format->version, version = 0;
	int res = schema_version(u->db, &version);

	if (res)
		return errmsg_set(err, res, "cannot read the version of %s/%s: %s", u->path,
				  LAYOUT_DB, strerror(-res));
	res = layout_check_version(u->path, version, newest, err);
	while (!res) {
		/* The moment between the two may be where the last program was cut off. */
		if (format < version) {
			res = write_format(u, version, err);
			format = version;
		}
		if (res || version == newest)
			break;
		res = step(u, version, err);
		version++;
	}
	return res;
}

int store_migrate_is_done(const struct store_upgrade *u, struct errmsg *err)
{
	int64_t newest = migrations_newest(u->steps), version = 0;
	int res = schema_version(u->db, &version);

	if (res)
		return errmsg_set(err, res, "cannot read the version of %s/%s: %s", u->path,
				  LAYOUT_DB, strerror(-res));
	res = layout_check_version(u->path, version, newest, err);
	if (res || (version == newest && u->format->version == newest))
		return res;
	return errmsg_set(
		err, -EPROTONOSUPPORT,
		"the store %s has format %" PRId64 ", and this program reads format %" PRId64
		" only: it was last served by an older fencefs. Mount it with this version, which"
		" brings it up to date (if an older daemon serves it, unmount it first), and try"
		" again",
		u->path, version < u->format->version ? version : u->format->version, newest);
}
