/* SPDX-License-Identifier: MIT */
/* The table of verbs: whole, and what it takes and refuses. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/ctl_help.h"
#include "wire/ctl_verb.h"
#include "wire/event_kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int check(const char *text, enum ctl_verb_id *out, struct ctl_error *error)
{
	struct ctl_line l = { 0 };
	int err = ctl_line_parse(text, strlen(text), &l, error);

	if (!err)
		err = ctl_verb_check(&l, out, error);
	ctl_line_fini(&l);
	return err;
}

static void the_table_is_whole(void **state)
{
	(void)state;
	for (int i = 0; i < CTL_VERBS; i++) {
		const struct ctl_verb *v = &ctl_verbs[i];
		enum ctl_verb_id found = CTL_VERBS;
		struct ctl_error error;

		assert_ptr_equal(ctl_verb_find(v->name), v);
		assert_non_null(v->meaning);
		assert_non_null(v->replies);
		assert_null(v->keys[CTL_VERB_KEYS_MAX].name);
		assert_int_equal(check(v->example, &found, &error), 0);
		assert_int_equal(found, i);
		for (const struct ctl_key *k = v->keys; k->name; k++) {
			assert_ptr_equal(ctl_verb_key(v, k->name), k);
			assert_non_null(k->sample);
			assert_non_null(ctl_type_name(k->type));
		}
	}
}

static void other_requests_are_refused(void **state)
{
	static const struct {
		const char *line;
		int err;
		const char *key, *text;
	} bad[] = {
		{ "helo", -EOPNOTSUPP, "verb",
		  "known verbs: hello claim open expect commit abort outcome put remove acquire renew "
		  "release restore at stat reset list damaged gc policy" },
		{ "hell", -EOPNOTSUPP, "verb", NULL },
		{ "hello2", -EOPNOTSUPP, "verb", NULL },
		{ "stat", -EINVAL, "path", "stat needs path=" },
		{ "claim path=a", -EINVAL, "token", "claim needs token=" },
		{ "stat path=a token=1", -EINVAL, "token", "stat knows no key token=" },
		{ "put path=a token=1", -EINVAL, "size", "put needs size=" },
		{ "put path=a token=1 size=1 siz=2", -EINVAL, "siz", "put knows no key siz=" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum ctl_verb_id found = CTL_VERBS;
		struct ctl_error error;

		assert_int_equal(check(bad[i].line, &found, &error), bad[i].err);
		assert_string_equal(error.key, bad[i].key);
		if (bad[i].text)
			assert_string_equal(error.text, bad[i].text);
		/* Requests of a known verb are counted as such. */
		assert_int_equal(found == CTL_VERBS, bad[i].err == -EOPNOTSUPP);
	}
}

static void a_choice_is_left_to_the_verb(void **state)
{
	enum ctl_verb_id found;
	struct ctl_error error;

	(void)state;
	assert_int_equal(check("outcome", &found, &error), 0);
	assert_int_equal(check("expect path=a", &found, &error), 0);
}

static void help_names_all(void **state)
{
	char *help = ctl_help_text();

	(void)state;
	assert_non_null(help);
	assert_non_null(strstr(help, "\n  claim   path=P token=T [owner=O]\n"));
	assert_non_null(
		strstr(help, "\n  expect  path=P (version=N | absent=1 | hash=H) [session=ID]\n"));
	assert_non_null(strstr(help, "\n  outcome (session=ID | path=P op=KEY)\n"));
	assert_non_null(strstr(help, "[version=N | absent=1 | hash=H]"));
	assert_non_null(strstr(help, "(followed by N bytes)\n"));
	for (const char *line = help, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_true(end - line <= 100);
	}
	free(help);
}

static void event_kinds_have_names(void **state)
{
	(void)state;
	for (int kind = EVENT_COMMIT; kind <= EVENT_KIND_LAST; kind++)
		assert_int_equal(event_kind_parse(event_kind_name((enum event_kind)kind)), kind);
	assert_string_equal(event_kind_name((enum event_kind)99), "unknown");
	assert_string_equal(event_kind_name((enum event_kind) - 1), "unknown");
	assert_int_equal(event_kind_parse("unknown"), EVENT_UNKNOWN);
	assert_int_equal(event_kind_parse(""), EVENT_UNKNOWN);
	/* These numbers stand in stores. */
	assert_int_equal(event_kind_parse("commit"), 1);
	assert_int_equal(event_kind_parse("reset"), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(other_requests_are_refused),
		cmocka_unit_test(a_choice_is_left_to_the_verb),
		cmocka_unit_test(help_names_all),
		cmocka_unit_test(event_kinds_have_names),
	};

	return cmocka_run_group_tests_name("wire-verb", tests, NULL, NULL);
}
