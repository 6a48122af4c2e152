/* SPDX-License-Identifier: MIT */
/* See ctl_verb.h. Layer: wire. Input is untrusted: nothing asserts. */
#include "wire/ctl_verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH                                                \
	{                                                   \
		"path", CTL_TYPE_PATH, "P", CTL_REQUIRED, 0 \
	}
#define TOKEN                                                 \
	{                                                     \
		"token", CTL_TYPE_TOKEN, "T", CTL_REQUIRED, 0 \
	}
#define OWNER                                                \
	{                                                    \
		"owner", CTL_TYPE_WORD, "O", CTL_OPTIONAL, 0 \
	}
#define SESSION                                                \
	{                                                      \
		"session", CTL_TYPE_HEX, "ID", CTL_OPTIONAL, 0 \
	}
#define OP                                                  \
	{                                                   \
		"op", CTL_TYPE_WORD, "KEY", CTL_OPTIONAL, 0 \
	}
#define FLAG(key)                                        \
	{                                                \
		key, CTL_TYPE_FLAG, "1", CTL_OPTIONAL, 0 \
	}
#define TTL                                                      \
	{                                                        \
		"ttl", CTL_TYPE_DURATION, "30s", CTL_OPTIONAL, 0 \
	}
#define COUNT(key, sample)                                   \
	{                                                    \
		key, CTL_TYPE_COUNT, sample, CTL_OPTIONAL, 0 \
	}
#define SPAN(key, sample)                                       \
	{                                                       \
		key, CTL_TYPE_DURATION, sample, CTL_OPTIONAL, 0 \
	}

/* What a path must be for the change to happen. */
#define CONDITION                                                    \
	{ "version", CTL_TYPE_COUNT, "N", CTL_OPTIONAL, 'v' },       \
		{ "absent", CTL_TYPE_FLAG, "1", CTL_OPTIONAL, 'a' }, \
	{                                                            \
		"hash", CTL_TYPE_HEX, "H", CTL_OPTIONAL, 'h'         \
	}

/* What gc keeps. */
#define KEEP                                                                                     \
	COUNT("keep_last", "N"), SPAN("keep_within", "30d"), COUNT("keep_hourly", "N"),          \
		COUNT("keep_daily", "N"), COUNT("keep_weekly", "N"), COUNT("keep_monthly", "N"), \
		COUNT("keep_yearly", "N")
#define KEEP_REPLIES \
	"keep_last keep_hourly keep_daily keep_weekly keep_monthly keep_yearly keep_within"

/* clang-format off */
const struct ctl_verb ctl_verbs[CTL_VERBS] = {
	[CTL_HELLO] = {
		"hello", "who is there, and which protocol",
		{ { "proto", CTL_TYPE_COUNT, "1", CTL_OPTIONAL, 0 } },
		"fencefs proto store revision mount features",
		"hello proto=1", NULL, true,
	},
	[CTL_CLAIM] = {
		"claim", "raise the fence of a path before anything is written",
		{ PATH, TOKEN, OWNER },
		"token",
		"claim path=reports token=42 owner=nightly", NULL, false,
	},
	[CTL_OPEN] = {
		"open", "open a session, which claims the path",
		{ PATH, TOKEN, OWNER, FLAG("keep"), SPAN("ttl", "1h"), FLAG("parents"),
		  FLAG("exclusive") },
		"session dir path token",
		"open path=reports/ token=42 owner=nightly", NULL, false,
	},
	[CTL_EXPECT] = {
		"expect", "make the commit depend on what a path is",
		{ PATH, { "version", CTL_TYPE_COUNT, "N", CTL_REQUIRED, 'v' },
		  { "absent", CTL_TYPE_FLAG, "1", CTL_REQUIRED, 'a' },
		  { "hash", CTL_TYPE_HEX, "H", CTL_REQUIRED, 'h' }, SESSION },
		"",
		"expect path=reports/today.csv version=3", NULL, false,
	},
	[CTL_COMMIT] = {
		"commit", "publish all changes of a session at once",
		{ SESSION, OP, COUNT("seq", "N"), FLAG("once") },
		"revision changed",
		"commit op=run-17", NULL, false,
	},
	[CTL_ABORT] = {
		"abort", "end a session without publishing",
		{ SESSION },
		"",
		"abort", NULL, false,
	},
	[CTL_OUTCOME] = {
		"outcome", "what became of a commit",
		{ { "session", CTL_TYPE_HEX, "ID", CTL_REQUIRED, 's' },
		  { "path", CTL_TYPE_PATH, "P", CTL_REQUIRED, 'p' },
		  { "op", CTL_TYPE_WORD, "KEY", CTL_REQUIRED, 'p' } },
		"outcome revision changed token highest",
		"outcome path=reports op=run-17", NULL, true,
	},
	[CTL_PUT] = {
		"put", "publish the bytes that follow as one file",
		{ PATH, TOKEN, { "size", CTL_TYPE_COUNT, "N", CTL_REQUIRED, 0 }, OWNER,
		  { "mode", CTL_TYPE_MODE, "644", CTL_OPTIONAL, 0 }, FLAG("parents"), OP,
		  FLAG("once"), CONDITION },
		"revision changed",
		"put path=reports/note.txt token=42 size=6", "followed by N bytes", false,
	},
	[CTL_REMOVE] = {
		"remove", "remove a file or an empty directory",
		{ PATH, TOKEN, OWNER, OP, COUNT("version", "N") },
		"revision changed",
		"remove path=reports/note.txt token=42", NULL, false,
	},
	[CTL_ACQUIRE] = {
		"acquire", "take the lease on a path, with a new token",
		{ PATH, { "ttl", CTL_TYPE_DURATION, "30s", CTL_REQUIRED, 0 }, SPAN("wait", "60s"),
		  OWNER, FLAG("keep") },
		"token expires_in",
		"acquire path=reports ttl=30s wait=10m owner=job-c", NULL, false,
	},
	[CTL_RENEW] = {
		"renew", "give a lease its full time again",
		{ PATH, TOKEN, OWNER, TTL },
		"token expires_in",
		"renew path=reports token=43 owner=job-c", NULL, false,
	},
	[CTL_RELEASE] = {
		"release", "give a lease back",
		{ PATH, { "token", CTL_TYPE_TOKEN, "T", CTL_OPTIONAL, 0 }, OWNER, FLAG("force") },
		"",
		"release path=reports token=43 owner=job-c", "force=1: root", false,
	},
	[CTL_RESTORE] = {
		"restore", "publish the content of an old version again",
		{ PATH, TOKEN, { "version", CTL_TYPE_COUNT, "N", CTL_REQUIRED, 0 }, OWNER, OP,
		  FLAG("once"), FLAG("parents") },
		"revision changed",
		"restore path=reports/today.csv token=44 version=2", NULL, false,
	},
	[CTL_AT] = {
		"at", "the revision at a time; without it, now",
		{ { "time", CTL_TYPE_TIME, "SECONDS", CTL_OPTIONAL, 0 } },
		"revision",
		"at time=1764500000.25", NULL, true,
	},
	[CTL_STAT] = {
		"stat", "what is there, its fence and its lease",
		{ PATH },
		"path kind version revision token size highest set_by set_at held_path lease_owner"
		" lease_token remaining lease_path",
		"stat path=reports", NULL, true,
	},
	[CTL_RESET] = {
		"reset", "replace a fence, after an absurd token",
		{ PATH, TOKEN, OWNER },
		"token highest was",
		"reset path=reports token=50", "root", false,
	},
	[CTL_LIST] = {
		"list", "one record for each request, until end=1",
		{ { "kind", CTL_TYPE_WORD, "session|lease|reject|version|event|gc", CTL_REQUIRED, 0 },
		  { "path", CTL_TYPE_PATH, "P", CTL_OPTIONAL, 0 },
		  { "after", CTL_TYPE_WORD, "ID", CTL_OPTIONAL, 0 } },
		"id end path token owner uid opened idle ttl keep staged state remaining waiters at highest"
		" held_by held_path op session stage why size data hash version revision kind from until"
		" current event detail changed done total",
		"list kind=reject path=reports", NULL, true,
	},
	[CTL_DAMAGED] = {
		"damaged", "a blob is damaged, or good again",
		{ { "blob", CTL_TYPE_HEX, "ID", CTL_REQUIRED, 0 }, FLAG("good") },
		"",
		"damaged blob=0123456789abcdef0123456789abcdef", "root; fence fsck", false,
	},
	[CTL_GC] = {
		"gc", "remove what nobody needs",
		{ SPAN("grace", "1h"), { "path", CTL_TYPE_PATHS, "P//Q", CTL_OPTIONAL, 0 },
		  FLAG("dry_run"), FLAG("after_restore"), SPAN("forget_fences", "90d"), KEEP },
		"refused refused_bytes crashed crashed_bytes pruned pruned_bytes staging staging_bytes"
		" waiting waiting_bytes versions fences pages entries blobs pinned missing foreign"
		" foreign_name restored",
		"gc grace=1h keep_last=10",
		"root; stops early when this file is closed; list kind=gc says how far it is", false,
	},
	[CTL_POLICY] = {
		"policy", "what gc keeps, and how large the store may grow",
		{ COUNT("max_size", "BYTES"), KEEP },
		KEEP_REPLIES " max_size",
		"policy keep_last=10 keep_within=30d", "to set it: root", false,
	},
};
/* clang-format on */

static const char *const type_names[] = {
	[CTL_TYPE_PATH] = "path",   [CTL_TYPE_PATHS] = "paths",	      [CTL_TYPE_TOKEN] = "token",
	[CTL_TYPE_COUNT] = "count", [CTL_TYPE_DURATION] = "duration", [CTL_TYPE_TIME] = "time",
	[CTL_TYPE_MODE] = "mode",   [CTL_TYPE_FLAG] = "flag",	      [CTL_TYPE_WORD] = "word",
	[CTL_TYPE_HEX] = "hex",
};

const char *ctl_type_name(enum ctl_type type)
{
	return type_names[type];
}

const struct ctl_key *ctl_verb_key(const struct ctl_verb *v, const char *name)
{
	for (const struct ctl_key *k = v->keys; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

static int check_keys(const struct ctl_verb *v, const struct ctl_line *l, struct ctl_error *error)
{
	for (int i = 0; i < l->n; i++)
		if (!ctl_verb_key(v, l->kv[i].key))
			return ctl_error_set(error, -EINVAL, l->kv[i].key, NULL,
					     "%s knows no key %s=", v->name, l->kv[i].key);
	for (const struct ctl_key *k = v->keys; k->name; k++)
		if (k->need == CTL_REQUIRED && !k->choice && !ctl_line_get(l, k->name))
			return ctl_error_set(error, -EINVAL, k->name, NULL, "%s needs %s=", v->name,
					     k->name);
	return 0;
}

static int unknown_verb(const char *name, struct ctl_error *error)
{
	char known[256] = "";
	size_t len = 0;

	for (int i = 0; i < CTL_VERBS && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, " %s", ctl_verbs[i].name);
	return ctl_error_set(error, -EOPNOTSUPP, "verb", name, "known verbs:%s", known);
}

const struct ctl_verb *ctl_verb_find(const char *request)
{
	size_t len = strcspn(request, " \n");

	for (int i = 0; i < CTL_VERBS; i++)
		if (strlen(ctl_verbs[i].name) == len &&
		    memcmp(ctl_verbs[i].name, request, len) == 0)
			return &ctl_verbs[i];
	return NULL;
}

int ctl_verb_check(const struct ctl_line *l, enum ctl_verb_id *out, struct ctl_error *error)
{
	const struct ctl_verb *v = ctl_verb_find(l->verb);

	if (!v)
		return unknown_verb(l->verb, error);
	*out = (enum ctl_verb_id)(v - ctl_verbs);
	return check_keys(v, l, error);
}
