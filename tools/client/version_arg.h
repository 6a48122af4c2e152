/* SPDX-License-Identifier: MIT */
/*
 * PATH@N: version N of a path, as `fence log` numbers them; PATH@rN: the path in the tree of
 * revision N. Only digits without a leading zero that end the argument count, after its last '@'.
 * What the path is called does not depend on what exists, so a name that itself ends like that is
 * written with one more '@': the file "a@2" is "a@2@", and its first version "a@2@1".
 */
#ifndef FENCE_TOOLS_CLIENT_VERSION_ARG_H
#define FENCE_TOOLS_CLIENT_VERSION_ARG_H

#include "parse/args.h"
#include "parse/buf.h"
#include "client/client.h"

#include <stdbool.h>

enum version_kind {
	VERSION_LIVE,	  /* no number: what is there now */
	VERSION_NUMBER,	  /* @N */
	VERSION_REVISION, /* @rN */
};

struct version_arg {
	enum version_kind kind;
	const char *given;  /* borrowed; the whole argument */
	struct buf path;    /* owned; without the number */
	const char *number; /* into given; "" for VERSION_LIVE */
};

void version_arg_parse(const char *given, struct version_arg *out);
void version_arg_fini(struct version_arg *v);

/* Where a version can be read. */
struct version_place {
	struct buf name; /* owned; below the mount point */
	bool is_dir;
};

/*
 * Finds it, for the version of a directory in the tree of the revision that made it. @c is a
 * conversation with the mount of @t, the target of v->path. 0, or the exit code: there is no such
 * version.
 */
int version_arg_find(const struct args *a, const struct version_arg *v, const struct target *t,
		     struct ctl_client *c, struct version_place *out);
void version_place_fini(struct version_place *p);

#define auto_version_arg   __attribute__((cleanup(version_arg_fini)))
#define auto_version_place __attribute__((cleanup(version_place_fini)))

#endif
