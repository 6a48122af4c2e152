/* SPDX-License-Identifier: MIT */
/* See fsck_content.h. Layer: tools. */
#include "files/fsck_content.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/uuid.h"
#include "out/progress.h"
#include "store/store.h"
#include "wire/seconds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BATCH	    256
#define THREADS_MAX 16
#define SAVE_EVERY  (2 * SECOND)

struct content_check {
	const struct fsck_content *c;
	pthread_mutex_t lock; /* guards all below */
	struct fsck_blob batch[BATCH];
	int n, next;
	int64_t handed;		      /* highest number given out */
	int64_t at_work[THREADS_MAX]; /* number of each thread's blob; 0: none */
	int64_t free_at;	      /* when the rate allows the next read, CLOCK_BOOTTIME */
	int64_t saved_at;
	struct progress progress;
	int err;
};

struct worker {
	struct content_check *job;
	int index;
};

/* All up to this number have been read. */
static int64_t done_up_to(const struct content_check *j)
{
	int64_t done = j->handed;

	for (int i = 0; i < THREADS_MAX; i++)
		if (j->at_work[i] && j->at_work[i] <= done)
			done = j->at_work[i] - 1;
	return done;
}

static int save(struct content_check *j)
{
	auto_free char *fresh = NULL;
	auto_fd int fd = -1;
	char line[128];
	int n = snprintf(line, sizeof(line), "fencefs-fsck 1 %s %" PRId64 "\n", store_uuid(j->c->s),
			 done_up_to(j));
	int err;

	if (!j->c->resume)
		return 0;
	if (asprintf(&fresh, "%s.new", j->c->resume) < 0)
		return -ENOMEM;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, line, (size_t)n);
	if (!err && rename(fresh, j->c->resume) < 0)
		err = -errno;
	return err;
}

/* Where an interrupted run came to; 0 to begin at the beginning. */
static int load(const struct fsck_content *c, int64_t *out)
{
	auto_fd int fd = c->resume ? open(c->resume, O_RDONLY | O_CLOEXEC) : -1;
	char line[128] = "", uuid[UUID_LEN + 1];
	ssize_t n;

	*out = 0;
	if (fd < 0)
		return !c->resume || errno == ENOENT ? 0 : -errno;
	n = io_pread_all(fd, line, sizeof(line) - 1, 0);
	if (n < 0)
		return (int)n;
	if (sscanf(line, "fencefs-fsck 1 %36s %" SCNd64, uuid, out) != 2 || *out < 0)
		return -EINVAL;
	return strcmp(uuid, store_uuid(c->s)) == 0 ? 0 : -EXDEV;
}

static int pace(void *arg, int64_t bytes)
{
	struct content_check *j = arg;
	int64_t now, wait = 0;

	pthread_mutex_lock(&j->lock);
	progress_add(&j->progress, (uint64_t)bytes);
	if (j->c->rate) {
		now = io_boot_ns();
		if (j->free_at < now)
			j->free_at = now;
		wait = j->free_at - now;
		j->free_at += (int64_t)((double)bytes / (double)j->c->rate * (double)SECOND);
	}
	pthread_mutex_unlock(&j->lock);
	while (wait > 0 && !*j->c->stop) {
		int64_t part = wait < SECOND / 5 ? wait : SECOND / 5;
		struct timespec t = { .tv_nsec = part };

		nanosleep(&t, NULL);
		wait -= part;
	}
	return *j->c->stop ? -EINTR : 0;
}

/* The next blob: 1, or 0 at the end. */
static int take(struct content_check *j, int index, struct fsck_blob *out)
{
	if (j->err)
		return j->err;
	if (*j->c->stop)
		return -EINTR;
	if (j->next == j->n) {
		j->n = fsck_blobs(j->c->f, j->handed, j->batch, BATCH);
		j->next = 0;
		if (j->n <= 0) {
			int res = j->n;

			j->n = 0;
			return res;
		}
	}
	*out = j->batch[j->next++];
	j->handed = j->at_work[index] = out->n;
	return 1;
}

static int finish(struct content_check *j, int index, const struct fsck_blob *b,
		  enum fsck_state state, int disk)
{
	/*
	 * Files that are missing or of another size were told of when the structure was looked at.
	 */
	bool told = state == FSCK_MISSING || state == FSCK_BAD_SIZE;
	int res = told ? 0 : fsck_judge(j->c->f, b, state, disk);

	if (res > 0 && state == FSCK_BAD_HASH && !b->is_marked)
		res = j->c->judged(j->c->arg, b, false);
	else if (res == 0 && state == FSCK_GOOD && b->is_marked)
		res = j->c->judged(j->c->arg, b, true);
	if (res < 0)
		return res;
	j->at_work[index] = 0;
	if (io_boot_ns() - j->saved_at < SAVE_EVERY)
		return 0;
	j->saved_at = io_boot_ns();
	return save(j);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct content_check *j = w->job;
	struct fsck_blob b;
	int res;

	pthread_mutex_lock(&j->lock);
	while ((res = take(j, w->index, &b)) > 0) {
		enum fsck_state state = FSCK_GOOD;
		int disk = 0;

		pthread_mutex_unlock(&j->lock);
		res = fsck_read(j->c->s, &b, pace, j, &state, &disk);
		pthread_mutex_lock(&j->lock);
		if (!res)
			res = finish(j, w->index, &b, state, disk);
		if (res < 0)
			break;
	}
	if (res < 0 && !j->err)
		j->err = res;
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static int run_threads(struct content_check *j)
{
	struct worker workers[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0, want = cpus < 2 ? 2 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;

	for (; n < want; n++) {
		workers[n] = (struct worker){ j, n };
		if (pthread_create(&threads[n], NULL, work, &workers[n]))
			break;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return n ? j->err : -EAGAIN;
}

int fsck_content_run(const struct fsck_content *c)
{
	struct content_check j = { .c = c, .saved_at = io_boot_ns() };
	int64_t n, bytes;
	int err = load(c, &j.handed);

	if (!err)
		err = fsck_blobs_total(c->f, j.handed, &n, &bytes);
	if (err)
		return err;
	pthread_mutex_init(&j.lock, NULL);
	progress_init(&j.progress, "reading blobs", (uint64_t)bytes);
	err = run_threads(&j);
	progress_fini(&j.progress);
	if (err == -EINTR)
		(void)save(&j);
	else if (!err && c->resume)
		(void)unlink(c->resume);
	pthread_mutex_destroy(&j.lock);
	return err;
}
