/* SPDX-License-Identifier: MIT */
/*
 * See gc_service.h. Core layer.
 *
 * The pass itself is store's (gc.h). Here it gets a thread of the lowest priority, the committer as
 * its writer, and the pins. Commits come first: its steps in the writer are short, and when
 * somebody else was waiting during one it leaves the writer alone for a few times as long as that
 * step took.
 */
#include "core/upkeep/gc_service.h"
#include "core/service/core_impl.h"

#include "base/io.h"
#include "base/log.h"
#include "base/priority.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_FACTOR 3 /* of the time that a step took */
#define PAUSE_MAX_NS INT64_C(100000000)

struct gc_service {
	struct lock lock; /* guards: */
	bool is_running;
	int64_t started; /* wall clock, ns */
	struct gc_progress progress;
};

struct gc_thread {
	struct core *c;
	struct gc_request *r; /* owned */
	uint64_t submitted;   /* the committer's count after our last step */
};

/* One step: a job of the committer that somebody waits for. */
struct step_job {
	struct job job; /* first */
	gc_write_fn fn;
	void *arg;
	struct lock lock;
	pthread_cond_t cond;
	bool finished; /* guarded by lock */
};

int gc_service_init(struct core *c)
{
	c->gc = calloc(1, sizeof(*c->gc));
	if (!c->gc)
		return -ENOMEM;
	lock_init(&c->gc->lock, LOCK_GC);
	return 0;
}

void gc_service_fini(struct core *c)
{
	lock_fini(&c->gc->lock);
	free(c->gc);
}

void gc_request_free(struct gc_request *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->opt.n_paths; i++)
		free((void *)(uintptr_t)r->opt.path[i]);
	free((void *)(uintptr_t)r->opt.path);
	free(r);
}

static int step_apply(struct job *j, struct db *db)
{
	struct step_job *s = (struct step_job *)(void *)j;

	return s->fn(db, s->arg);
}

static void step_done(struct job *j)
{
	struct step_job *s = (struct step_job *)(void *)j;

	lock_take(&s->lock);
	s->finished = true;
	pthread_cond_signal(&s->cond);
	lock_drop(&s->lock);
}

static const struct job_ops step_ops = { .apply = step_apply, .done = step_done };

static void pause_for(int64_t ns)
{
	struct timespec t = { .tv_nsec = ns < PAUSE_MAX_NS ? ns : PAUSE_MAX_NS };

	nanosleep(&t, NULL);
}

/* Whether others have used the writer since our last step, this one (itself one job) included. */
static bool is_contended(struct gc_thread *t)
{
	uint64_t now = atomic_load(&t->c->committer.submitted);
	bool others = now - t->submitted > 1;

	t->submitted = now;
	return others;
}

static int env_write(void *arg, gc_write_fn fn, void *fn_arg)
{
	struct gc_thread *t = arg;
	struct step_job s = { .job = { .ops = &step_ops, .is_internal = true },
			      .fn = fn,
			      .arg = fn_arg };
	int64_t begin = io_boot_ns();

	lock_init(&s.lock, LOCK_STEP);
	lock_cond_init(&s.cond);
	committer_submit(&t->c->committer, &s.job);
	lock_take(&s.lock);
	while (!s.finished)
		lock_wait(&s.lock, &s.cond);
	lock_drop(&s.lock);
	pthread_cond_destroy(&s.cond);
	lock_fini(&s.lock);
	if (is_contended(t))
		pause_for((io_boot_ns() - begin) * PAUSE_FACTOR);
	return s.job.err;
}

static bool env_is_pinned(void *arg, const struct blob_id *id)
{
	struct gc_thread *t = arg;

	return pins_has(&t->c->pins, id);
}

static void env_checkpoint(void *arg)
{
	struct gc_thread *t = arg;

	committer_checkpoint(&t->c->committer);
}

static void env_progress(void *arg, const struct gc_progress *p)
{
	struct gc_thread *t = arg;

	lock_take(&t->c->gc->lock);
	t->c->gc->progress = *p;
	lock_drop(&t->c->gc->lock);
}

static bool env_should_stop(void *arg)
{
	struct gc_thread *t = arg;

	return busy_is_closing(&t->c->busy) || t->r->is_cancelled(t->r->arg);
}

static void count(struct core *c, const struct gc_request *r, int err,
		  const struct gc_report *report)
{
	enum gc_ending how = !err ? GC_RUN_OK : err == -EINTR ? GC_RUN_STOPPED : GC_RUN_FAILED;
	int64_t n = 0, bytes = 0;

	if (r->opt.dry_run)
		return;
	for (int k = 0; k < GARBAGE_KINDS; k++) {
		n += report->removed[k].n;
		bytes += report->removed[k].bytes;
	}
	metrics_gc(&c->metrics, how, n, bytes);
}

static void *gc_main(void *arg)
{
	struct gc_thread *t = arg;
	struct core *c = t->c;
	struct gc_env env = {
		.arg = t,
		.write = env_write,
		.is_pinned = env_is_pinned,
		.checkpoint = env_checkpoint,
		.progress = env_progress,
		.should_stop = env_should_stop,
	};
	struct gc_report report;
	struct errmsg msg;
	int err;

	pthread_setname_np(pthread_self(), "gc");
	priority_lower();
	t->submitted = atomic_load(&c->committer.submitted);
	err = gc_run(c->store, &env, &t->r->opt, &report, &msg);
	if (err < 0 && err != -EINTR)
		log_warning("gc: %s", msg.s);
	lock_take(&c->gc->lock);
	c->gc->is_running = false;
	lock_drop(&c->gc->lock);
	count(c, t->r, err, &report);
	t->r->done(t->r->arg, err, &report, &msg);
	gc_request_free(t->r);
	free(t);
	busy_end(&c->busy);
	return NULL;
}

static int start_thread(struct core *c, struct gc_request *r)
{
	struct gc_thread *t = malloc(sizeof(*t));
	pthread_t thread;
	int err;

	if (!t)
		return -ENOMEM;
	*t = (struct gc_thread){ .c = c, .r = r };
	/* Detached: whoever shuts down waits for it by the count of what is busy. */
	err = pthread_create(&thread, NULL, gc_main, t);
	if (err)
		free(t);
	else
		pthread_detach(thread);
	return -err;
}

int gc_start(struct core *c, struct gc_request *r)
{
	int err = busy_begin(&c->busy);
	bool running;

	if (err < 0)
		return err;
	lock_take(&c->gc->lock);
	running = c->gc->is_running;
	if (!running) {
		c->gc->is_running = true;
		c->gc->started = io_now_ns();
		c->gc->progress = (struct gc_progress){ 0 };
	}
	lock_drop(&c->gc->lock);
	err = running ? -EALREADY : start_thread(c, r);
	if (!err)
		return 0;
	if (!running) {
		lock_take(&c->gc->lock);
		c->gc->is_running = false;
		lock_drop(&c->gc->lock);
	}
	busy_end(&c->busy);
	return err;
}

bool gc_look(struct core *c, struct gc_progress *out, int64_t *out_started)
{
	bool running;

	lock_take(&c->gc->lock);
	running = c->gc->is_running;
	*out = c->gc->progress;
	*out_started = c->gc->started;
	lock_drop(&c->gc->lock);
	return running;
}
