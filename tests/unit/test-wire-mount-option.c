/* SPDX-License-Identifier: MIT */
/* The table of mount options: who has a use for which. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/mount_option.h"

#include <string.h>

static void options_have_a_use(void **state)
{
	static const struct {
		const char *opt;
		enum mount_option_use use;
	} good[] = {
		{ "passthrough", MOUNT_OWN },
		{ "passthrough=off", MOUNT_OWN },
		{ "io_uring=maybe", MOUNT_OWN },
		{ "ro", MOUNT_PASSED },
		{ "nosymfollow", MOUNT_PASSED },
		{ "context=system_u:object_r:tmp_t:s0", MOUNT_PASSED },
		{ "context=", MOUNT_PASSED },
		{ "defaults", MOUNT_DROPPED },
		{ "user", MOUNT_DROPPED },
		{ "user=alice", MOUNT_DROPPED },
		{ "comment=a=b", MOUNT_DROPPED },
		{ "atime", MOUNT_DROPPED },
		{ "lazytime", MOUNT_DROPPED },
		{ "silent", MOUNT_DROPPED },
		{ "", MOUNT_DROPPED },
		{ "x-systemd.automount", MOUNT_DROPPED },
		{ "x-systemd.idle-timeout=60", MOUNT_DROPPED },
		{ "X-mount.mkdir", MOUNT_DROPPED },
		{ "x-fence.other=1", MOUNT_DROPPED },
		{ "x-fence.timeout=30", MOUNT_TIMEOUT },
		{ "remount", MOUNT_REMOUNT },
		{ "auto_unmount", MOUNT_UNSAFE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct mount_option *row = mount_option_find(good[i].opt);

		assert_non_null(row);
		assert_int_equal(row->use, good[i].use);
	}
	assert_string_equal(mount_option_value("comment=a=b"), "a=b");
	assert_null(mount_option_value("ro"));
}

static void others_are_unknown(void **state)
{
	static const char *const bad[] = {
		"nonsense", "ro=1",	    "r",       "roo",	  "RO",	  " ro", "=", "=ro",
		"context",  "passthrough ", "noauto=", "comment", "loop", "y-x", "x", "x_y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(mount_option_find(bad[i]));
}

static void the_nearest_is_named(void **state)
{
	(void)state;
	assert_string_equal(mount_option_nearest("noexek"), "noexec");
	assert_string_equal(mount_option_nearest("passthru=off"), "passthrough");
	assert_null(mount_option_nearest("nonsense"));
	assert_null(mount_option_nearest(""));
}

static void names_stand_once(void **state)
{
	(void)state;
	for (const struct mount_option *o = mount_options; o->name; o++)
		for (const struct mount_option *p = o + 1; p->name; p++)
			assert_string_not_equal(o->name, p->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_a_use),
		cmocka_unit_test(others_are_unknown),
		cmocka_unit_test(the_nearest_is_named),
		cmocka_unit_test(names_stand_once),
	};

	return cmocka_run_group_tests_name("wire-mount-option", tests, NULL, NULL);
}
