/* SPDX-License-Identifier: MIT */
/* See args.h. Layer: tools. */
#include "parse/args.h"

#include "base/nearest.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct arg_cursor {
	int argc;
	char **argv;
	int i;
};

static int index_by_name(const struct verb *verb, const char *name, size_t len)
{
	for (int i = 0; verb->options[i].name; i++)
		if (strlen(verb->options[i].name) == len &&
		    memcmp(verb->options[i].name, name, len) == 0)
			return i;
	return -1;
}

static int index_by_letter(const struct verb *verb, char letter)
{
	for (int i = 0; verb->options[i].name; i++)
		if (verb->options[i].letter == letter)
			return i;
	return -1;
}

static int unknown_option(const struct verb *verb, const char *name, size_t len, struct errmsg *err)
{
	char wanted[64];
	struct nearest near;

	if (len >= sizeof(wanted))
		len = sizeof(wanted) - 1;
	memcpy(wanted, name, len);
	wanted[len] = '\0';
	nearest_init(&near, wanted);
	for (const struct option_spec *o = verb->options; o->name; o++)
		nearest_try(&near, o->name);
	nearest_try(&near, "help");
	if (near.best)
		return errmsg_set(err, -EINVAL, "unknown option --%s; did you mean --%s?", wanted,
				  near.best);
	return errmsg_set(err, -EINVAL, "unknown option --%s", wanted);
}

static int set_value(struct args *a, int index, const char *value, struct arg_cursor *c,
		     struct errmsg *err)
{
	const struct option_spec *o = &a->verb->options[index];

	if (!value) {
		if (c->i + 1 >= c->argc)
			return errmsg_set(err, -EINVAL, "option --%s needs an argument: %s",
					  o->name, o->arg);
		value = c->argv[++c->i];
	}
	if (a->n_given == ARGS_GIVEN_MAX)
		return errmsg_set(err, -EINVAL, "too many options, starting with --%s %s", o->name,
				  value);
	a->given[a->n_given].option = index;
	a->given[a->n_given++].value = value;
	a->values[index] = value;
	return 0;
}

static int parse_long(struct args *a, const char *word, struct arg_cursor *c, struct errmsg *err)
{
	const char *name = word + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	int index = index_by_name(a->verb, name, len);

	if (index < 0 && strcmp(name, "help") == 0) {
		a->help = true;
		return 0;
	}
	if (index < 0)
		return unknown_option(a->verb, name, len, err);
	if (a->verb->options[index].arg)
		return set_value(a, index, equals ? equals + 1 : NULL, c, err);
	if (equals)
		return errmsg_set(err, -EINVAL, "option --%s takes no argument",
				  a->verb->options[index].name);
	a->values[index] = "1";
	return 0;
}

/* "-vt42", "-v -t 42". */
static int parse_letters(struct args *a, const char *word, struct arg_cursor *c, struct errmsg *err)
{
	for (const char *p = word + 1; *p; p++) {
		int index = index_by_letter(a->verb, *p);

		if (index < 0 && *p == 'h') {
			a->help = true;
			continue;
		}
		if (index < 0)
			return errmsg_set(err, -EINVAL, "unknown option -%c", *p);
		if (a->verb->options[index].arg)
			return set_value(a, index, p[1] ? p + 1 : NULL, c, err);
		a->values[index] = "1";
	}
	return 0;
}

int args_parse(const struct verb *verb, int argc, char **argv, struct args *out, struct errmsg *err)
{
	struct args a = { .verb = verb, .rest = argv };
	struct arg_cursor c = { .argc = argc, .argv = argv };
	bool options = true;
	int r = 0;

	for (; c.i < argc && r == 0; c.i++) {
		char *word = argv[c.i];

		if (!options || word[0] != '-' || !word[1])
			argv[a.n++] = word;
		else if (strcmp(word, "--") == 0)
			options = false;
		else if (word[1] == '-')
			r = parse_long(&a, word, &c, err);
		else
			r = parse_letters(&a, word, &c, err);
	}
	if (r < 0)
		return r;
	if (!a.help && a.n < verb->min_args)
		return errmsg_set(err, -EINVAL, "too few arguments");
	if (!a.help && verb->max_args >= 0 && a.n > verb->max_args)
		return errmsg_set(err, -EINVAL, "too many arguments, starting with \"%s\"",
				  a.rest[verb->max_args]);
	*out = a;
	return 0;
}

bool args_knows(const struct args *a, const char *name)
{
	return index_by_name(a->verb, name, strlen(name)) >= 0;
}

const char *args_get(const struct args *a, const char *name)
{
	int index = index_by_name(a->verb, name, strlen(name));

	assert(index >= 0 && index < ARGS_OPTIONS_MAX);
	return index >= 0 ? a->values[index] : NULL;
}

const char *args_get_nth(const struct args *a, const char *name, int i)
{
	int index = index_by_name(a->verb, name, strlen(name));

	for (int at = 0; at < a->n_given; at++)
		if (a->given[at].option == index && i-- == 0)
			return a->given[at].value;
	return NULL;
}

bool args_has(const struct args *a, const char *name)
{
	return args_get(a, name) != NULL;
}
