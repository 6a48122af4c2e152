/* SPDX-License-Identifier: MIT */
/* The tree as it was: `.fence/at/REV` and `.fence/versions/PATH/N`, as views. */
#ifndef FENCE_CORE_VIEW_SNAPSHOT_H
#define FENCE_CORE_VIEW_SNAPSHOT_H

#include <stdint.h>

struct core;
struct view;

/*
 * The whole tree at @revision, as a new reference. One view a revision for as long as somebody
 * refers to it. -ENOENT: no such revision.
 */
int snapshot_at(struct core *c, int64_t revision, struct view **out);
/* The newest visible revision. */
int64_t snapshot_newest(struct core *c);
/* The newest revision that was made at or before @at (wall clock, ns). */
int snapshot_by_time(struct core *c, int64_t at, int64_t *out);

/*
 * The tree of versions (borrowed): a directory for each path that ever was, in it the path's
 * versions by number and the names that ever were beneath it. Where a number is both, it is the
 * version.
 */
struct view *versions_view(struct core *c);

#endif
