/* SPDX-License-Identifier: MIT */
/* What fence doctor makes of versions and files. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "doctor/doctor.h"
#include "parse/fstab_line.h"

static void versions_are_compared(void **state)
{
	(void)state;
	assert_true(doctor_is_at_least("6.9.0-rc1", 6, 9));
	assert_true(doctor_is_at_least("6.18.44-odd", 6, 9));
	assert_true(doctor_is_at_least("7.0", 6, 9));
	assert_false(doctor_is_at_least("6.8.12", 6, 9));
	assert_false(doctor_is_at_least("5.19", 6, 9));
	assert_true(doctor_is_at_least("3.18.3", 3, 17));
	assert_false(doctor_is_at_least("3", 3, 17));
	assert_false(doctor_is_at_least("", 3, 17));
	assert_false(doctor_is_at_least("unknown", 3, 17));
}

static void a_file_is_read_without_its_end(void **state)
{
	char text[64] = "as it was";

	(void)state;
	assert_false(doctor_read("/proc/no/such", text, sizeof(text)));
	assert_string_equal(text, "as it was");
	assert_true(doctor_read("/proc/sys/kernel/ostype", text, sizeof(text)));
	assert_string_equal(text, "Linux");
}

static void fstab_fields_are_escaped(void **state)
{
	auto_buf struct buf line = { 0 };

	(void)state;
	fstab_line(&line, "/no/a b\\c", "/no/d\te/", "x-a=b c");
	assert_string_equal(line.s, "/no/a\\040b\\134c /no/d\\011e fencefs "
				    "nofail,x-systemd.automount,x-a=b\\040c 0 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_compared),
		cmocka_unit_test(a_file_is_read_without_its_end),
		cmocka_unit_test(fstab_fields_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
