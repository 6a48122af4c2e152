/* SPDX-License-Identifier: MIT */
/* What each kind of finding is called, means and asks for. Layer: store. */
#include "store/fsck/fsck_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REPAIR	"fence fsck --repair, with the store unmounted"
#define RESTORE "restore meta.db from a backup (fence restore-store)"
#define WRITE	"write the path again, or restore an older version of it (fence restore)"

struct rule {
	const char *name;
	const char *consequence;
	const char *remedy;
};

static const struct rule rules[FSCK_RULES_END] = {
	[FSCK_DATABASE] = { "database", "queries may miss rows or give wrong ones", RESTORE },
	[FSCK_ENTRY_FIELDS] = { "entry-fields", "this version cannot be shown", REPAIR },
	[FSCK_ONE_CURRENT] = { "one-current", "it is undefined which of them a reader gets",
			       REPAIR },
	[FSCK_OVERLAP] = { "overlap", "the history of the path shows only one of two versions",
			   REPAIR },
	[FSCK_VERSIONS] = { "versions", "PATH@N may mean the other version of that number",
			    "none is needed; later versions are numbered upwards" },
	[FSCK_ONE_PLACE] = { "one-place", "a directory shows up in two places", REPAIR },
	[FSCK_PARENT] = { "parent", "what the directory holds cannot be reached", REPAIR },
	[FSCK_REACHED] = { "reached", "the directory and what is in it cannot be reached", REPAIR },
	[FSCK_REVISION] = { "revision", "a later commit may take the same revision", REPAIR },
	[FSCK_NEXT_DIR] = { "next-dir", "a new directory may get the names of this one", REPAIR },
	[FSCK_TOKEN_COUNTER] = { "token-counter", "a token may be issued twice", REPAIR },
	[FSCK_FENCE_FIELDS] = { "fence-fields", "the fence does not hold",
				"claim the path again with a token above all in use" },
	[FSCK_FENCE_LOW] = { "fence-low", "a writer older than this version could replace it",
			     REPAIR },
	[FSCK_BLOB_FIELDS] = { "blob-fields", "reading it gives EIO", WRITE },
	[FSCK_REFERENCE] = { "reference", "reading this version gives EIO", WRITE },
	[FSCK_GARBAGE] = { "garbage", "gc could remove blobs that are needed", REPAIR },
	[FSCK_REJECT] = { "reject", "the data of a refused write is lost", "none" },
	[FSCK_XATTR] = { "xattr", "none; they take up space", REPAIR },
	[FSCK_DIRTIME] = { "dirtime", "none; they take up space", REPAIR },
	[FSCK_BLOB_FILE] = { "blob-file", "reading these versions gives EIO",
			     "put the blob back from a backup, or " WRITE },
	[FSCK_CONTENT] = { "content", "these versions hold bytes other than those committed",
			   "put the blob back from a backup, or " WRITE },
	[FSCK_MARKED] = { "marked", "reading these versions gives EIO",
			  "put the blob back and run fence fsck --data, or " WRITE },
	[FSCK_FOREIGN] = { "foreign", "none; fencefs does not touch it", "remove it" },
	[FSCK_ORPHAN] = { "orphan", "none; no version refers to it", "fence gc" },
	[FSCK_PAST] = { "past", "this version cannot be reached any more", "none is needed" },
	[FSCK_MODE] = { "mode", "sealed content could be written to", "chmod 0400" },
	[FSCK_SET_ASIDE] = { "set-aside", "reading these versions gives EIO", WRITE },
};

static const char *const actions[FSCK_ACTIONS_END] = {
	[FSCK_NOTHING] = "nothing",
	[FSCK_REHOME] = "move this version to lost+found in the tree",
	[FSCK_MAKE_DIR] = "give the directory a name in lost+found in the tree",
	[FSCK_ADD_REVISION] = "raise the newest revision",
	[FSCK_RAISE_NEXT_DIR] = "raise the counter of directory ids",
	[FSCK_RAISE_COUNTER] = "raise the counter of tokens",
	[FSCK_RAISE_FENCE] = "raise the fence of the path to that token",
	[FSCK_UNMARK] = "remove gc's mark",
	[FSCK_DROP_XATTR] = "save the attributes in STORE/lost+found and drop their rows",
	[FSCK_DROP_DIRTIME] = "save the times in STORE/lost+found and drop their rows",
	[FSCK_SET_FILE_ASIDE] = "move the file to STORE/lost+found, so that reading it gives EIO",
};

const char *fsck_rule_name(enum fsck_rule rule)
{
	return rules[rule].name;
}

const char *fsck_action_text(enum fsck_action action)
{
	return actions[action];
}

void fsck_finding_init(struct fsck_finding *x, enum fsck_rule rule, const char *fmt, ...)
{
	va_list ap;

	memset(x, 0, sizeof(*x));
	x->rule = rule;
	x->is_damage = rule < FSCK_FOREIGN;
	x->consequence = rules[rule].consequence;
	x->remedy = rules[rule].remedy;
	va_start(ap, fmt);
	vsnprintf(x->what, sizeof(x->what), fmt, ap);
	va_end(ap);
}
