/* SPDX-License-Identifier: MIT */
/* See refusal_text.h. Layer: tools. */
#include "out/refusal_text.h"

#include "out/display.h"
#include "out/exit_code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The last component of @path and its length; "/" at the end does not count. */
static const char *last_component(const char *path, size_t *out_len)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	*out_len = end - start;
	return path + start;
}

/*
 * Whether the fence at @held stands on the very path that the user has named @name: not above it,
 * and @name no session's id.
 */
static bool is_named(const char *name, const char *path, const char *held)
{
	size_t named, last;
	const char *a, *b;

	if (!name || !path || strcmp(path, held) != 0)
		return false;
	a = last_component(name, &named);
	b = last_component(held, &last);
	return named == last && memcmp(a, b, last) == 0;
}

/* (set [on HELD_PATH] by OWNER at TIME) */
static void add_setter(struct buf *out, const char *name, const struct reply *r)
{
	const char *held = reply_get(r, "held_path");
	const char *by = reply_get(r, "set_by");
	const char *at = reply_get(r, "set_at");

	if (!by && !at)
		return;
	buf_str(out, " (set");
	if (held && !is_named(name, reply_get(r, "path"), held))
		buf_printf(out, " on %s", strcmp(held, ".") == 0 ? "the whole mount" : held);
	if (by)
		buf_printf(out, " by %s", by);
	if (at) {
		buf_str(out, " at ");
		display_time(out, at);
	}
	buf_char(out, ')');
}

void refusal_text(struct buf *out, const char *name, const struct reply *r)
{
	const char *token = reply_get(r, "token");
	const char *highest = reply_get(r, "highest");

	if (r->err == -ESTALE && token && highest && strcmp(token, highest) != 0) {
		buf_printf(out, "stale token %s < %s", token, highest);
		add_setter(out, name, r);
		return;
	}
	buf_str(out, *r->text ? r->text : exit_error_text(r->err));
}

struct hint {
	int err;
	const char *verbs; /* NULL: all */
	const char *text;
};

static const struct hint hints[] = {
	{ ESTALE, "put commit", "nothing was published; what was refused is kept: fence rejects" },
	{ ESTALE, NULL,
	  "a newer owner has taken this path; only a higher token can change it now" },
	{ ECANCELED, "put commit rm", "nothing was changed; look again: fence show" },
	{ EEXIST, "put commit", "nothing was changed; look again: fence show" },
	{ EREMOTEIO, NULL,
	  "check before you repeat it (fence show, fence log), or repeat it with the same --op" },
	{ ENOSPC, "put commit rm", "nothing was published; nothing that was there is lost" },
	{ EDQUOT, "put commit rm", "nothing was published; nothing that was there is lost" },
};

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += len)
		if ((p == words || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

const char *refusal_hint(const char *verb, const struct reply *r)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (hints[i].err == -r->err && (!hints[i].verbs || has_word(hints[i].verbs, verb)))
			return hints[i].text;
	return NULL;
}
