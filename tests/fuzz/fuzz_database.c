/* SPDX-License-Identifier: MIT */
/*
 * A small store whose database somebody has changed, with page checksums that match: whoever can
 * write to the file can write those, too. It is opened, checked and read; each of these may fail,
 * none may crash, hang or assert.
 *
 * Input: any number of { page, offset (2 bytes), length, bytes }, then what is left is ignored.
 */
#include "template.h"

#include "store/fsck/fsck.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "store/tree/entry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore(void *arg, const struct fsck_finding *f)
{
	(void)arg;
	(void)f;
	return 0;
}

static void read_tree(struct store *s)
{
	struct entry *rows = calloc(64, sizeof(*rows)), e;
	struct db *db;

	if (rows && store_reader_get(s, &db) == 0) {
		entry_list(db, STORE_ROOT_DIR, ENTRY_NOW, "", rows, 64);
		entry_resolve(db, "d/file", ENTRY_NOW, &e);
		store_reader_put(s, db);
	}
	free(rows);
}

static void check(struct store *s)
{
	struct fsck_options opt = { .fn = ignore };
	struct fsck *f;

	if (fsck_open(s, &opt, &f) < 0)
		return;
	fsck_structure(f);
	fsck_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg msg;
	struct store *s;

	template_restore();
	while (size >= 4) {
		size_t page = data[0], at = (size_t)(data[1] << 8 | data[2]) % 4088, n = data[3];

		data += 4;
		size -= 4;
		n = n < size ? n : size;
		template_patch(page, at, data, n);
		data += n;
		size -= n;
	}
	template_write();
	if (store_open(template_path(), STORE_OWN, NULL, &s, &msg) < 0)
		return 0;
	read_tree(s);
	check(s);
	store_close(s);
	return 0;
}
