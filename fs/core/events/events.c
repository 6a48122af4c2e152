/* SPDX-License-Identifier: MIT */
/*
 * See events.h. Core layer.
 *
 * A commit's event is in the database before the commit is visible; it is told only once live_rev
 * has reached its revision, so that who reads of a commit finds it. Events are in the order of
 * their transactions, so reading stops at the first that is not visible yet.
 */
#include "core/events/events.h"

#include "core/events/events_impl.h"
#include "core/service/core_impl.h"
#include "core/access/permission.h"
#include "store/tree/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event_hub {
	struct core *c;
	struct lock lock; /* guards the list and all readers */
	struct event_reader *first;
	int waiting; /* readers that read or poll */
	bool kicked; /* the check below is queued */
	struct work check;
};

struct event_reader {
	struct event_reader *next;
	struct core *c;
	struct caller who;
	int64_t at;   /* id of the last event told */
	bool missed;  /* tell so first */
	bool reading; /* a read is parked */
	size_t max;
	events_read_fn done;
	void *arg;
	void (*wake)(void *arg); /* of a poll */
	void *wake_arg;
};

struct lines {
	char *s; /* owned */
	size_t len;
	int64_t at; /* the reader's place after them */
};

int event_hub_init(struct core *c)
{
	c->events = calloc(1, sizeof(*c->events));
	if (!c->events)
		return -ENOMEM;
	c->events->c = c;
	lock_init(&c->events->lock, LOCK_EVENTS);
	return 0;
}

void event_hub_fini(struct core *c)
{
	lock_fini(&c->events->lock);
	free(c->events);
}

static int append(struct lines *l, char *line, size_t len, size_t max)
{
	char *grown;

	if (l->len + len > max) {
		free(line);
		return l->len ? 1 : -EMSGSIZE;
	}
	grown = realloc(l->s, l->len + len);
	if (!grown) {
		free(line);
		return -ENOMEM;
	}
	memcpy(grown + l->len, line, len);
	l->s = grown;
	l->len += len;
	free(line);
	return 0;
}

static bool may_see(struct db *db, int64_t rev, const struct caller *who, const struct event *e)
{
	struct permission_target t;
	int err;

	if (who->uid == 0 || who->uid == e->uid)
		return true;
	err = permission_walk(db, rev, who, e->path, &t);
	return err == 0 || err == -ENOTDIR;
}

/* What was dropped from the table before the reader came to it. */
static int tell_missed(struct db *db, bool missed, struct lines *l, size_t max)
{
	int64_t first, last;
	struct event *e;
	char *line;
	size_t len;
	int err = event_bounds(db, &first, &last);

	if (err < 0 || (!missed && (first == 0 || l->at >= first - 1)))
		return err;
	e = malloc(sizeof(*e));
	err = e ? event_next(db, first - 1, e) : -ENOMEM;
	if (!err)
		err = event_json_missed(e->revision, &line, &len);
	free(e);
	if (err < 0)
		return err == -ENOENT ? 0 : err;
	if (l->at < first - 1)
		l->at = first - 1;
	return append(l, line, len, max);
}

static int collect(struct db *db, int64_t rev, const struct caller *who, struct lines *l,
		   size_t max)
{
	struct event *e = malloc(sizeof(*e));
	int err = e ? 0 : -ENOMEM;

	while (!err) {
		char *line;
		size_t len;

		err = event_next(db, l->at, e);
		if (err < 0 || e->revision > rev)
			break;
		if (may_see(db, rev, who, e)) {
			err = event_json(e, &line, &len);
			if (!err)
				err = append(l, line, len, max);
		}
		if (!err)
			l->at = e->id;
	}
	free(e);
	return err == -ENOENT || err > 0 ? 0 : err;
}

/* Lock held (the database is only read). Lines for the reader, none if there is nothing to tell. */
static int fill(struct event_reader *r, size_t max, struct lines *out)
{
	struct lines l = { .at = r->at };
	struct db *db;
	int64_t rev;
	int err = core_read_begin(r->c, &db, &rev);

	if (err < 0)
		return err;
	err = tell_missed(db, r->missed, &l, max);
	if (!err)
		err = collect(db, rev, &r->who, &l, max);
	core_read_end(r->c, db);
	if (err < 0) {
		free(l.s);
		return err;
	}
	r->at = l.at;
	if (l.len)
		r->missed = false;
	*out = l;
	return 0;
}

int events_open(struct core *c, const struct caller *who, struct event_reader **out)
{
	struct event_reader *r = calloc(1, sizeof(*r));
	int64_t first, rev;
	struct db *db;
	int err = r ? core_read_begin(c, &db, &rev) : -ENOMEM;

	if (!err) {
		err = event_bounds(db, &first, &r->at);
		core_read_end(c, db);
	}
	if (err < 0) {
		free(r);
		return err;
	}
	r->c = c;
	r->who = *who;
	lock_take(&c->events->lock);
	r->next = c->events->first;
	c->events->first = r;
	lock_drop(&c->events->lock);
	*out = r;
	return 0;
}

static int parse_since(const char *buf, size_t len, int64_t *out)
{
	char text[32], *end;

	while (len && (buf[len - 1] == '\n' || buf[len - 1] == ' '))
		len--;
	if (len >= 6 && memcmp(buf, "since=", 6) == 0) {
		buf += 6;
		len -= 6;
	}
	if (len == 0 || len >= sizeof(text) || memchr(buf, '\0', len))
		return -EINVAL;
	memcpy(text, buf, len);
	text[len] = '\0';
	if (strspn(text, "0123456789") != len)
		return -EINVAL;
	errno = 0;
	*out = strtoimax(text, &end, 10);
	return errno ? -EINVAL : 0;
}

int events_seek(struct event_reader *r, const void *buf, size_t len)
{
	int64_t since, rev, at;
	struct db *db;
	bool missed;
	int err = parse_since(buf, len, &since);

	if (!err)
		err = core_read_begin(r->c, &db, &rev);
	if (err < 0)
		return err;
	err = event_since(db, since, &at, &missed);
	core_read_end(r->c, db);
	if (err < 0)
		return err;
	lock_take(&r->c->events->lock);
	r->at = at;
	r->missed = missed;
	lock_drop(&r->c->events->lock);
	events_kick(r->c);
	return 0;
}

void events_read(struct event_reader *r, size_t max, events_read_fn done, void *arg)
{
	struct lines l = { 0 };
	int err;

	lock_take(&r->c->events->lock);
	err = r->reading ? -EBUSY : fill(r, max, &l);
	if (!err && !l.len && !busy_is_closing(&r->c->busy)) {
		r->reading = true;
		r->c->events->waiting++;
		r->max = max;
		r->done = done;
		r->arg = arg;
		lock_drop(&r->c->events->lock);
		return;
	}
	lock_drop(&r->c->events->lock);
	done(arg, err, l.s, l.len);
	free(l.s);
}

struct told {
	struct told *next;
	events_read_fn done;
	void (*wake)(void *arg);
	void *arg;
	int err;
	struct lines lines;
};

static void add_told(struct told **list, struct told fill)
{
	struct told *t = malloc(sizeof(*t));

	if (!t)
		abort(); /* a caller would wait for ever */
	*t = fill;
	t->next = *list;
	*list = t;
}

static void tell(struct told *list)
{
	while (list) {
		struct told *t = list;

		list = t->next;
		if (t->done)
			t->done(t->arg, t->err, t->lines.s, t->lines.len);
		else
			t->wake(t->arg);
		free(t->lines.s);
		free(t);
	}
}

static void check_reader(struct event_reader *r, bool end, struct told **list)
{
	struct lines l = { 0 };
	int err = 0;

	if (r->reading) {
		err = fill(r, r->max, &l);
		if (err || l.len || end) {
			r->reading = false;
			r->c->events->waiting--;
			add_told(list,
				 (struct told){
					 .done = r->done, .arg = r->arg, .err = err, .lines = l });
		}
	}
	if (r->wake) { /* spurious wakes are allowed: the poller asks again */
		add_told(list, (struct told){ .wake = r->wake, .arg = r->wake_arg });
		r->wake = NULL;
		r->c->events->waiting--;
	}
}

static void check_all(struct core *c, bool end)
{
	struct told *list = NULL;

	lock_take(&c->events->lock);
	for (struct event_reader *r = c->events->first; r; r = r->next)
		check_reader(r, end, &list);
	lock_drop(&c->events->lock);
	tell(list);
}

static void run_check(struct work *w)
{
	struct event_hub *hub =
		(struct event_hub *)(void *)((char *)w - offsetof(struct event_hub, check));
	struct core *c = hub->c;

	lock_take(&c->events->lock);
	c->events->kicked = false;
	lock_drop(&c->events->lock);
	check_all(c, false);
}

void events_kick(struct core *c)
{
	struct event_hub *hub = c->events;
	bool go;

	lock_take(&hub->lock);
	go = hub->waiting > 0 && !hub->kicked;
	if (go) {
		hub->kicked = true;
		hub->check.run = run_check;
	}
	lock_drop(&hub->lock);
	if (go)
		pool_submit(&c->pool, &hub->check);
}

void events_end(struct core *c)
{
	check_all(c, true);
}

void events_interrupt(struct event_reader *r, void *arg)
{
	events_read_fn done = NULL;

	lock_take(&r->c->events->lock);
	if (r->reading && r->arg == arg) {
		r->reading = false;
		r->c->events->waiting--;
		done = r->done;
	}
	lock_drop(&r->c->events->lock);
	if (done)
		done(arg, -EINTR, NULL, 0);
}

/*
 * Lock held. Whether a read would find a line: what the reader may not see is passed over, or it
 * would wait after all.
 */
static bool has_line(struct event_reader *r, struct db *db, int64_t rev)
{
	struct event e;

	while (event_next(db, r->at, &e) == 0 && e.revision <= rev) {
		if (may_see(db, rev, &r->who, &e))
			return true;
		r->at = e.id;
	}
	return false;
}

bool events_poll(struct event_reader *r, void (*wake)(void *arg), void *arg)
{
	void (*old)(void *arg);
	struct db *db;
	void *old_arg;
	int64_t rev;
	bool ready = true;

	lock_take(&r->c->events->lock);
	if (core_read_begin(r->c, &db, &rev) == 0) {
		ready = r->missed || has_line(r, db, rev);
		core_read_end(r->c, db);
	}
	old = r->wake;
	old_arg = r->wake_arg;
	r->wake = ready ? NULL : wake;
	r->wake_arg = arg;
	r->c->events->waiting += (r->wake != NULL) - (old != NULL);
	lock_drop(&r->c->events->lock);
	if (old)
		old(old_arg);
	return ready;
}

void events_close(struct event_reader *r)
{
	struct event_reader **at;
	struct event_hub *hub = r->c->events;

	lock_take(&hub->lock);
	for (at = &hub->first; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	hub->waiting -= r->wake != NULL;
	lock_drop(&hub->lock);
	if (r->wake)
		r->wake(r->wake_arg);
	free(r);
}
