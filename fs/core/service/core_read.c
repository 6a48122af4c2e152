/* SPDX-License-Identifier: MIT */
/* Reading the store at the revision that is visible. Layer: core, room service. */
#include "core/service/core_impl.h"

#include "store/store.h"

int core_read_begin(struct core *c, struct db **out_db, int64_t *out_rev)
{
	*out_rev = atomic_load(&c->live.rev);
	return store_reader_get(c->store, out_db);
}

void core_read_end(struct core *c, struct db *db)
{
	store_reader_put(c->store, db);
}
