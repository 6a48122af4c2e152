/* SPDX-License-Identifier: MIT */
/*
 * Starting and stopping the service. Core layer.
 *
 * The order of stopping: no new work is accepted, nor what was read looked at; what was accepted is
 * answered (busy reaches 0); sessions are ended; then the committer, the notifier and the pool end,
 * in the order in which they feed each other.
 */
#include "core/core.h"

#include "wire/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "core/publish/commit.h"
#include "core/effects.h"
#include "core/housekeeper.h"
#include "core/session/session_impl.h"
#include "core/events/events_impl.h"
#include "core/lease/lease_table.h"
#include "core/trust/trust.h"
#include "core/trust/verify.h"
#include "core/upkeep/gc_service.h"
#include "core/upkeep/space.h"
#include "core/view/snapshot_impl.h"
#include "store/tree/revision.h"
#include "store/store.h"
#include "store/store_lock.h"

#include <errno.h>
#include <stdlib.h>

static void no_name(void *arg, int64_t dir, const char *name)
{
	(void)arg;
	(void)dir;
	(void)name;
}

static void no_dir(void *arg, int64_t dir)
{
	(void)arg;
	(void)dir;
}

static void no_session(void *arg, const char *id)
{
	(void)arg;
	(void)id;
}

static void no_file(void *arg, const struct view *v, int64_t id)
{
	(void)arg;
	(void)v;
	(void)id;
}

static int load_revision(struct core *c)
{
	struct db *db;
	int64_t rev;
	int err = store_reader_get(c->store, &db);

	if (err < 0)
		return err;
	err = revision_current(db, &rev);
	store_reader_put(c->store, db);
	if (!err)
		atomic_store(&c->live.rev, rev);
	return err;
}

static int start_threads(struct core *c)
{
	int err = pool_start(&c->pool);

	if (!err)
		err = notifier_start(&c->notifier, effects_of, c);
	if (!err)
		err = committer_start(&c->committer, c->store, &c->notifier, &c->metrics);
	if (!err)
		err = verify_start(c);
	if (!err)
		err = housekeeper_start(c);
	return err;
}

static struct core *core_new(struct store *store, const struct core_options *opt,
			     const struct kernel_hooks *hooks)
{
	static const struct kernel_hooks none = { .drop_name = no_name,
						  .drop_dir = no_dir,
						  .drop_session = no_session,
						  .flush_file = no_file };
	struct core *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->store = store;
	c->opt = *opt;
	if (!c->opt.session_ttl_ns)
		c->opt.session_ttl_ns = INT64_C(3600000000000);
	c->hooks = hooks ? *hooks : none;
	atomic_store(&c->features, opt->features ? opt->features : "");
	busy_init(&c->busy);
	owed_init(&c->owed);
	pins_init(&c->pins);
	pins_init(&c->regained);
	metrics_init(&c->metrics);
	pulse_init(&c->pulse, &c->committer, store);
	return c;
}

/* What the rooms keep of their own. */
static int make_parts(struct core *c)
{
	int err = gc_service_init(c);

	if (!err)
		err = space_init(c);
	if (!err)
		err = session_table_init(c);
	if (!err)
		err = event_hub_init(c);
	if (!err)
		err = snapshot_list_init(c);
	if (!err)
		err = (c->live_view = view_live_new(c)) ? 0 : -ENOMEM;
	if (!err)
		err = load_revision(c);
	if (!err)
		err = trust_init(c);
	if (!err)
		err = lease_table_init(c);
	if (!err)
		err = versions_init(c);
	return err;
}

int core_start(struct store *store, const struct core_options *opt,
	       const struct kernel_hooks *hooks, struct core **out)
{
	struct core *c = core_new(store, opt, hooks);
	int err;

	if (!c)
		return -ENOMEM;
	/* A process that cannot begin to serve ends: nothing is unwound. */
	err = make_parts(c);
	if (err < 0)
		return err;
	err = start_threads(c);
	if (err < 0) {
		log_error("cannot start threads: %s", errname(err));
		return err;
	}
	*out = c;
	return 0;
}

int core_serve(const char *path, const struct core_options *opt, const struct kernel_hooks *hooks,
	       struct core **out, struct errmsg *msg)
{
	struct store *store;
	int err = store_open(path, STORE_SERVE, opt->mountpoint, &store, msg);

	if (err < 0)
		return err;
	err = core_start(store, opt, hooks, out);
	if (err < 0) {
		store_close(store);
		return errmsg_set(msg, err, "cannot serve %s: %s", path, errname(err));
	}
	return 0;
}

int core_holder(const char *path, int *out_pid, char *mountpoint)
{
	return store_holder(path, out_pid, mountpoint);
}

struct ending_batch {
	struct session *v[64];
	size_t n;
};

static void collect(struct session *s, void *arg)
{
	struct ending_batch *b = arg;

	if (b->n == sizeof(b->v) / sizeof(b->v[0]))
		return;
	view_get(&s->view);
	b->v[b->n++] = s;
}

/*
 * The next start would end them too, but what a refused writer has staged is to be found again
 * (P9): the next start can only empty staging/.
 */
static void end_sessions(struct core *c)
{
	bool some = true;

	busy_set_ending(&c->busy, true);
	while (some) {
		struct ending_batch b = { .n = 0 };

		some = false;
		session_table_each(c, collect, &b);
		for (size_t i = 0; i < b.n; i++) {
			some |= commit_abort(c, b.v[i], NULL, NULL) == 0;
			session_put(b.v[i]);
		}
		busy_wait_none(&c->busy);
	}
	busy_set_ending(&c->busy, false);
}

void core_shutdown(struct core *c)
{
	bool again = busy_close(&c->busy);

	if (!again) {
		verify_stop(c);
		space_stop(c);
		lease_cancel_all(c);
	}
	busy_wait_none(&c->busy);
	if (again)
		return;
	owed_wait(&c->owed);
	end_sessions(c);
	housekeeper_stop(c);
	events_end(c);
	committer_stop(&c->committer);
	notifier_stop(&c->notifier);
	pool_stop(&c->pool);
}

void core_cut_off(struct core *c)
{
	owed_cut_off(&c->owed);
}

void core_free(struct core *c)
{
	session_table_fini(c);
	lease_table_fini(c);
	event_hub_fini(c);
	snapshot_list_fini(c);
	versions_fini(c);
	verify_fini(c);
	gc_service_fini(c);
	space_fini(c);
	free(c->live_view);
	pins_fini(&c->regained);
	pins_fini(&c->pins);
	owed_fini(&c->owed);
	busy_fini(&c->busy);
	store_close(c->store);
	free(c);
}

void core_pulse_start(struct core *c, const struct core_pulse *p)
{
	pulse_start(&c->pulse, p);
}

void core_set_features(struct core *c, const char *features)
{
	atomic_store(&c->features, features);
}

struct store *core_store(struct core *c)
{
	return c->store;
}

int core_statvfs(struct core *c, struct statvfs *out)
{
	return store_statvfs(c->store, out);
}

struct view *core_live_view(struct core *c)
{
	return c->live_view;
}
