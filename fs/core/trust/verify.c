/* SPDX-License-Identifier: MIT */
/*
 * See verify.h. Core layer.
 *
 * Between the close and the hashing, gc may remove the file and an administrator may put another in
 * its place. So it is opened by its name once more: what later opens would get is what is judged.
 * That it is gone, or bad, counts only if the database still has it when it is marked (trust.c).
 */
#include "core/service/core_impl.h"
#include "core/trust/verify.h"

#include "wire/errname.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/resident.h"
#include "core/trust/trust.h"
#include "store/fsck/fsck.h"
#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * Of a larger file an open asks for so much at either end only: the kernel looks at page after
 * page.
 */
#define LOOK_BYTES ((int64_t)1 << 20)

enum { SLOT_FREE, SLOT_FILLING, SLOT_READY };

#define VERIFY_SLOTS 64	   /* files that wait */
#define VERIFY_KNOWN 32768 /* files of which it is known that they were hashed; a power of two */

/* free -> filling (who gives the file away) -> ready -> free (the thread here). */
struct verify_slot {
	atomic_int state;
	struct verify_file file;
};

struct verifier {
	struct verify_slot slot[VERIFY_SLOTS];
	atomic_uint next; /* where to look for a free one first */
	sem_t ready;	  /* as many as there are ready ones */
	atomic_bool stop;
	pthread_t thread;
	/*
	 * The first half of an id, where the second half says; 0: none. Hashed, or given to the
	 * thread.
	 */
	atomic_uint_fast64_t known[VERIFY_KNOWN];
};

/* -------------------------------------------------------------------------- what is known */

static atomic_uint_fast64_t *place_of(struct verifier *v, const struct blob_id *id)
{
	uint32_t n;

	memcpy(&n, id->b + 8, sizeof(n));
	return &v->known[n & (VERIFY_KNOWN - 1)];
}

static uint64_t tag_of(const struct blob_id *id)
{
	uint64_t tag;

	memcpy(&tag, id->b, sizeof(tag));
	return tag;
}

static bool is_known(struct verifier *v, const struct blob_id *id)
{
	return atomic_load(place_of(v, id)) == tag_of(id);
}

static void forget(struct verifier *v, const struct blob_id *id)
{
	uint_fast64_t tag = tag_of(id);

	atomic_compare_exchange_strong(place_of(v, id), &tag, 0);
}

void verify_sealed(struct core *c, const struct blob_id *id)
{
	atomic_store(place_of(c->verifier, id), tag_of(id));
}

static bool is_cached(int fd, const struct verify_file *f)
{
	return resident(fd, 0, f->size) > 0;
}

static bool has_cached_ends(int fd, const struct verify_file *f)
{
	int64_t tail = f->size - LOOK_BYTES;

	if (f->size <= 2 * LOOK_BYTES)
		return is_cached(fd, f);
	return resident(fd, 0, LOOK_BYTES) > 0 &&
	       resident(fd, tail & -LOOK_BYTES, f->size - (tail & -LOOK_BYTES)) > 0;
}

void verify_opened(struct core *c, int fd, const struct verify_file *f)
{
	if (is_known(c->verifier, &f->id) && !has_cached_ends(fd, f))
		forget(c->verifier, &f->id);
}

/* -------------------------------------------------------------------------- files that wait */

static bool give(struct verifier *v, const struct verify_file *f)
{
	unsigned int first = atomic_fetch_add(&v->next, 1);

	for (unsigned int i = 0; i < VERIFY_SLOTS; i++) {
		struct verify_slot *s = &v->slot[(first + i) % VERIFY_SLOTS];
		int want = SLOT_FREE;

		if (!atomic_compare_exchange_strong(&s->state, &want, SLOT_FILLING))
			continue;
		s->file = *f;
		atomic_store(&s->state, SLOT_READY);
		sem_post(&v->ready);
		return true;
	}
	return false;
}

/* There is one at least. */
static struct verify_file take(struct verifier *v)
{
	for (unsigned int i = 0;; i = (i + 1) % VERIFY_SLOTS) {
		struct verify_slot *s = &v->slot[i];
		struct verify_file f;

		if (atomic_load(&s->state) != SLOT_READY)
			continue;
		f = s->file;
		atomic_store(&s->state, SLOT_FREE);
		return f;
	}
}

void verify_closed(struct core *c, int fd, const struct verify_file *f)
{
	struct verifier *v = c->verifier;

	if (atomic_load(&v->stop) || is_known(v, &f->id) || !is_cached(fd, f))
		return;
	verify_sealed(c, &f->id); /* so that it waits once only */
	if (give(v, f))
		return;
	forget(v, &f->id);
	metric_add(&c->metrics.checks[CHECK_LEFT_OUT], 1);
}

/* -------------------------------------------------------------------------- the thread */

static int pace(void *arg, int64_t bytes)
{
	struct verifier *v = arg;

	(void)bytes;
	return atomic_load(&v->stop) ? -ECANCELED : 0;
}

static const char *say(enum fsck_state state)
{
	switch (state) {
	case FSCK_GOOD:
		break;
	case FSCK_MISSING:
		return "its file is missing";
	case FSCK_BAD_SIZE:
		return "its file has the wrong size";
	case FSCK_BAD_HASH:
		return "its content is not what was sealed";
	case FSCK_UNREADABLE:
		return "its file cannot be read";
	}
	return "it is good";
}

static int look(struct core *c, const struct verify_file *f, bool is_cached,
		enum fsck_state *out_state)
{
	struct fsck_blob b = {
		.id = f->id, .hash = f->hash, .size = f->size, .is_cached = is_cached
	};
	int disk;

	return fsck_read(c->store, &b, pace, c->verifier, out_state, &disk);
}

/*
 * What the cache has may be wrong where the disk is right; then the cache is what goes.
 * CHECK_ENDINGS: how it ends is known when it has been marked.
 */
static enum check_ending judge(struct core *c, const struct verify_file *f)
{
	enum fsck_state cached, state;
	int err = look(c, f, true, &cached);

	if (!err && cached == FSCK_GOOD)
		return CHECK_GOOD;
	if (!err)
		err = look(c, f, false, &state);
	forget(c->verifier, &f->id);
	if (err) {
		if (err != -ECANCELED)
			log_warning("blob %s cannot be checked: %s", blob_hex(f->id.b).s,
				    errname(err));
		return CHECK_UNFINISHED;
	}
	if (state == FSCK_GOOD) {
		log_warning("blob %s was wrong in memory but is right on disk: %s",
			    blob_hex(f->id.b).s, say(cached));
		return CHECK_MEMORY;
	}
	trust_lost(c, f, say(state));
	return CHECK_ENDINGS;
}

static void *verify_main(void *arg)
{
	struct core *c = arg;
	struct verifier *v = c->verifier;

	pthread_setname_np(pthread_self(), "verifier");
	priority_lower();
	for (;;) {
		struct verify_file f;
		enum check_ending how;

		while (sem_wait(&v->ready) < 0) /* EINTR */
			;
		if (atomic_load(&v->stop))
			return NULL;
		f = take(v);
		how = judge(c, &f);
		if (how != CHECK_ENDINGS)
			metric_add(&c->metrics.checks[how], 1);
	}
}

int verify_start(struct core *c)
{
	struct verifier *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	c->verifier = v;
	if (sem_init(&v->ready, 0, 0) < 0)
		return -errno;
	return -pthread_create(&v->thread, NULL, verify_main, c);
}

void verify_stop(struct core *c)
{
	struct verifier *v = c->verifier;

	atomic_store(&v->stop, true);
	sem_post(&v->ready);
	pthread_join(v->thread, NULL);
}

void verify_fini(struct core *c)
{
	sem_destroy(&c->verifier->ready);
	free(c->verifier);
}
