/* SPDX-License-Identifier: MIT */
/*
 * See past_mode.h. Core layer.
 *
 * Neither alone will do: a file that was public may have been closed since, perhaps removed after
 * that; and who may write in a directory can put a file of his own, open to all, in the place of a
 * secret one.
 */
#include "core/access/past_mode.h"

#include <errno.h>

static uint32_t class_bits(uint32_t mode, int shift)
{
	return mode >> shift & 07;
}

/*
 * What @mode gives, whatever class one is in there: where owner or group differ, a user's class in
 * one says nothing of his class in the other.
 */
static uint32_t least_bits(uint32_t mode)
{
	return class_bits(mode, 6) & class_bits(mode, 3) & class_bits(mode, 0);
}

static uint32_t narrowed(const struct entry *then, const struct entry *last)
{
	uint32_t kept = then->mode & last->mode;
	uint32_t least;

	if (then->uid == last->uid && then->gid == last->gid)
		return kept;
	least = least_bits(then->mode);
	if (then->uid == last->uid)
		return (kept & 07700) | (last->mode & (least << 3 | least));
	return (kept & 07000) | (last->mode & (least << 6 | least << 3 | least));
}

int past_mode(struct db *db, int64_t now, const struct entry *e, struct entry *out)
{
	struct entry last;
	int err = entry_newest(db, e, now, &last);

	if (err == -ENOENT)
		last = *e;
	else if (err < 0)
		return err;
	out->mode = narrowed(e, &last);
	out->uid = last.uid;
	out->gid = last.gid;
	return 0;
}
