/* SPDX-License-Identifier: MIT */
/* See pins.h. Core layer. */
#include "core/loop/pins.h"

#include "store/tree/entry.h"

#include <errno.h>

void pins_init(struct pins *p)
{
	lock_init(&p->lock, LOCK_PINS);
	p->set = (struct blob_set){ 0 };
}

void pins_fini(struct pins *p)
{
	blob_set_fini(&p->set);
	lock_fini(&p->lock);
}

int pins_add(struct pins *p, const struct blob_id *id)
{
	int err;

	lock_take(&p->lock);
	err = blob_set_add(&p->set, id);
	lock_drop(&p->lock);
	return err;
}

void pins_drop(struct pins *p, const struct blob_id *id)
{
	lock_take(&p->lock);
	blob_set_drop(&p->set, id);
	lock_drop(&p->lock);
}

bool pins_has(struct pins *p, const struct blob_id *id)
{
	bool has;

	lock_take(&p->lock);
	has = blob_set_has(&p->set, id);
	lock_drop(&p->lock);
	return has;
}

int pins_hold_entry(struct pins *p, struct db *db, int64_t row, const struct blob_id *id)
{
	struct entry e;
	int err = pins_add(p, id);

	if (err < 0)
		return err;
	err = entry_by_row(db, row, &e);
	if (err < 0)
		pins_drop(p, id);
	return err == -ENOENT ? -ESTALE : err;
}
