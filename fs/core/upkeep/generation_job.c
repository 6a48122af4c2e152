/* SPDX-License-Identifier: MIT */
/*
 * See generation_job.h. Core layer. Once a minute: a copy of the database that is older than that
 * is told from the one that was last in use, also after a crash. The number is raised by the
 * committer and then written to its file by a pool thread: the database comes first, and no commit
 * waits for the file.
 */
#include "core/upkeep/generation_job.h"

#include "wire/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "core/service/core_impl.h"
#include "store/generation.h"
#include "store/store.h"

#include <stdlib.h>

#define EVERY_NS INT64_C(60000000000)

struct raise {
	struct job job; /* first */
	struct core *c;
	struct work work; /* then */
	int64_t generation;
};

static int raise_apply(struct job *j, struct db *db)
{
	struct raise *r = (struct raise *)(void *)j;
	bool restored;

	return generation_advance(r->c->store, db, &r->generation, &restored);
}

static void write_file(struct work *w)
{
	struct raise *r = (struct raise *)(void *)((char *)w - offsetof(struct raise, work));
	int err = generation_write_file(r->c->store, r->generation);

	if (err < 0)
		log_warning("cannot write the store's generation: %s", errname(err));
	free(r);
}

static void raise_done(struct job *j)
{
	struct raise *r = (struct raise *)(void *)j;

	if (j->err < 0) {
		free(r);
		return;
	}
	r->work.run = write_file;
	pool_submit(&r->c->pool, &r->work);
}

static const struct job_ops raise_ops = { .apply = raise_apply, .done = raise_done };

void generation_tick(struct core *c, struct generation_clock *clock)
{
	int64_t now = io_boot_ns(), revision = atomic_load(&c->live.rev);
	struct raise *r;

	if (now < clock->due || revision == clock->revision)
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	*clock = (struct generation_clock){ now + EVERY_NS, revision };
	r->c = c;
	r->job.ops = &raise_ops;
	r->job.is_internal = true;
	committer_submit(&c->committer, &r->job);
}
