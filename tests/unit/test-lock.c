/* SPDX-License-Identifier: MIT */
/* Ranked locks. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/errmsg.h"
#include "base/lock.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct lock low, high, same;
static struct rwlock middle;

/* How a child that runs @fn ends: 0, or the signal that killed it. */
static int fate(void (*fn)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void in_order(void)
{
	lock_take(&low);
	rwlock_read(&middle);
	lock_take(&high);
	lock_assert_held(&low);
	lock_drop(&low);
	lock_drop(&high);
	rwlock_drop(&middle);
	rwlock_write(&middle);
	rwlock_drop(&middle);
	lock_take(&low);
	lock_drop(&low);
}

static void out_of_order(void)
{
	lock_take(&high);
	lock_take(&low);
}

static void out_of_order_rw(void)
{
	lock_take(&high);
	rwlock_read(&middle);
}

static void two_of_one_rank(void)
{
	lock_take(&low);
	lock_take(&same);
}

static void not_held(void)
{
	lock_assert_held(&low);
}

static void not_held_rw(void)
{
	rwlock_assert_held(&middle);
}

static void read_only(void)
{
	rwlock_read(&middle);
	rwlock_assert_held(&middle);
	rwlock_assert_written(&middle);
}

static void written_before(void)
{
	rwlock_write(&middle);
	rwlock_assert_held(&middle);
	rwlock_assert_written(&middle);
	rwlock_drop(&middle);
	rwlock_read(&middle);
	rwlock_assert_written(&middle);
}

static void drop_unheld(void)
{
	rwlock_drop(&middle);
}

static void checks_ranks(void **state)
{
	(void)state;
	lock_init(&low, LOCK_CTL);
	lock_init(&same, LOCK_CTL); /* as two conversations have it */
	lock_init(&high, LOCK_PINS);
	rwlock_init(&middle, LOCK_SESSION);
	assert_int_equal(fate(in_order), 0);
#ifndef NDEBUG
	assert_int_equal(fate(out_of_order), SIGABRT);
	assert_int_equal(fate(out_of_order_rw), SIGABRT);
	assert_int_equal(fate(two_of_one_rank), SIGABRT);
	assert_int_equal(fate(not_held), SIGABRT);
	assert_int_equal(fate(not_held_rw), SIGABRT);
	assert_int_equal(fate(read_only), SIGABRT);
	assert_int_equal(fate(written_before), SIGABRT);
	assert_int_equal(fate(drop_unheld), SIGABRT);
#else
	(void)out_of_order;
	(void)out_of_order_rw;
	(void)two_of_one_rank;
	(void)not_held;
	(void)not_held_rw;
	(void)read_only;
	(void)written_before;
	(void)drop_unheld;
#endif
	lock_fini(&low);
	lock_fini(&same);
	lock_fini(&high);
	rwlock_fini(&middle);
}

static void waits_until(void **state)
{
	pthread_cond_t cond;
	struct timespec now;
	struct lock l;

	(void)state;
	lock_init(&l, LOCK_PINS);
	lock_cond_init(&cond);
	lock_take(&l);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_int_equal(
		lock_wait_until(&l, &cond,
				(long long)now.tv_sec * 1000000000LL + now.tv_nsec + 1000000),
		-ETIMEDOUT);
	lock_drop(&l);
	pthread_cond_destroy(&cond);
	lock_fini(&l);
}

static void escapes_the_log(void **state)
{
	char got[9000];
	int fds[2], saved;
	ssize_t n;
	char *long_text = malloc(8000);

	(void)state;
	assert_int_equal(pipe(fds), 0);
	saved = dup(STDERR_FILENO);
	dup2(fds[1], STDERR_FILENO);
	errno = EXDEV;
	log_warning("name %s", "a\nerror: forged\x7f\x1b[2J");
	assert_int_equal(errno, EXDEV);
	log_debug("not at this level");
	memset(long_text, '\n', 7999);
	long_text[7999] = '\0';
	log_error("%s", long_text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	n = read(fds[0], got, sizeof(got) - 1);
	assert_true(n > 0);
	got[n] = '\0';
	assert_non_null(strstr(got, ": warning: name a\\x0aerror: forged\\x7f\\x1b[2J\n"));
	assert_null(strstr(got, "not at this level"));
	assert_ptr_equal(strchr(strchr(got, '\n') + 1, '\n'), got + n - 1); /* two lines */
	close(fds[0]);
	free(long_text);
}

static void fills_a_message(void **state)
{
	struct errmsg m;
	char big[3000];

	(void)state;
	assert_int_equal(errmsg_set(&m, -EIO, "%s %d", "x", 1), -EIO);
	assert_string_equal(m.s, "x 1");
	assert_int_equal(errmsg_set(NULL, -EIO, "x"), -EIO);
	memset(big, 'x', sizeof(big));
	big[2999] = '\0';
	errmsg_set(&m, 0, "%s", big);
	assert_int_equal(strlen(m.s), sizeof(m.s) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_ranks),
		cmocka_unit_test(waits_until),
		cmocka_unit_test(escapes_the_log),
		cmocka_unit_test(fills_a_message),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
