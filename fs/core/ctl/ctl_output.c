/* SPDX-License-Identifier: MIT */
/* The replies of a conversation: in order, in memory until they are read. Core layer. */
#include "core/ctl/ctl_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Replies wait in memory until they are read. With so many bytes of them no further write is taken:
 * ENOBUFS. The many small requests of one write may bring more; with so many, the conversation is
 * over.
 */
#define REPLIES_MAX   (1 << 20)
#define REPLIES_FLOOD (16 << 20)

int ctl_grow(char **buf, size_t *room, size_t need)
{
	size_t size = *room ? *room : 512;
	char *grown;

	if (need <= *room)
		return 0;
	while (size < need)
		size *= 2;
	grown = realloc(*buf, size);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	*room = size;
	return 0;
}

/* Lock held. */
void ctl_note_owed(struct ctl *ctl)
{
	owed_note(&ctl->c->owed, &ctl->owes, ctl->out_len > ctl->out_at && !ctl->closed);
}

/* Lock held. */
static void queue_line(struct ctl *ctl, const char *s, size_t len)
{
	if (ctl->out_at) {
		memmove(ctl->out, ctl->out + ctl->out_at, ctl->out_len - ctl->out_at);
		ctl->out_len -= ctl->out_at;
		ctl->out_at = 0;
	}
	if (ctl_grow(&ctl->out, &ctl->out_room, ctl->out_len + len + 1) < 0) {
		ctl->dead = true; /* a reply is missing: nothing after it could be told apart */
		return;
	}
	memcpy(ctl->out + ctl->out_len, s, len);
	ctl->out[ctl->out_len + len] = '\n';
	ctl->out_len += len + 1;
	ctl_note_owed(ctl);
}

/* Lock held. */
void ctl_queue_reply(struct ctl *ctl, const struct ctl_reply *r)
{
	static const char lost[] = "err ENOMEM # out of memory";
	static const char flood[] =
		"err ENOBUFS # too many replies wait to be read; open ctl again";

	if (ctl->flooded)
		return;
	if (ctl->out_len - ctl->out_at > REPLIES_FLOOD) {
		ctl->flooded = true;
		ctl_blame(ctl, ctl->consumed, -ENOBUFS);
		queue_line(ctl, flood, sizeof(flood) - 1);
	} else if (r->line.failed) {
		queue_line(ctl, lost, sizeof(lost) - 1);
	} else {
		queue_line(ctl, r->line.s, r->line.len);
	}
}

/* Lock held. */
bool ctl_takes_more(const struct ctl *ctl)
{
	return !ctl->flooded && ctl->out_len - ctl->out_at <= REPLIES_MAX;
}

/* Lock held. Reads that can be answered. */
struct answered {
	struct parked *p;
	char *data;
	size_t len;
};

static bool take_read(struct ctl *ctl, struct answered *a)
{
	struct parked *p = ctl->reads;
	size_t left = ctl->out_len - ctl->out_at;

	if (!p || (!left && ctl->busy))
		return false;
	ctl->reads = p->next;
	a->p = p;
	a->len = left < p->len ? left : p->len;
	a->data = a->len ? malloc(a->len) : NULL;
	if (a->data)
		memcpy(a->data, ctl->out + ctl->out_at, a->len);
	else
		a->len = 0;
	ctl->out_at += a->len;
	if (ctl->out_at == ctl->out_len)
		ctl->out_at = ctl->out_len = 0;
	return true; /* what is owed is noted when the reader has it */
}

void ctl_answer_reads(struct ctl *ctl)
{
	for (;;) {
		struct answered a;
		bool some;

		lock_take(&ctl->lock);
		some = take_read(ctl, &a);
		lock_drop(&ctl->lock);
		if (!some)
			return;
		a.p->read_done(a.p->arg, 0, a.data, a.len);
		lock_take(&ctl->lock);
		ctl_note_owed(ctl);
		lock_drop(&ctl->lock);
		free(a.data);
		free(a.p);
	}
}
