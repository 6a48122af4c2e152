/* SPDX-License-Identifier: MIT */
/* expect: preconditions. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "core/access/permission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ctl_expectation(const struct ctl_line *l, bool required, struct expect *out, bool *out_given,
		    struct ctl_error *error)
{
	const char *hash = ctl_line_get(l, "hash");
	bool version = ctl_line_get(l, "version") != NULL, absent = false;
	int given = version + (hash != NULL) + (ctl_line_get(l, "absent") != NULL);
	int err = ctl_flag(l, "absent", &absent, error);

	if (err < 0)
		return err;
	if (ctl_line_get(l, "absent") && !absent)
		return ctl_error_set(error, -EINVAL, "absent", "0",
				     "absent= must be 1 or be left out");
	*out_given = given == 1;
	if (given > 1 || (given == 0 && required))
		return ctl_error_set(error, -EINVAL, NULL, NULL,
				     "give one of version=, absent=1, hash=");
	if (version) {
		out->kind = EXPECT_VERSION;
		return ctl_count(l, "version", INT64_MAX, &out->version, error);
	}
	out->kind = absent ? EXPECT_ABSENT : EXPECT_HASH;
	if (hash && blob_hex_parse(hash, out->hash.b) < 0)
		return ctl_error_set(error, -EINVAL, "hash", hash,
				     "hash= is 32 lower-case hex digits (XXH3-128)");
	return 0;
}

static int add_expect(struct session *s, const struct expect *e)
{
	struct expect *grown;
	int err = -ESTALE;

	rwlock_write(&s->lock);
	if (s->state == SESSION_STATE_OPEN) {
		grown = reallocarray(s->expects, s->n_expects + 1, sizeof(*grown));
		err = grown ? 0 : -ENOMEM;
		if (grown) {
			s->expects = grown;
			s->expects[s->n_expects++] = *e;
		}
	}
	rwlock_drop(&s->lock);
	return err;
}

/* @content: not only whether it is there. */
int ctl_may_look(struct core *c, const struct caller *who, const char *path, bool content)
{
	struct permission_target t;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = content ? permission_read(db, rev, who, path, &t) :
			permission_walk(db, rev, who, path, &t);
	core_read_end(c, db);
	return err == -ENOTDIR ? 0 : err;
}

void ctl_expect(struct ctl_call *call)
{
	char path[FENCE_PATH_MAX + 1];
	struct session *s = NULL;
	struct ctl_error error;
	struct expect e = { 0 };
	bool given;
	int err = ctl_path(&call->line, "path", path, NULL, &error);

	if (!err)
		err = ctl_expectation(&call->line, true, &e, &given, &error);
	if (!err)
		err = ctl_session_of(call, &s, &error);
	if (!err &&
	    (err = ctl_may_look(call->ctl->c, &call->ctl->who, path, e.kind == EXPECT_HASH)) < 0)
		ctl_error_set(&error, err, "path", path, "no permission to look at this path");
	if (!err) {
		e.path = strdup(path);
		err = e.path ? add_expect(s, &e) : -ENOMEM;
		if (err < 0) {
			free((void *)(uintptr_t)e.path);
			ctl_error_set(&error, err, "session", s->id, "the session is over");
		}
	}
	if (s)
		session_put(s);
	if (err < 0) {
		ctl_call_error(call, &error);
		return;
	}
	reply_ok(&call->reply);
	ctl_call_done(call);
}
