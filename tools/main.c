/* SPDX-License-Identifier: MIT */
/*
 * fence: the command-line tool. Finds the verb in the table (verbs.c) and runs
 * it (cmd_VERB.c).
 */
#include "parse/args.h"
#include "out/exit_code.h"
#include "base/nearest.h"
#include "out/report.h"
#include "cmd/verb_help.h"
#include "cmd/cmd.h"
#include "cmd/verbs.h"

#include "base/streams.h"

#include <stdio.h>
#include <string.h>

static int unknown_verb(const char *name)
{
	struct nearest near;

	nearest_init(&near, name);
	for (const struct verb *const *v = verbs; *v; v++)
		nearest_try(&near, (*v)->name);
	if (near.best)
		fprintf(stderr, "fence: unknown verb \"%s\"; did you mean \"%s\"?\n", name,
			near.best);
	else
		fprintf(stderr, "fence: unknown verb \"%s\"; fence --help lists them\n", name);
	return EXIT_USAGE;
}

static int unknown_option(const char *name)
{
	static const char *const options[] = { "--help", "--version", "--dump-verbs" };
	struct nearest near;

	nearest_init(&near, name);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		nearest_try(&near, options[i]);
	if (near.best)
		fprintf(stderr, "fence: unknown option %s; did you mean %s?\n", name, near.best);
	else
		fprintf(stderr,
			"fence: unknown option %s; options follow the verb: fence VERB "
			"--help\n",
			name);
	return EXIT_USAGE;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct args args = { .verb = v };
	struct errmsg err;

	if (args_parse(v, argc, argv, &args, &err) < 0)
		return report_usage(&args, "%s", err.s);
	if (args.help) {
		verb_help(v);
		return EXIT_OK;
	}
	return v->run(&args);
}

static int help(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 1) {
		verb_help_all(stdout);
		return EXIT_OK;
	}
	v = verb_find(argv[0]);
	if (!v)
		return unknown_verb(argv[0]);
	verb_help(v);
	return EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
	const char *name = argv[0];
	const struct verb *v = verb_find(name);

	if (v)
		return run(v, argc - 1, argv + 1);
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return run(&verb_version, 0, argv + 1);
	if (strcmp(name, "--dump-verbs") == 0) {
		verb_dump();
		return EXIT_OK;
	}
	return name[0] == '-' ? unknown_option(name) : unknown_verb(name);
}

int main(int argc, char **argv)
{
	streams_fill(false);
	if (argc < 2) {
		verb_help_all(stderr);
		return EXIT_USAGE;
	}
	return report_output(dispatch(argc - 1, argv + 1));
}
