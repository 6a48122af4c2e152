/* SPDX-License-Identifier: MIT */
/* Committer and notifier, without a service: what is answered when, and what effects are told of. */
#include "scratch.h"

#include "core/loop/committer.h"
#include "core/loop/notifier.h"
#include "core/meter/metrics_impl.h"
#include "store/sqlite/changed.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

struct loop {
	struct committer committer;
	struct notifier notifier;
	struct metrics metrics;
	sem_t told;  /* posted by each call of effects */
	sem_t go_on; /* waited for by each, if `holds` */
	bool holds;
	char log[512];	  /* what happened on the notifier's thread, and to internal jobs */
	struct lock lock; /* guards log */
};

static void note(struct loop *l, const char *word)
{
	lock_take(&l->lock);
	assert_true(strlen(l->log) + strlen(word) + 2 < sizeof(l->log));
	strcat(l->log, word);
	strcat(l->log, " ");
	lock_drop(&l->lock);
}

static void effects(void *arg, const struct changed *rows)
{
	struct loop *l = arg;

	sem_post(&l->told);
	if (l->holds)
		sem_wait(&l->go_on);
	for (size_t i = 0; i < changed_count(rows); i++)
		note(l, changed_at(rows, i).text);
}

struct test_job {
	struct job job; /* first */
	struct loop *l;
	const char *name;
	const char *row; /* that it changes; NULL: none */
	int fails;
	sem_t ended;
};

static int test_apply(struct job *j, struct db *db)
{
	struct test_job *t = (struct test_job *)(void *)j;
	struct changed_row row = { .kind = CHANGED_FENCE, .text = t->row };

	if (t->row)
		assert_int_equal(changed_add(db, row), 0);
	return t->fails;
}

static int test_record(struct job *j, struct db *db)
{
	struct test_job *t = (struct test_job *)(void *)j;
	struct changed_row row = { .kind = CHANGED_EVENT, .text = "(refused)" };

	return t->fails == -ESTALE ? changed_add(db, row) : 0;
}

static void test_done(struct job *j)
{
	struct test_job *t = (struct test_job *)(void *)j;

	note(t->l, t->name);
	sem_post(&t->ended);
}

static const struct job_ops test_ops = { .apply = test_apply,
					 .record = test_record,
					 .done = test_done };

static void loop_start(struct loop *l, struct scratch *s)
{
	memset(l, 0, sizeof(*l));
	lock_init(&l->lock, LOCK_STEP);
	sem_init(&l->told, 0, 0);
	sem_init(&l->go_on, 0, 0);
	metrics_init(&l->metrics);
	assert_int_equal(notifier_start(&l->notifier, effects, l), 0);
	assert_int_equal(committer_start(&l->committer, s->s, &l->notifier, &l->metrics), 0);
}

static void loop_stop(struct loop *l)
{
	committer_stop(&l->committer);
	notifier_stop(&l->notifier);
	lock_fini(&l->lock);
}

static void submit(struct loop *l, struct test_job *t, const char *name)
{
	t->l = l;
	t->name = name;
	t->job.ops = &test_ops;
	sem_init(&t->ended, 0, 0);
	committer_submit(&l->committer, &t->job);
}

/* Refusals and what changed nothing wait for the effects of what was durable before them. */
static void answers_in_order(void **state)
{
	struct loop l;
	struct test_job first = { .row = "a" }, second = { .row = NULL };
	struct test_job third = { .fails = -ESTALE };

	loop_start(&l, *state);
	l.holds = true;
	submit(&l, &first, "first");
	sem_wait(&l.told); /* durable, not yet visible */
	submit(&l, &second, "second");
	submit(&l, &third, "third");
	sem_post(&l.go_on);
	sem_post(&l.go_on); /* for the record of the refusal */
	sem_wait(&first.ended);
	sem_wait(&second.ended);
	sem_wait(&third.ended);
	loop_stop(&l);
	assert_true(strcmp(l.log, "a first second (refused) third ") == 0 ||
		    strcmp(l.log, "a first (refused) second third ") == 0); /* one transaction */
	assert_int_equal(third.job.err, -ESTALE);
}

/* What nobody outside waits for does not wait for the effects either. */
static void internal_jobs_do_not_wait(void **state)
{
	struct loop l;
	struct test_job slow = { .row = "a" }, own = { .job.is_internal = true };

	loop_start(&l, *state);
	l.holds = true;
	submit(&l, &slow, "slow");
	sem_wait(&l.told);
	submit(&l, &own, "own");
	sem_wait(&own.ended);
	assert_string_equal(l.log, "own ");
	sem_post(&l.go_on);
	sem_wait(&slow.ended);
	loop_stop(&l);
}

/* Rows of a savepoint that was undone are not told. */
static void undone_rows_are_not_told(void **state)
{
	struct loop l;
	struct test_job bad = { .row = "bad", .fails = -EINVAL }, good = { .row = "good" };

	loop_start(&l, *state);
	submit(&l, &bad, "1");
	submit(&l, &good, "2");
	sem_wait(&bad.ended);
	sem_wait(&good.ended);
	loop_stop(&l);
	assert_null(strstr(l.log, "bad"));
	assert_non_null(strstr(l.log, "good"));
}

/* A store that turned read-only still answers everybody, and in order. */
static void a_broken_store_answers(void **state)
{
	struct scratch *s = *state;
	struct loop l;
	struct test_job first = { .row = "a" }, second = { .row = "b" };

	loop_start(&l, s);
	store_set_broken(s->s);
	submit(&l, &first, "first");
	submit(&l, &second, "second");
	sem_wait(&first.ended);
	sem_wait(&second.ended);
	loop_stop(&l);
	assert_string_equal(l.log, "first second ");
	assert_int_equal(first.job.err, -EIO);
	assert_int_equal(second.job.err, -EIO);
}

/* The list itself: texts, marks, and many of them. */
static void lists_of_rows(void **state)
{
	struct scratch *s = *state;
	struct changed *rows = changed_new();
	size_t mark;

	assert_non_null(rows);
	db_watch(s->db, rows);
	for (int i = 0; i < 1000; i++)
		changed_add(s->db,
			    (struct changed_row){ .kind = CHANGED_NAME, .number = i, .text = "n" });
	mark = changed_count(rows);
	changed_add(s->db,
		    (struct changed_row){ .kind = CHANGED_FENCE, .text = "p", .owner = "o" });
	assert_string_equal(changed_at(rows, mark).owner, "o");
	changed_back_to(rows, mark);
	changed_add(s->db, (struct changed_row){ .kind = CHANGED_PATHS });
	assert_string_equal(changed_at(rows, mark).text, "");
	assert_int_equal(changed_at(rows, 999).number, 999);
	assert_string_equal(changed_at(rows, 999).text, "n");
	changed_back_to(rows, 0);
	assert_int_equal(changed_count(rows), 0);
	db_watch(s->db, NULL);
	assert_int_equal(changed_add(s->db, (struct changed_row){ .kind = CHANGED_PATHS }), 0);
	assert_int_equal(changed_count(rows), 0);
	changed_free(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_store, answers_in_order),
		test_in(scratch_store, internal_jobs_do_not_wait),
		test_in(scratch_store, undone_rows_are_not_told),
		test_in(scratch_store, a_broken_store_answers),
		test_in(scratch_store, lists_of_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
