/* SPDX-License-Identifier: MIT */
/* The command line of a verb. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/args.h"
#include "base/nearest.h"

#include <errno.h>
#include <string.h>

#define MAX_WORDS 16

static const char *const usage[] = { "[OPTION]... FILE", NULL };
static const struct option_spec options[] = {
	OPTION_TOKEN,
	{ "force", 'f', NULL, "" },
	OPTION_VERBOSE,
	OPTION_END,
};
static const int exits[] = { 0 };
static const struct verb verb = {
	.name = "test",
	.usage = usage,
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 2,
};

struct parsed {
	struct args args;
	struct errmsg err;
	char *argv[MAX_WORDS];
	char words[256];
};

/* @line is split at spaces. */
static int parse(struct parsed *p, const char *line)
{
	int n = 0;
	char *rest = p->words;
	char *word;

	strcpy(p->words, line);
	while ((word = strsep(&rest, " ")))
		p->argv[n++] = word;
	return args_parse(&verb, n, p->argv, &p->args, &p->err);
}

static void options_stand_anywhere(void **state)
{
	struct parsed p;

	(void)state;
	assert_int_equal(parse(&p, "a -f --token 4 b"), 0);
	assert_int_equal(p.args.n, 2);
	assert_string_equal(p.args.rest[0], "a");
	assert_string_equal(p.args.rest[1], "b");
	assert_true(args_has(&p.args, "force"));
	assert_false(args_has(&p.args, "verbose"));
	assert_string_equal(args_get(&p.args, "token"), "4");
}

static void letters_bundle(void **state)
{
	struct parsed p;

	(void)state;
	assert_int_equal(parse(&p, "-fvt42 -"), 0);
	assert_string_equal(args_get(&p.args, "token"), "42");
	assert_true(args_has(&p.args, "verbose"));
	assert_string_equal(p.args.rest[0], "-");
	assert_int_equal(parse(&p, "-t 7 x"), 0);
	assert_string_equal(args_get(&p.args, "token"), "7");
}

static void dashes_end_options(void **state)
{
	struct parsed p;

	(void)state;
	assert_int_equal(parse(&p, "--token=-1 -- -f --help"), 0);
	assert_string_equal(args_get(&p.args, "token"), "-1");
	assert_int_equal(p.args.n, 2);
	assert_string_equal(p.args.rest[0], "-f");
	assert_false(p.args.help);
}

static void help_needs_no_arguments(void **state)
{
	struct parsed p;

	(void)state;
	assert_int_equal(parse(&p, "-h"), 0);
	assert_true(p.args.help);
	assert_false(args_knows(&p.args, "json"));
	assert_true(args_knows(&p.args, "token"));
}

static void mistakes_are_named(void **state)
{
	static const char *const cases[][2] = {
		{ "--tokem 4 a", "unknown option --tokem; did you mean --token?" },
		{ "--frobnicate a", "unknown option --frobnicate" },
		{ "-x a", "unknown option -x" },
		{ "a --token", "option --token needs an argument: N" },
		{ "a -t", "option --token needs an argument: N" },
		{ "--force=1 a", "option --force takes no argument" },
		{ "-f", "too few arguments" },
		{ "a b c", "too many arguments, starting with \"c\"" },
	};
	struct parsed p;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(&p, cases[i][0]), -EINVAL);
		assert_string_equal(p.err.s, cases[i][1]);
	}
}

static const char *meant(const char *wanted)
{
	static const char *const names[] = { "init",	 "mount",   "umount", "put",
					     "sessions", "rejects", "rm" };
	struct nearest near;

	nearest_init(&near, wanted);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&near, names[i]);
	return near.best;
}

static void near_names_are_found(void **state)
{
	(void)state;
	assert_string_equal(meant("unmount"), "umount");
	assert_string_equal(meant("ptu"), "put");
	assert_string_equal(meant("reject"), "rejects");
	assert_string_equal(meant("sess"), "sessions");
	assert_null(meant("x"));
	assert_null(meant("frobnicate"));
	assert_null(meant(""));
	assert_null(meant("a name that is far longer than any verb can be"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_stand_anywhere), cmocka_unit_test(letters_bundle),
		cmocka_unit_test(dashes_end_options),	  cmocka_unit_test(help_needs_no_arguments),
		cmocka_unit_test(mistakes_are_named),	  cmocka_unit_test(near_names_are_found),
	};

	return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
