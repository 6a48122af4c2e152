/* SPDX-License-Identifier: MIT */
/*
 * See spare.h. Layer: store.
 *
 * A spare file may be written by its new owner only. So a file becomes one only if there is no
 * other descriptor of it at all, in this process, in the kernel (backing files) or of a mapping:
 * then, and only then, fcntl(F_SETLEASE, F_WRLCK) is granted. None can appear afterwards: what is
 * staged is opened by name under the lock of its session, which has given the name up by now.
 */
#include "store/blob/spare.h"

#include "base/cleanup.h"
#include "base/lock.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define SPARES_MAX 65536

struct spares {
	struct lock lock;    /* guards: */
	struct blob_id *ids; /* owned; room for SPARES_MAX, untouched memory costs nothing */
	size_t n;
};

int spares_new(struct spares **out)
{
	struct spares *sp = calloc(1, sizeof(*sp));

	if (!sp)
		return -ENOMEM;
	sp->ids = calloc(SPARES_MAX, sizeof(*sp->ids));
	if (!sp->ids) {
		free(sp);
		return -ENOMEM;
	}
	lock_init(&sp->lock, LOCK_SPARES);
	*out = sp;
	return 0;
}

void spares_free(struct store *s, struct spares *sp)
{
	for (size_t i = 0; i < sp->n; i++)
		(void)staging_remove(s, &sp->ids[i]);
	lock_fini(&sp->lock);
	free(sp->ids);
	free(sp);
}

static bool take(struct spares *sp, struct blob_id *out)
{
	bool some;

	lock_take(&sp->lock);
	some = sp->n > 0;
	if (some)
		*out = sp->ids[--sp->n];
	lock_drop(&sp->lock);
	return some;
}

static bool keep(struct spares *sp, const struct blob_id *id)
{
	bool room;

	lock_take(&sp->lock);
	room = sp->n < SPARES_MAX;
	if (room)
		sp->ids[sp->n++] = *id;
	lock_drop(&sp->lock);
	return room;
}

int staging_take(struct store *s, struct blob_id *out_id, int *out_fd)
{
	struct blob_id id;
	int err;

	while (take(store_spares(s), &id)) {
		auto_fd int fd = -1;

		if (staging_open(s, &id, O_RDWR, &fd) < 0)
			continue;
		if (futimens(fd, NULL) < 0)
			return -errno;
		*out_id = id;
		*out_fd = take_fd(&fd);
		return 0;
	}
	err = blob_id_new(&id);
	if (!err)
		err = staging_create(s, &id, out_fd);
	if (!err)
		*out_id = id;
	return err;
}

/* Whether @fd is the only descriptor of its file; then it is empty now. */
static bool make_spare(int fd)
{
	bool empty;

	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return false;
	empty = ftruncate(fd, 0) == 0;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return empty;
}

int staging_give_up(struct store *s, const struct blob_id *id)
{
	auto_fd int fd = -1;
	int err = staging_open(s, id, O_RDWR, &fd);

	if (err < 0)
		return err;
	if (make_spare(fd) && keep(store_spares(s), id))
		return 0;
	return staging_remove(s, id);
}
