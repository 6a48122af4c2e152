/* SPDX-License-Identifier: MIT */
/* Reads of unmodified versions, the same in every view. Core layer. */
#include "core/view/view_impl.h"

#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * 2014) is a bijection, so two nodes of one view never share a number; numbers of different views
 * meet with probability 2^-64 a pair.
 */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t node_ino(uint64_t view, enum entry_kind kind, int64_t id)
{
	uint64_t key = (uint64_t)id << 1 | (kind == ENTRY_DIR);

	return mix(key ^ mix(view)) & INT64_MAX;
}

void node_from_entry(const struct view *v, const struct entry *e, struct node *out)
{
	*out = (struct node){
		.id = e->kind == ENTRY_DIR ? e->child : e->row,
		.kind = e->kind,
		.mode = e->mode,
		.uid = e->uid,
		.gid = e->gid,
		.size = e->kind == ENTRY_DIR ? 4096 : e->size,
		.mtime = e->mtime,
		.ctime = e->mtime,
		.blocks = e->kind == ENTRY_DIR ? 8 : (e->size + 511) / 512,
		.cacheable = true,
	};
	out->ino = node_ino(v->number, e->kind, out->id);
}

int base_row(struct db *db, int64_t rev, enum entry_kind kind, int64_t id, struct entry *out)
{
	if (kind == ENTRY_DIR)
		return entry_by_child(db, id, rev, out);
	return entry_by_row(db, id, out);
}

static int text(char *s, void **out, size_t *out_len)
{
	if (!s)
		return -ENOMEM;
	*out = s;
	*out_len = strlen(s);
	return 0;
}

static int number(int64_t value, void **out, size_t *out_len)
{
	char *s;

	return text(asprintf(&s, "%" PRId64, value) < 0 ? NULL : s, out, out_len);
}

static int hash_text(struct db *db, const struct entry *e, void **out, size_t *out_len)
{
	struct blob_info info;
	struct blob_hash empty;
	struct entry now;
	int err;

	if (e->kind != ENTRY_FILE)
		return -ENODATA;
	if (!e->has_blob) {
		hash_buf("", 0, &empty);
		return text(strdup(blob_hex(empty.b).s), out, out_len);
	}
	err = blob_get(db, &e->blob, false, &info);
	if (err == -ENOENT && entry_by_row(db, e->row, &now) == -ENOENT)
		return -ESTALE; /* pruned meanwhile */
	if (err < 0)
		return err == -ENOENT ? -EIO : err;
	return text(strdup(blob_hex(info.hash.b).s), out, out_len);
}

static int fence_xattr(struct db *db, const struct entry *e, const char *name, void **out,
		       size_t *out_len)
{
	struct entry_origin origin;
	int err;

	if (strcmp(name, "version") == 0)
		return number(e->seq, out, out_len);
	if (strcmp(name, "revision") == 0)
		return number(e->born, out, out_len);
	if (strcmp(name, "token") == 0)
		return number(e->token, out, out_len);
	if (strcmp(name, "hash") == 0)
		return hash_text(db, e, out, out_len);
	if (strcmp(name, "owner") != 0)
		return -ENODATA;
	err = entry_origin(db, e->row, &origin);
	if (err < 0)
		return err;
	return text(strdup(origin.owner), out, out_len);
}

int base_getxattr(struct db *db, const struct entry *e, const char *name, void **out,
		  size_t *out_len)
{
	if (strncmp(name, "user.", 5) != 0)
		return -EOPNOTSUPP;
	if (strncmp(name, "user.fence.", 11) == 0)
		return fence_xattr(db, e, name + 11, out, out_len);
	return entry_xattr_get(db, e->row, name, out, out_len);
}

struct names {
	char *s;
	size_t len;
};

static int names_add(void *arg, const char *name, const void *value, size_t value_len)
{
	struct names *n = arg;
	size_t len = strlen(name) + 1;
	char *grown = realloc(n->s, n->len + len);

	(void)value;
	(void)value_len;
	if (!grown)
		return -ENOMEM;
	memcpy(grown + n->len, name, len);
	n->s = grown;
	n->len += len;
	return 0;
}

int base_listxattr(struct db *db, const struct entry *e, char **out, size_t *out_len)
{
	struct names n = { 0 };
	int err = entry_xattr_each(db, e->row, names_add, &n);

	if (err < 0) {
		free(n.s);
		return err;
	}
	*out = n.s;
	*out_len = n.len;
	return 0;
}
