/* SPDX-License-Identifier: MIT */
/* Lines of mountinfo, and mounts found among them. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/mount_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

static bool parse(const char *line, struct mount_row *out)
{
	char copy[512];

	strcpy(copy, line);
	return mount_row_parse(copy, out);
}

static void forget(struct mount_row *row)
{
	free(row->root);
	free(row->point);
	free(row->source);
}

static void a_line_is_taken_apart(void **state)
{
	struct mount_row row;

	(void)state;
	assert_true(parse(
		"41 27 0:52 / /mnt/a\\040b\\134c\\012 rw,nosuid shared:7 master:1 - fuse.fencefs /srv/st\\040ore "
		"rw,user_id=0",
		&row));
	assert_int_equal(row.id, 41);
	assert_true(row.dev == makedev(0, 52));
	assert_string_equal(row.root, "/");
	assert_string_equal(row.point, "/mnt/a b\\c\n");
	assert_string_equal(row.source, "/srv/st ore");
	assert_true(row.is_fencefs);
	forget(&row);
}

static void types_are_told_apart(void **state)
{
	static const struct {
		const char *line;
		bool is_fencefs;
	} cases[] = {
		{ "1 2 0:5 / / rw - ext4 /dev/vda rw", false },
		{ "1 2 0:5 / / rw - fuse.sshfs x rw", false },
		{ "1 2 0:5 / / rw - fuse x rw,subtype=fencefs", true },
		{ "1 2 0:5 / / rw - fuse x rw,subtype=fencefs2", false },
		{ "1 2 0:5 / / rw - fuse.fencefs  rw", true },
	};
	struct mount_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(parse(cases[i].line, &row));
		assert_int_equal(row.is_fencefs, cases[i].is_fencefs);
		forget(&row);
	}
}

static void a_dead_mount_is_of_its_store(void **state)
{
	struct mount_row row;

	(void)state;
	assert_true(parse("1 2 0:5 / /mnt rw - fuse.fencefs dead:/srv/a\\040store rw", &row));
	assert_string_equal(row.source, "/srv/a store");
	forget(&row);
	assert_true(parse("1 2 0:5 / /mnt rw - nfs dead:/srv/store rw", &row));
	assert_string_equal(row.source, "dead:/srv/store");
	forget(&row);
}

static void other_lines_are_no_rows(void **state)
{
	struct mount_row row;

	(void)state;
	assert_false(parse("", &row));
	assert_false(parse("1 2 0:5 / / rw", &row));
	assert_false(parse("1 2 0:5 / / rw -", &row));
	assert_false(parse("1 2 zero / / rw - a b c", &row));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_taken_apart),
		cmocka_unit_test(types_are_told_apart),
		cmocka_unit_test(a_dead_mount_is_of_its_store),
		cmocka_unit_test(other_lines_are_no_rows),
	};

	return cmocka_run_group_tests_name("mount_table", tests, NULL, NULL);
}
