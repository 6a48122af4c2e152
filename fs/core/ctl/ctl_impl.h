/* SPDX-License-Identifier: MIT */
/* A conversation and its calls, for the files of this layer only. */
#ifndef FENCE_CORE_CTL_CTL_IMPL_H
#define FENCE_CORE_CTL_CTL_IMPL_H

#include "core/ctl/ctl.h"
#include "core/ctl/ctl_reply.h"
#include "core/session/session_impl.h"
#include "wire/ctl_value.h"

/* A write or read that waits. */
struct parked {
	struct parked *next;
	uint64_t end;	 /* write: its last byte's offset in the stream, plus 1 */
	int err;	 /* write: of its first refused line */
	bool in_payload; /* write: its first byte is a put's payload */
	struct blob_hash hash;
	size_t len;		 /* bytes of the write; most that the read takes */
	ctl_write_fn write_done; /* NULL: interrupted, kept for a resend */
	ctl_read_fn read_done;
	void *arg;
};

/* A session that lives as long as the conversation (or was opened in it with keep=1). */
struct attached {
	struct attached *next;
	struct session *s; /* reference owned */
	char *line; /* owned; the request that opened it: sent again, it gives the same session */
	char *outcome; /* owned; the reply of its commit, once there is one */
	int outcome_err;
};

/* What a put's payload goes into (ctl_put.c). No lock held. */
struct ctl_payload;
struct ctl_payload_ops {
	uint64_t (*wants)(const struct ctl_payload *p); /* bytes, still */
	void (*feed)(struct ctl_payload *p, const void *data, size_t len);
	/* All bytes are there: goes on to commit; takes it. */
	void (*complete)(struct ctl_payload *p);
	void (*drop)(struct ctl_payload *p); /* the conversation ended in the middle */
};
struct ctl_payload {
	const struct ctl_payload_ops *ops;
};

struct ctl_call;

/* What the machine of a conversation (ctl.c) hands on to the verbs (ctl_verbs.c). */
struct ctl_ops {
	void (*execute)(struct ctl_call *call); /* looks the verb up, checks its keys, runs it */
	void (*closed)(struct ctl *ctl);	/* what was taken in the conversation ends */
};

struct ctl {
	const struct ctl_ops *ops;
	struct core *c;
	struct caller who;
	atomic_int refs;  /* the open handle, and each call that runs */
	struct lock lock; /* guards all below */
	char *in;	  /* from in_at on: bytes not yet consumed */
	size_t in_at, in_len, in_room;
	uint64_t consumed; /* stream offset of in[in_at] */
	char *out;
	size_t out_len, out_room, out_at;
	bool busy;     /* a line is being executed, or payload taken */
	bool deferred; /* that line waits for others: writes do not wait for it, reads do */
	bool closed;
	bool owes;     /* there is something to read: see owed.h */
	bool written;  /* something was written at all */
	bool flooded;  /* more replies wait than anybody will read: nothing is taken any more */
	bool dead;     /* a put of unknown size: what follows cannot be understood */
	bool overlong; /* inside a line that was refused as too long */
	uint64_t skip; /* payload of a refused put */
	struct ctl_payload *put; /* owned; payload is being received */
	struct parked *writes, *reads;
	struct parked *
		ghost; /* owned; a write whose lines have run, and which may be sent again: its result */
	struct attached *sessions;
};

/* One line under execution. */
struct ctl_call {
	struct ctl *ctl; /* reference owned */
	struct ctl_line line;
	char *text; /* owned; the line as it came, and a NUL after it */
	size_t text_len;
	int verb; /* its number in the table of verbs, from 1; 0: none */
	struct ctl_reply reply;
};

/*
 * Ends the call: its reply is queued, the next line runs. From any thread, no lock held. Frees the
 * call.
 */
void ctl_call_done(struct ctl_call *call);
/*
 * This call will wait, perhaps for long: the write that brought it is answered now, the reply comes
 * in a read. Lines after it run after it. Before anything that might end the call.
 */
void ctl_call_defer(struct ctl_call *call);
void ctl_call_fail(struct ctl_call *call, int err, const char *key, const char *value,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/*
 * The conversation is over before the call is: freed without a reply, and without the
 * conversation's reference.
 */
void ctl_call_forget(struct ctl_call *call);
void ctl_call_error(struct ctl_call *call, const struct ctl_error *e);
void ctl_call_refuse(struct ctl_call *call, const struct refusal *r);

/*
 * The replies (ctl_output.c). The lock is held, but in ctl_answer_reads(), which calls completions.
 */
int ctl_grow(char **buf, size_t *room, size_t need);
void ctl_queue_reply(struct ctl *ctl, const struct ctl_reply *r);
/* False: too many wait to be read, no further write is taken. */
bool ctl_takes_more(const struct ctl *ctl);
void ctl_note_owed(struct ctl *ctl);
void ctl_answer_reads(struct ctl *ctl);
/* The line that ended at @end was refused: the write that brought its last byte fails. */
void ctl_blame(struct ctl *ctl, uint64_t end, int err);

/* A conversation whose lines go to @ops; NULL: no memory. */
struct ctl *ctl_new(struct core *c, const struct caller *who, const struct ctl_ops *ops);
/* A job's database error as a reply. */
void ctl_call_database_error(struct ctl_call *call, int err);

/* Sessions of the conversation (ctl_attach.c). */
int ctl_attach(struct ctl *ctl, struct session *s, const char *line);
/* A session opened here by the same line and still open; a new reference or NULL. */
struct session *ctl_attached_by_line(struct ctl *ctl, const char *line);
/*
 * The session that a request means: session=, or the only one attached. A new reference. *error is
 * set on failure.
 */
int ctl_session_of(struct ctl_call *call, struct session **out, struct ctl_error *error);
/* Remember / find the reply to a commit. */
void ctl_outcome_remember(struct ctl *ctl, const char *id, const struct ctl_reply *reply);
bool ctl_outcome_replay(struct ctl_call *call, const char *id);
void ctl_detach_all(struct ctl *ctl);

/* Verbs with files of their own. */
void ctl_claim(struct ctl_call *call);
void ctl_reset(struct ctl_call *call);
void ctl_damaged(struct ctl_call *call);
void ctl_open_session(struct ctl_call *call);
void ctl_expect(struct ctl_call *call);
void ctl_commit(struct ctl_call *call);
void ctl_abort(struct ctl_call *call);
void ctl_outcome(struct ctl_call *call);
void ctl_put(struct ctl_call *call);
void ctl_remove(struct ctl_call *call);
void ctl_stat(struct ctl_call *call);
void ctl_list(struct ctl_call *call);
void ctl_hello(struct ctl_call *call);
void ctl_restore(struct ctl_call *call);
void ctl_at(struct ctl_call *call);
/* list kind=event (ctl_past.c): @path NULL: all. */
int ctl_list_event(struct ctl_call *call, const char *path, int64_t after);
void ctl_gc(struct ctl_call *call);
void ctl_policy(struct ctl_call *call);
/* list kind=gc: the one that runs. -ENOENT: none. */
int ctl_list_gc(struct ctl_call *call, const char *after);
void ctl_acquire(struct ctl_call *call);
void ctl_renew(struct ctl_call *call);
void ctl_release(struct ctl_call *call);

/*
 * One of version=, absent=1, hash=; *out_given: whether there is one. The path is not set
 * (ctl_expect.c).
 */
int ctl_expectation(const struct ctl_line *l, bool required, struct expect *out, bool *out_given,
		    struct ctl_error *error);
/* May @who walk to @path, and (@content) learn what is in it? */
int ctl_may_look(struct core *c, const struct caller *who, const char *path, bool content);

/*
 * A put's line is refused: that is answered when its payload is there. Answered at once, who wrote
 * both (the kernel passes on a long write in pieces, and stops at the first that fails) would go on
 * with requests that are taken for payload, and who does not look would have payload taken for
 * requests.
 */
void ctl_put_refuse(struct ctl_call *call, const struct ctl_error *error);

/* Owner of a request: owner=, or "uid:N". @buf has OWNER_MAX + 1 bytes. */
int ctl_owner(const struct ctl_call *call, const char **out, char *buf, struct ctl_error *error);

#endif
