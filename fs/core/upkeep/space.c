/* SPDX-License-Identifier: MIT */
/* See space.h. Core layer. */
#include "core/upkeep/space.h"

#include "core/service/core_impl.h"

#include "wire/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "base/priority.h"
#include "store/sqlite/db.h"
#include "store/store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REST_FACTOR 100 /* of the time that it took a processor */
#define REST_MIN_NS INT64_C(15000000000)

#define SPACE_WORDS (sizeof(struct space_result) / sizeof(int64_t))

/*
 * The newest result lies in slot[number % 2], and the next one is written into the other. So there
 * is no lock that a thread of low priority could keep from others.
 */
struct space {
	atomic_uint number; /* 0: none yet */
	_Atomic int64_t slot[2][SPACE_WORDS];
	_Atomic int64_t due; /* CLOCK_BOOTTIME, ns: not before */
	atomic_bool is_running;
	atomic_bool stop;
};

_Static_assert(sizeof(struct space_result) % sizeof(int64_t) == 0, "copied as words");

static void publish(struct space *s, const struct space_result *r)
{
	unsigned int next = atomic_load(&s->number) + 1;
	int64_t words[SPACE_WORDS];

	memcpy(words, r, sizeof(words));
	for (size_t i = 0; i < SPACE_WORDS; i++)
		atomic_store(&s->slot[next % 2][i], words[i]);
	atomic_store(&s->number, next);
}

static bool load(const struct space *s, struct space_result *out)
{
	int64_t words[SPACE_WORDS];
	unsigned int n;

	do {
		n = atomic_load(&s->number);
		for (size_t i = 0; i < SPACE_WORDS; i++)
			words[i] = atomic_load(&s->slot[n % 2][i]);
	} while (atomic_load(&s->number) != n);
	memcpy(out, words, sizeof(words));
	return n > 0;
}

static int measure(struct core *c, struct space_result *r)
{
	int64_t begin = io_boot_ns();
	struct db *db;
	int err = store_reader_open(c->store, &db);

	if (err < 0)
		return err;
	db_stop_when(db, &c->space->stop);
	err = usage_read_by(c->store, db, &r->usage);
	db_close(db);
	r->at = io_now_ns();
	r->took = io_boot_ns() - begin;
	return err;
}

/* What this thread has used, not how long it had to wait for its turn. */
static int64_t processor_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *space_main(void *arg)
{
	struct core *c = arg;
	struct space_result r = { .took = 0 };
	int64_t rest;
	int err;

	priority_lower();
	err = measure(c, &r);
	if (!err)
		publish(c->space, &r);
	else if (err != -EINTR)
		log_warning("cannot count what takes up the space: %s", errname(err));
	rest = processor_ns() * REST_FACTOR;
	atomic_store(&c->space->due, io_boot_ns() + (rest > REST_MIN_NS ? rest : REST_MIN_NS));
	atomic_store(&c->space->is_running, false);
	busy_end(&c->busy);
	return NULL;
}

/*
 * Whoever has set is_running. Detached: who shuts down waits for it by the count of what is busy.
 */
static void begin(struct core *c)
{
	pthread_t thread;

	if (busy_begin(&c->busy) == 0) {
		if (pthread_create(&thread, NULL, space_main, c) == 0) {
			pthread_detach(thread);
			return;
		}
		busy_end(&c->busy);
	}
	atomic_store(&c->space->is_running, false);
}

bool space_look(struct core *c, struct space_result *out)
{
	struct space *s = c->space;
	bool known = load(s, out);

	if (io_boot_ns() >= atomic_load(&s->due) && !atomic_exchange(&s->is_running, true))
		begin(c);
	return known;
}

void space_stop(struct core *c)
{
	atomic_store(&c->space->stop, true);
}

int space_init(struct core *c)
{
	c->space = calloc(1, sizeof(*c->space));
	return c->space ? 0 : -ENOMEM;
}

void space_fini(struct core *c)
{
	free(c->space);
}
