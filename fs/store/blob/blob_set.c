/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing; ids are random, so their first bytes are the hash. Removal
 * moves later slots of the run back (Knuth, The Art of Computer Programming 3, 6.4, algorithm R),
 * so there are no tombstones. Layer: store.
 */
#include "store/blob/blob_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

struct blob_slot {
	struct blob_id id;
	uint32_t count; /* 0: free */
};

void blob_set_fini(struct blob_set *set)
{
	free(set->slot);
	*set = (struct blob_set){ 0 };
}

static size_t home(const struct blob_set *set, const struct blob_id *id)
{
	uint64_t h;

	memcpy(&h, id->b, sizeof(h));
	return (size_t)h & (set->room - 1);
}

/* The slot of @id, or the free one where it would go. The set has room. */
static struct blob_slot *find(const struct blob_set *set, const struct blob_id *id)
{
	size_t i = home(set, id);

	while (set->slot[i].count && memcmp(&set->slot[i].id, id, sizeof(*id)) != 0)
		i = (i + 1) & (set->room - 1);
	return &set->slot[i];
}

static int grow(struct blob_set *set)
{
	struct blob_set larger = { .room = set->room ? 2 * set->room : ROOM_FIRST, .n = set->n };

	larger.slot = calloc(larger.room, sizeof(*larger.slot));
	if (!larger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < set->room; i++)
		if (set->slot[i].count)
			*find(&larger, &set->slot[i].id) = set->slot[i];
	free(set->slot);
	*set = larger;
	return 0;
}

int blob_set_add(struct blob_set *set, const struct blob_id *id)
{
	struct blob_slot *slot;

	if (2 * (set->n + 1) > set->room && grow(set) < 0)
		return -ENOMEM;
	slot = find(set, id);
	if (!slot->count) {
		slot->id = *id;
		set->n++;
	}
	slot->count++;
	return 0;
}

static void close_gap(struct blob_set *set, size_t gap)
{
	size_t mask = set->room - 1;

	for (size_t i = (gap + 1) & mask; set->slot[i].count; i = (i + 1) & mask) {
		/* It may move to the gap unless its home lies between the gap and itself. */
		if (((i - home(set, &set->slot[i].id)) & mask) < ((i - gap) & mask))
			continue;
		set->slot[gap] = set->slot[i];
		gap = i;
	}
	set->slot[gap].count = 0;
}

void blob_set_drop(struct blob_set *set, const struct blob_id *id)
{
	struct blob_slot *slot = set->n ? find(set, id) : NULL;

	if (!slot || !slot->count || --slot->count)
		return;
	set->n--;
	close_gap(set, (size_t)(slot - set->slot));
}

bool blob_set_has(const struct blob_set *set, const struct blob_id *id)
{
	return set->n && find(set, id)->count;
}
