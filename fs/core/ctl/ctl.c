/* SPDX-License-Identifier: MIT */
/*
 * The machine of a conversation: bytes to lines, one line at a time, replies in order. Core layer.
 *
 * A write is answered when all complete lines in it have run, so that `echo` gets a status; nothing
 * waits for long in it, and what runs elsewhere (committer, pool) parks the request instead of
 * holding a worker. An interrupted write is answered EINTR at once while its work goes on; the same
 * bytes written again (Go and Python do that by themselves) are taken for the same write, not for
 * another.
 *
 * Whoever finishes a line runs the next one (ctl_run); `busy` says that somebody does. Completions
 * are collected under the lock and called after it.
 */
#include "core/ctl/ctl_impl.h"

#include "base/log.h"
#include "core/publish/commit.h"
#include "store/store.h"
#include "wire/ctl_help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ctl_put_ref(struct ctl *ctl)
{
	if (atomic_fetch_sub(&ctl->refs, 1) > 1)
		return;
	free(ctl->ghost);
	free(ctl->in);
	free(ctl->out);
	lock_fini(&ctl->lock);
	free(ctl);
}

struct ctl *ctl_new(struct core *c, const struct caller *who, const struct ctl_ops *ops)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return NULL;
	ctl->ops = ops;
	ctl->c = c;
	ctl->who = *who;
	atomic_init(&ctl->refs, 1);
	lock_init(&ctl->lock, LOCK_CTL);
	metric_add(&c->metrics.conversations, 1);
	atomic_fetch_add(&c->metrics.open_conversations, 1);
	return ctl;
}

static void push(struct parked **list, struct parked *p)
{
	while (*list)
		list = &(*list)->next;
	p->next = NULL;
	*list = p;
}

static void complete_list(struct ctl *ctl, struct parked *done)
{
	while (done) {
		struct parked *p = done;

		done = p->next;
		if (p->write_done)
			p->write_done(p->arg, p->err);
		free(p);
	}
	(void)ctl;
}

/*
 * Lock held. Of a long write that comes in pieces the last one is refused: the kernel then tells
 * the writer how much was taken before, and not why no more was, so the writer sends that piece
 * again. It must not be taken for requests.
 */
static void remember_refused(struct ctl *ctl, const struct parked *p)
{
	struct parked *ghost = p->err && p->in_payload ? malloc(sizeof(*ghost)) : NULL;

	if (!ghost)
		return;
	*ghost = *p;
	ghost->next = NULL;
	ghost->write_done = NULL;
	free(ctl->ghost);
	ctl->ghost = ghost;
}

/* Lock held. Writes all of whose lines have run: those that end at or before @upto. */
static void take_finished(struct ctl *ctl, uint64_t upto, struct parked **done)
{
	while (ctl->writes && ctl->writes->end <= upto) {
		struct parked *p = ctl->writes;

		ctl->writes = p->next;
		if (p->write_done) {
			remember_refused(ctl, p);
			push(done, p);
		} else {
			free(ctl->ghost);
			ctl->ghost = p;
			p->next = NULL;
		}
	}
}

/*
 * Lock held. The line that ended at @end was refused: the write that brought its last byte fails.
 */
void ctl_blame(struct ctl *ctl, uint64_t end, int err)
{
	struct parked *p = ctl->writes;

	while (p && p->end < end)
		p = p->next;
	if (p && !p->err)
		p->err = err;
}

static void consume(struct ctl *ctl, size_t n)
{
	ctl->in_at += n;
	ctl->in_len -= n;
	ctl->consumed += n;
}

/* Lock held. What a request line cannot be: replied to here. */
static void refuse_line(struct ctl *ctl, int err, const char *text)
{
	struct ctl_reply r = { 0 };

	reply_err(&r, err);
	reply_text(&r, "%s", text);
	ctl_queue_reply(ctl, &r);
	ctl_blame(ctl, ctl->consumed, err);
	metrics_request(&ctl->c->metrics, -1, err);
	ctl_reply_fini(&r);
}

/* Lock held. Payload of a refused put goes nowhere. */
static void skip_payload(struct ctl *ctl)
{
	size_t n = ctl->in_len < ctl->skip ? ctl->in_len : (size_t)ctl->skip;

	consume(ctl, n);
	ctl->skip -= n;
}

/*
 * Lock held. The next complete line, or NULL: its length is in *len. Overlong lines are refused
 * once and dropped to their end.
 */
static char *next_line(struct ctl *ctl, size_t *len)
{
	char *in, *lf;

	if (ctl->flooded)
		consume(ctl, ctl->in_len);
	for (;;) {
		in = ctl->in + ctl->in_at;
		lf = ctl->in_len ? memchr(in, '\n', ctl->in_len) : NULL;
		if (ctl->overlong) {
			consume(ctl, lf ? (size_t)(lf - in) + 1 : ctl->in_len);
			if (!lf)
				return NULL;
			ctl->overlong = false;
			refuse_line(ctl, -EMSGSIZE, "a line has at most 65536 bytes");
			continue;
		}
		*len = lf ? (size_t)(lf - in) : ctl->in_len;
		if (*len > CTL_LINE_MAX) {
			ctl->overlong = true;
			continue;
		}
		if (lf && ctl->dead) {
			consume(ctl, *len + 1);
			refuse_line(
				ctl, -EPROTO,
				"the size of an earlier put was not understood, so its data cannot be told from requests; open ctl again");
			continue;
		}
		return lf ? in : NULL;
	}
}

static struct ctl_call *call_new(struct ctl *ctl, const char *text, size_t len)
{
	struct ctl_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->text = malloc(len + 1);
	if (!call->text) {
		free(call);
		return NULL;
	}
	memcpy(call->text, text, len);
	call->text[len] = '\0';
	call->text_len = len;
	call->ctl = ctl;
	atomic_fetch_add(&ctl->refs, 1);
	return call;
}

/* One thing to do, decided under the lock. */
struct step {
	struct ctl_call *call;
	size_t len;
	struct ctl_payload *feed;
	char *data;
	size_t n;
	struct ctl_payload *complete;
};

static bool step_payload(struct ctl *ctl, struct step *s)
{
	uint64_t wants = ctl->put->ops->wants(ctl->put);
	size_t n = ctl->in_len < wants ? ctl->in_len : (size_t)wants;

	if (wants == 0) {
		s->complete = ctl->put;
		ctl->put = NULL;
		return true;
	}
	if (n == 0)
		return false;
	s->data = malloc(n);
	if (!s->data)
		abort(); /* the stream cannot be resumed in its middle */
	memcpy(s->data, ctl->in + ctl->in_at, n);
	s->n = n;
	s->feed = ctl->put;
	consume(ctl, n);
	return true;
}

/* Lock held. Fills @s and sets busy, or returns false: nothing can be done now. */
static bool next_step(struct ctl *ctl, struct step *s)
{
	char *line;
	size_t len;

	*s = (struct step){ 0 };
	if (ctl->busy)
		return false;
	if (ctl->put) {
		ctl->busy = step_payload(ctl, s);
		return ctl->busy;
	}
	skip_payload(ctl);
	while ((line = next_line(ctl, &len))) {
		s->call = call_new(ctl, line, len);
		s->len = len;
		consume(ctl, len + 1);
		if (s->call) {
			ctl->busy = true;
			return true;
		}
		refuse_line(ctl, -ENOMEM, "out of memory");
	}
	return false;
}

static void payload_step(struct ctl *ctl, struct step *s)
{
	if (s->complete) {
		s->complete->ops->complete(s->complete); /* its call ends the step */
		return;
	}
	s->feed->ops->feed(s->feed, s->data, s->n);
	free(s->data);
	lock_take(&ctl->lock);
	ctl->busy = false;
	lock_drop(&ctl->lock);
}

/*
 * The conversation ended in the middle of a payload. The put's call held a reference; the caller of
 * this holds another.
 */
static void drop_unfinished_put(struct ctl *ctl)
{
	struct ctl_payload *put = NULL;

	lock_take(&ctl->lock);
	if (ctl->closed && !ctl->busy) {
		put = ctl->put;
		ctl->put = NULL;
	}
	lock_drop(&ctl->lock);
	if (!put)
		return;
	put->ops->drop(put);
	ctl_put_ref(ctl);
}

/*
 * The conversation whose ctl_run is on this thread's stack: a call that ends inside it is followed
 * by its loop, not by another ctl_run on top of it (a megabyte of short lines would otherwise be a
 * very deep stack).
 */
static _Thread_local const struct ctl *running;

/* Runs all that can be run. Any thread, no lock held; the caller holds a reference. */
static void ctl_run(struct ctl *ctl)
{
	const struct ctl *outer = running;
	bool more = true;

	running = ctl;
	while (more) {
		struct parked *done = NULL;
		struct step s;

		lock_take(&ctl->lock);
		more = next_step(ctl, &s);
		if (s.call)
			take_finished(ctl, ctl->consumed - s.len - 1, &done);
		else if (!more && (!ctl->busy || ctl->deferred))
			take_finished(ctl, ctl->consumed + ctl->in_len, &done);
		lock_drop(&ctl->lock);
		complete_list(ctl, done);
		if (s.call)
			ctl->ops->execute(s.call);
		else if (more)
			payload_step(ctl, &s);
	}
	running = outer;
	ctl_answer_reads(ctl);
	drop_unfinished_put(ctl);
}

void ctl_call_done(struct ctl_call *call)
{
	struct ctl *ctl = call->ctl;

	metrics_request(&ctl->c->metrics, call->verb - 1, call->reply.err);
	lock_take(&ctl->lock);
	ctl_queue_reply(ctl, &call->reply);
	if (call->reply.err)
		ctl_blame(ctl, ctl->consumed, call->reply.err);
	ctl->busy = ctl->deferred = false;
	lock_drop(&ctl->lock);
	ctl_call_forget(call);
	if (running != ctl)
		ctl_run(ctl);
	ctl_put_ref(ctl);
}

/*
 * Lock held. The same bytes as the write before, interrupted or refused: true, and *now is set if
 * its result is known by now.
 */
static bool is_resend(struct ctl *ctl, struct parked *p, struct parked **now)
{
	struct parked *w = ctl->writes;

	while (w && w->next)
		w = w->next;
	if (w && !w->write_done && w->len == p->len &&
	    memcmp(&w->hash, &p->hash, sizeof(p->hash)) == 0) {
		w->write_done = p->write_done;
		w->arg = p->arg;
		free(p);
		*now = NULL;
		return true;
	}
	if (!w && ctl->ghost && ctl->ghost->len == p->len &&
	    memcmp(&ctl->ghost->hash, &p->hash, sizeof(p->hash)) == 0) {
		p->err = ctl->ghost->err;
		*now = p;
		if (p->err) /* some try more than once, as Python's buffered files do when they are closed */
			return true;
		free(ctl->ghost);
		ctl->ghost = NULL;
		return true;
	}
	free(ctl->ghost);
	ctl->ghost = NULL;
	return false;
}

/* Lock held. */
static int take_bytes(struct ctl *ctl, const void *buf, size_t len)
{
	if (!ctl_takes_more(ctl))
		return -ENOBUFS;
	if (ctl->in_at) {
		memmove(ctl->in, ctl->in + ctl->in_at, ctl->in_len);
		ctl->in_at = 0;
	}
	if (ctl_grow(&ctl->in, &ctl->in_room, ctl->in_len + len) < 0)
		return -ENOMEM;
	memcpy(ctl->in + ctl->in_len, buf, len);
	ctl->in_len += len;
	return 0;
}

void ctl_write(struct ctl *ctl, const void *buf, size_t len, ctl_write_fn done, void *arg)
{
	struct parked *p = calloc(1, sizeof(*p)), *now = NULL;
	bool resend = false;
	int err = p ? 0 : -ENOMEM;

	if (p) {
		*p = (struct parked){ .write_done = done, .arg = arg, .len = len };
		hash_buf(buf, len, &p->hash);
	}
	atomic_fetch_add(&ctl->refs, 1);
	lock_take(&ctl->lock);
	ctl->written = true;
	if (!err) {
		p->in_payload = ctl->put || ctl->skip;
		resend = is_resend(ctl, p, &now);
	}
	if (!err && !resend)
		err = take_bytes(ctl, buf, len);
	if (!err && !resend) {
		p->end = ctl->consumed + ctl->in_len;
		push(&ctl->writes, p);
	}
	lock_drop(&ctl->lock);
	if (err < 0) {
		free(p);
		done(arg, err);
	} else if (resend) {
		complete_list(ctl, now);
	} else {
		ctl_run(ctl);
	}
	ctl_put_ref(ctl);
}

/* Lock held. To who reads before having written anything; once, then it reads as at the end. */
static void queue_help(struct ctl *ctl)
{
	char *help = !ctl->written && ctl->out_len == 0 && !ctl->dead ? ctl_help_text() : NULL;
	size_t len = help ? strlen(help) : 0;

	if (!help)
		return;
	ctl->written = true;
	if (ctl_grow(&ctl->out, &ctl->out_room, len) == 0) {
		memcpy(ctl->out, help, len);
		ctl->out_len = len;
	}
	free(help);
}

void ctl_read(struct ctl *ctl, size_t max, ctl_read_fn done, void *arg)
{
	struct parked *p;

	lock_take(&ctl->lock);
	queue_help(ctl);
	lock_drop(&ctl->lock);
	p = calloc(1, sizeof(*p));
	if (!p) {
		done(arg, -ENOMEM, NULL, 0);
		return;
	}
	*p = (struct parked){ .read_done = done, .arg = arg, .len = max };
	atomic_fetch_add(&ctl->refs, 1);
	lock_take(&ctl->lock);
	push(&ctl->reads, p);
	lock_drop(&ctl->lock);
	ctl_answer_reads(ctl);
	ctl_put_ref(ctl);
}

void ctl_interrupt(struct ctl *ctl, void *arg)
{
	struct parked **at, *p;
	ctl_write_fn write_done = NULL;
	ctl_read_fn read_done = NULL;

	lock_take(&ctl->lock);
	for (p = ctl->writes; p && !write_done; p = p->next) {
		if (p->arg != arg || !p->write_done)
			continue;
		write_done = p->write_done; /* it stays, to blame and for a resend */
		p->write_done = NULL;
	}
	for (at = &ctl->reads; *at && !write_done && !read_done; at = &(*at)->next) {
		if ((*at)->arg != arg)
			continue;
		p = *at;
		*at = p->next;
		read_done = p->read_done;
		free(p);
		break;
	}
	lock_drop(&ctl->lock);
	if (write_done)
		write_done(arg, -EINTR);
	if (read_done)
		read_done(arg, -EINTR, NULL, 0);
}

void ctl_close(struct ctl *ctl)
{
	size_t left;

	lock_take(&ctl->lock);
	ctl->closed = true;
	ctl_note_owed(ctl);
	left = ctl->put ? 0 : ctl->in_len;
	lock_drop(&ctl->lock);
	if (left)
		log_info("ctl closed by pid %d in the middle of a line: its %zu bytes are dropped",
			 (int)ctl->who.pid, left);
	drop_unfinished_put(ctl);
	atomic_fetch_sub(&ctl->c->metrics.open_conversations, 1);
	ctl->ops->closed(ctl);
	ctl_put_ref(ctl);
}
