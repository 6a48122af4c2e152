/* SPDX-License-Identifier: MIT */
/*
 * Prints the tables of fs/wire as JSON, for the tests that hold the documentation to them. No
 * string in them needs escaping.
 */
#include "wire/ctl_verb.h"
#include "wire/event_kind.h"
#include "wire/mount_option.h"

#include <stdio.h>

static const char *const uses[] = {
	[MOUNT_OWN] = "own",	     [MOUNT_PASSED] = "passed",	  [MOUNT_DROPPED] = "dropped",
	[MOUNT_TIMEOUT] = "timeout", [MOUNT_REMOUNT] = "remount", [MOUNT_UNSAFE] = "unsafe",
};

static void dump_key(const struct ctl_key *k)
{
	printf("{\"name\": \"%s\", \"type\": \"%s\", \"sample\": \"%s\", \"required\": %s, "
	       "\"choice\": %d}",
	       k->name, ctl_type_name(k->type), k->sample,
	       k->need == CTL_REQUIRED ? "true" : "false", k->choice);
}

static void dump_verb(const struct ctl_verb *v)
{
	printf("{\"name\": \"%s\", \"meaning\": \"%s\", \"replies\": \"%s\", \"example\": \"%s\", "
	       "\"keys\": [",
	       v->name, v->meaning, v->replies, v->example);
	for (const struct ctl_key *k = v->keys; k->name; k++) {
		fputs(k == v->keys ? "" : ",\n  ", stdout);
		dump_key(k);
	}
	fputs("]}", stdout);
}

int main(void)
{
	fputs("{\"verbs\": [", stdout);
	for (int i = 0; i < CTL_VERBS; i++) {
		fputs(i ? ",\n " : "\n ", stdout);
		dump_verb(&ctl_verbs[i]);
	}
	fputs("],\n\"mount_options\": [", stdout);
	for (const struct mount_option *o = mount_options; o->name; o++)
		printf("%s{\"name\": \"%s\", \"use\": \"%s\", \"value\": %d}",
		       o == mount_options ? "\n " : ",\n ", o->name, uses[o->use], o->value);
	fputs("],\n\"events\": [", stdout);
	for (int kind = EVENT_COMMIT; kind <= EVENT_KIND_LAST; kind++)
		printf("%s\"%s\"", kind == EVENT_COMMIT ? "" : ", ",
		       event_kind_name((enum event_kind)kind));
	fputs("]}\n", stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
