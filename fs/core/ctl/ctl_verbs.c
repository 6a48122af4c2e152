/* SPDX-License-Identifier: MIT */
/* The table of verbs and their keys, and the verbs that only look. Core layer. */
#include "core/ctl/ctl_impl.h"

#include "base/errname.h"
#include "base/log.h"
#include "base/version.h"
#include "store/fence/fence.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct verb {
	const char *name;
	const char *required; /* space-separated keys */
	const char *optional;
	void (*run)(struct ctl_call *call);
};

static const struct verb verbs[] = {
	{ "hello", "", "proto", ctl_hello },
	{ "claim", "path token", "owner", ctl_claim },
	{ "open", "path token", "owner keep ttl parents exclusive", ctl_open_session },
	{ "expect", "path", "session version absent hash", ctl_expect },
	{ "commit", "", "session op seq once", ctl_commit },
	{ "abort", "", "session", ctl_abort },
	{ "outcome", "", "session path op", ctl_outcome },
	{ "put", "path token size", "owner mode parents op once version absent hash", ctl_put },
	{ "remove", "path token", "owner op version", ctl_remove },
	{ "acquire", "path ttl", "wait owner keep", ctl_acquire },
	{ "renew", "path token", "owner ttl", ctl_renew },
	{ "release", "path", "token owner force", ctl_release },
	{ "restore", "path token version", "owner op once parents", ctl_restore },
	{ "at", "", "time", ctl_at },
	{ "stat", "path", "", ctl_stat },
	{ "reset", "path token", "owner", ctl_reset },
	{ "list", "kind", "after path", ctl_list },
	{ "damaged", "blob", "good", ctl_damaged },
	{ "gc", "",
	  "grace path dry_run after_restore forget_fences keep_last keep_within keep_hourly"
	  " keep_daily keep_weekly keep_monthly keep_yearly",
	  ctl_gc },
	{ "policy", "",
	  "max_size keep_last keep_within keep_hourly keep_daily keep_weekly keep_monthly"
	  " keep_yearly",
	  ctl_policy },
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

_Static_assert(N_VERBS <= METRIC_VERBS_MAX, "each is counted");

const char *ctl_verb_name(int i)
{
	return (size_t)i < N_VERBS ? verbs[i].name : NULL;
}

const char ctl_help[] =
	"fencefs control file: write one request a line, read one reply a line.\n"
	"\n"
	"  exec 3<>.fence/ctl\n"
	"  echo 'open path=reports token=42 owner=nightly' >&3; read -r reply <&3\n"
	"  # ok session=ID dir=.fence/sessions/ID path=.fence/sessions/ID/reports token=42\n"
	"  # ... write files below that path, then:\n"
	"  echo commit >&3; read -r reply <&3     # ok revision=7 changed=3\n"
	"\n"
	"A request is: verb key=value ...; in a value, space is %20, % is %25, LF is %0A.\n"
	"A reply is: ok key=value ...  or  err ERRNO key=value ... # why\n"
	"\n"
	"  hello\n"
	"  claim   path=P token=T [owner=O]\n"
	"  open    path=P token=T [owner=O] [keep=1] [ttl=1h] [parents=1] [exclusive=1]\n"
	"  expect  path=P (version=N | absent=1 | hash=H) [session=ID]\n"
	"  commit  [session=ID] [op=KEY] [seq=N] [once=1]\n"
	"  abort   [session=ID]\n"
	"  outcome session=ID | path=P op=KEY\n"
	"  put     path=P token=T size=N [mode=644] [parents=1] [op=KEY] [once=1] [version=N|absent=1|hash=H]\n"
	"          followed by N bytes\n"
	"  remove  path=P token=T [op=KEY] [version=N]\n"
	"  acquire path=P ttl=30s [wait=60s] [owner=O] [keep=1]\n"
	"  renew   path=P token=T [owner=O] [ttl=30s]\n"
	"  release path=P token=T [owner=O]\n"
	"  restore path=P token=T version=N [op=KEY] [once=1]\n"
	"  at      [time=SECONDS]\n"
	"  stat    path=P\n"
	"  list    kind=session|lease|reject|version|event [path=P] [after=ID]\n"
	"  reset   path=P token=T          (root)\n"
	"  damaged blob=ID [good=1]        (root; fence fsck)\n"
	"  gc      [grace=1h] [keep_last=N] [keep_within=30d] [path=P//Q] [dry_run=1]   (root)\n"
	"          ends early when this file is closed; list kind=gc says how far it is\n"
	"  policy  [keep_last=N] [keep_within=30d] [max_size=BYTES]       (setting it: root)\n"
	"\n"
	"Sessions and leases taken here end when this file is closed, unless taken with keep=1.\n";

/* Is @key one of the space-separated @words? */
static bool has_word(const char *words, const char *key)
{
	size_t len = strlen(key);

	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == len && strncmp(words, key, n) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

static int check_keys(const struct verb *v, const struct ctl_line *l, struct ctl_error *error)
{
	const char *words = v->required;
	char key[32];

	for (int i = 0; i < l->n; i++)
		if (!has_word(v->required, l->kv[i].key) && !has_word(v->optional, l->kv[i].key))
			return ctl_error_set(error, EINVAL, l->kv[i].key, NULL,
					     "%s knows no key %s=", v->name, l->kv[i].key);
	while (*words) {
		size_t n = strcspn(words, " ");

		snprintf(key, sizeof(key), "%.*s", (int)n, words);
		if (!ctl_line_get(l, key))
			return ctl_error_set(error, EINVAL, key, NULL, "%s needs %s=", v->name,
					     key);
		words += n + (words[n] == ' ');
	}
	return 0;
}

static int find(const struct ctl_line *l, const struct verb **out, struct ctl_error *error)
{
	char known[256] = "";

	for (size_t i = 0; i < N_VERBS; i++) {
		if (strcmp(l->verb, verbs[i].name) == 0) {
			*out = &verbs[i];
			return 0;
		}
		strcat(strcat(known, " "), verbs[i].name);
	}
	return ctl_error_set(error, EOPNOTSUPP, "verb", l->verb, "known verbs:%s", known);
}

static bool is_put(const struct ctl_call *call)
{
	return strncmp(call->text, "put", 3) == 0 && (!call->text[3] || call->text[3] == ' ');
}

void ctl_execute(struct ctl_call *call)
{
	const struct verb *v = verbs;
	struct ctl_error error;
	int err = ctl_line_parse(call->text, call->text_len, &call->line, &error);

	if (!err)
		err = find(&call->line, &v, &error);
	if (!err)
		call->verb = (int)(v - verbs) + 1;
	if (!err)
		err = check_keys(v, &call->line, &error);
	if (!err)
		v->run(call);
	else if (is_put(call))
		ctl_put_refuse(call, &error);
	else
		ctl_call_error(call, &error);
}

int ctl_owner(const struct ctl_call *call, const char **out, char *buf, struct ctl_error *error)
{
	snprintf(buf, OWNER_MAX + 1, "uid:%u", call->ctl->who.uid);
	*out = buf;
	return ctl_word(&call->line, "owner", out, error);
}

void ctl_hello(struct ctl_call *call)
{
	struct core *c = call->ctl->c;
	const char *proto = ctl_line_get(&call->line, "proto");

	if (proto && strcmp(proto, "1") != 0) {
		ctl_call_fail(call, EPROTONOSUPPORT, "proto", proto, "this fencefs speaks proto=1");
		return;
	}
	reply_ok(&call->reply);
	reply_str(&call->reply, "fencefs", version());
	reply_int(&call->reply, "proto", 1);
	reply_str(&call->reply, "store", store_uuid(c->store));
	reply_int(&call->reply, "revision", atomic_load(&c->live.rev));
	reply_str(&call->reply, "mount", c->opt.mountpoint);
	reply_str(&call->reply, "features", atomic_load(&c->features));
	ctl_call_done(call);
}

/*
 * What a caller can make sense of; anything else would look like a refusal (EEXIST, EBUSY, EACCES,
 * EROFS, …), and is our trouble.
 */
static bool is_told(int err)
{
	static const int told[] = { ENOSPC, EDQUOT,  EREMOTEIO, ESHUTDOWN,    EIO,
				    ENOMEM, EUCLEAN, EINVAL,	ENAMETOOLONG, ERANGE };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (err == -told[i])
			return true;
	return false;
}

void ctl_call_database_error(struct ctl_call *call, int err)
{
	const char *what = "the store's database failed";

	if (!is_told(err)) {
		log_error("the database failed unexpectedly: %s", errname(err));
		ctl_call_fail(call, EIO, NULL, NULL, "%s", what);
		return;
	}
	if (err == -ENOSPC || err == -EDQUOT)
		what = "no space left in the store: its file system is full, or the limit that fence policy sets is reached; free some and try again";
	else if (err == -EREMOTEIO)
		what = "whether it was written is unknown: mount again and ask with outcome";
	else if (err == -ESHUTDOWN)
		what = "the file system is being unmounted";
	else if (err == -EIO)
		what = "the store had a write error and is read-only until it is mounted again";
	ctl_call_fail(call, err, NULL, NULL, "%s", what);
}
