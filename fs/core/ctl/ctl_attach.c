/* SPDX-License-Identifier: MIT */
/*
 * The sessions of a conversation: they end with it, unless they were opened with keep=1. Core
 * layer.
 */
#include "core/ctl/ctl_impl.h"

#include "core/publish/commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ctl_attach(struct ctl *ctl, struct session *s, const char *line)
{
	struct attached *a = calloc(1, sizeof(*a));
	bool closed;

	if (!a)
		return -ENOMEM;
	a->line = strdup(line);
	if (!a->line) {
		free(a);
		return -ENOMEM;
	}
	a->s = s;
	view_get(&s->view);
	lock_take(&ctl->lock);
	closed = ctl->closed;
	a->next = ctl->sessions;
	ctl->sessions = a;
	lock_drop(&ctl->lock);
	if (closed)
		ctl_detach_all(ctl);
	return 0;
}

static bool is_open(struct session *s)
{
	bool open;

	rwlock_read(&s->lock);
	open = s->state != SESSION_STATE_ENDED;
	rwlock_drop(&s->lock);
	return open;
}

/* Overtaken by a higher token: asked for again, it is to be refused as any late request. */
static bool is_late(struct session *s)
{
	const struct overtake *by = atomic_load(&s->overtaken);

	return by && !by->superseded;
}

struct session *ctl_attached_by_line(struct ctl *ctl, const char *line)
{
	struct session *found = NULL;

	lock_take(&ctl->lock);
	for (struct attached *a = ctl->sessions; a && !found; a = a->next) {
		if (strcmp(a->line, line) == 0 && is_open(a->s) && !is_late(a->s)) {
			found = a->s;
			view_get(&found->view);
		}
	}
	lock_drop(&ctl->lock);
	return found;
}

static int only_attached(struct ctl *ctl, struct session **out, struct ctl_error *error)
{
	struct session *found = NULL;
	int open = 0, n = 0;

	lock_take(&ctl->lock);
	for (struct attached *a = ctl->sessions; a; a = a->next) {
		bool is = is_open(a->s);

		n++;
		open += is;
		if (is ||
		    (!found &&
		     !a->next)) /* the newest is first; with none open, the only one there ever was */
			found = a->s;
	}
	if (open > 1 || (open == 0 && n != 1))
		found = NULL;
	if (found)
		view_get(&found->view);
	lock_drop(&ctl->lock);
	if (!found)
		return open ? ctl_error_set(
				      error, -EINVAL, "session", NULL,
				      "%d sessions are open here: say which with session=", open) :
			      ctl_error_set(error, -ENOENT, "session", NULL,
					    "no session is open in this conversation");
	*out = found;
	return 0;
}

int ctl_session_of(struct ctl_call *call, struct session **out, struct ctl_error *error)
{
	const char *id = ctl_line_get(&call->line, "session");
	struct ctl *ctl = call->ctl;
	struct session *s = NULL;

	if (!id)
		return only_attached(ctl, out, error);
	lock_take(&ctl->lock);
	for (struct attached *a = ctl->sessions; a && !s; a = a->next) {
		if (strcmp(a->s->id, id) == 0) {
			s = a->s;
			view_get(&s->view);
		}
	}
	lock_drop(&ctl->lock);
	if (!s)
		s = session_table_get(ctl->c, id);
	if (s && ctl->who.uid != 0 && ctl->who.uid != s->who->uid) {
		session_put(s);
		s = NULL; /* somebody else's: as good as unknown (P8) */
	}
	if (!s)
		return ctl_error_set(error, -ENOENT, "session", id, "no such session is open");
	*out = s;
	return 0;
}

void ctl_outcome_remember(struct ctl *ctl, const char *id, const struct ctl_reply *reply)
{
	lock_take(&ctl->lock);
	for (struct attached *a = ctl->sessions; a; a = a->next) {
		if (strcmp(a->s->id, id) != 0 || a->outcome || reply->line.failed)
			continue;
		a->outcome = strndup(reply->line.s, reply->line.len);
		a->outcome_err = reply->err;
	}
	lock_drop(&ctl->lock);
}

bool ctl_outcome_replay(struct ctl_call *call, const char *id)
{
	struct ctl *ctl = call->ctl;
	bool found = false;

	lock_take(&ctl->lock);
	for (struct attached *a = ctl->sessions; a && !found; a = a->next) {
		if (strcmp(a->s->id, id) != 0 || !a->outcome)
			continue;
		line_begin(&call->reply.line, a->outcome);
		call->reply.err = a->outcome_err;
		found = true;
	}
	lock_drop(&ctl->lock);
	return found;
}

void ctl_detach_all(struct ctl *ctl)
{
	struct attached *list;

	lock_take(&ctl->lock);
	list = ctl->sessions;
	ctl->sessions = NULL;
	lock_drop(&ctl->lock);
	while (list) {
		struct attached *a = list;

		list = a->next;
		if (!a->s->keep)
			commit_abort(ctl->c, a->s, NULL,
				     NULL); /* -ESTALE: ended already; -EBUSY: see ctl_commit */
		session_put(a->s);
		free(a->line);
		free(a->outcome);
		free(a);
	}
}
