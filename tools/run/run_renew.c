/* SPDX-License-Identifier: MIT */
/* See run_renew.h. Layer: tools. */
#include "run/run_renew.h"

#include "base/cleanup.h"
#include "wire/seconds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define RETRY_AFTER SECOND

struct run_renew {
	const struct run_session *s; /* borrowed */
	pthread_t thread;
	int timer, wake, lost; /* owned; timerfd, eventfd, eventfd */
	atomic_bool paused, stopping, is_lost;
	/* Of the thread; `loss` not any more once is_lost is set. */
	struct ctl_client ctl; /* owned */
	struct reply loss;     /* owned */
	unsigned int n;
};

enum verdict { KEPT, LOST, UNSURE };

static void raise_event(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n; /* fails only when it is raised 2^64 times */
}

static void drain(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n; /* nothing to read: nothing to drain */
}

static void arm(const struct run_renew *r, int64_t after)
{
	struct itimerspec t = {
		.it_value = { .tv_sec = after / SECOND, .tv_nsec = after % SECOND },
	};

	timerfd_settime(r->timer, 0, &t, NULL);
}

static int64_t interval(const struct run_renew *r)
{
	return r->s->ttl / 3 > 1000000 ? r->s->ttl / 3 : 1000000;
}

static void lose(struct run_renew *r, int err, const char *text)
{
	reply_fini(&r->loss);
	r->loss = (struct reply){ .err = err, .text = text };
}

static int device_of(int fd, struct statx *out)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_TYPE, out) < 0 ? -errno : 0;
}

/*
 * The session lives in the daemon that the job's conversation is with. When that one is gone, a
 * lease that the next one has inherited is of no use.
 */
static bool is_daemon_gone(const struct run_renew *r)
{
	struct statx job, here;
	int err = device_of(r->s->ctl.fd, &job);

	if (err < 0)
		return err == -ENOTCONN || err == -ECONNABORTED;
	return r->ctl.fd >= 0 && device_of(r->ctl.fd, &here) == 0 &&
	       (here.stx_dev_major != job.stx_dev_major || here.stx_dev_minor != job.stx_dev_minor);
}

static enum verdict connect_again(struct run_renew *r)
{
	struct errmsg err;
	bool open = r->ctl.fd >= 0 || ctl_client_open(r->s->target.mount, &r->ctl, &err) == 0;

	if (is_daemon_gone(r)) {
		lose(r, -ENOTCONN, "the daemon of this mount is gone, and the session with it");
		return LOST;
	}
	return open ? KEPT : UNSURE;
}

/*
 * Every other request has its keys in another order. The daemon takes the same bytes again, after a
 * write that a signal has interrupted, for that write sent once more (a job that is stopped and
 * continued is interrupted so); two renewals must not look alike.
 */
static void make_request(struct run_renew *r, struct line *req)
{
	const struct run_session *s = r->s;
	bool turn = r->n++ % 2;

	line_begin(req, s->has_lease ? "renew" : "stat");
	if (s->has_lease && turn)
		line_field(req, "token", s->token);
	line_field(req, "path", s->target.path);
	if (s->has_lease && !turn)
		line_field(req, "token", s->token);
	if (s->has_lease)
		line_field(req, "owner", s->owner.s);
}

static bool is_higher(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	return la != lb ? la > lb : strcmp(a, b) > 0;
}

static void add_field(struct reply *r, const char *key, const char *value)
{
	if (r->n < REPLY_FIELDS_MAX)
		r->fields[r->n++] = (struct reply_field){ .key = key, .value = value };
}

/* The answer to stat: its fields, with our token, are those of a refusal. */
static enum verdict judge_look(struct run_renew *r, struct reply *reply)
{
	const char *highest = reply_get(reply, "highest");

	if (reply->err || !highest || !is_higher(highest, r->s->token))
		return KEPT;
	r->loss = *reply;
	*reply = (struct reply){ 0 };
	r->loss.err = -ESTALE;
	for (int i = 0; i < r->loss.n; i++)
		if (strcmp(r->loss.fields[i].key, "token") == 0)
			r->loss.fields[i].key = "version_token";
	add_field(&r->loss, "token", r->s->token);
	return LOST;
}

static enum verdict judge_renewal(struct run_renew *r, struct reply *reply)
{
	switch (reply->err) {
	case 0:
		return KEPT;
	case -ESTALE:
	case -EPERM:
	case -EACCES:
		r->loss = *reply;
		*reply = (struct reply){ 0 };
		return LOST;
	case -ETIME:
		lose(r, -ETIME, "it has expired or was taken away");
		return LOST;
	default:
		return UNSURE;
	}
}

static enum verdict ask(struct run_renew *r)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	enum verdict v = KEPT;

	if (r->ctl.fd < 0)
		v = connect_again(r);
	if (v != KEPT)
		return v;
	make_request(r, &req);
	if (ctl_client_call(&r->ctl, &req, &reply) < 0) {
		ctl_client_close(&r->ctl);
		return connect_again(r) == LOST ? LOST : UNSURE;
	}
	return r->s->has_lease ? judge_renewal(r, &reply) : judge_look(r, &reply);
}

/* False: nothing more to do. */
static bool on_time(struct run_renew *r)
{
	switch (ask(r)) {
	case KEPT:
		arm(r, interval(r));
		return true;
	case UNSURE:
		arm(r, interval(r) < RETRY_AFTER ? interval(r) : RETRY_AFTER);
		return true;
	case LOST:
		break;
	}
	atomic_store(&r->is_lost, true);
	raise_event(r->lost);
	return false;
}

static void *renew(void *arg)
{
	struct run_renew *r = arg;
	struct pollfd fds[] = { { .fd = r->wake, .events = POLLIN },
				{ .fd = r->timer, .events = POLLIN } };
	bool more = true;

	arm(r, interval(r));
	while (more && !atomic_load(&r->stopping)) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			drain(r->wake);
		if (fds[1].revents)
			drain(r->timer);
		if (!atomic_load(&r->paused) && !atomic_load(&r->stopping))
			more = on_time(r);
	}
	return NULL;
}

static void fini(struct run_renew *r)
{
	cleanup_fd(&r->timer);
	cleanup_fd(&r->wake);
	cleanup_fd(&r->lost);
	ctl_client_close(&r->ctl);
	reply_fini(&r->loss);
	free(r);
}

int run_renew_start(const struct run_session *s, struct run_renew **out)
{
	struct run_renew *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->s = s;
	r->ctl.fd = -1;
	r->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->lost = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->timer < 0 || r->wake < 0 || r->lost < 0)
		err = -errno;
	if (!err)
		err = -pthread_create(&r->thread, NULL, renew, r);
	if (err < 0) {
		fini(r);
		return err;
	}
	*out = r;
	return 0;
}

int run_renew_fd(const struct run_renew *r)
{
	return r->lost;
}

const struct reply *run_renew_loss(const struct run_renew *r)
{
	return atomic_load(&r->is_lost) ? &r->loss : NULL;
}

void run_renew_pause(struct run_renew *r, bool pause)
{
	atomic_store(&r->paused, pause);
	if (!pause)
		raise_event(r->wake);
}

void run_renew_stop(struct run_renew *r)
{
	if (!r)
		return;
	atomic_store(&r->stopping, true);
	raise_event(r->wake);
	pthread_join(r->thread, NULL);
	fini(r);
}
