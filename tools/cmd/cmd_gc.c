/* SPDX-License-Identifier: MIT */
/*
 * gc: by ourselves on a store that nobody serves, else by its daemon. In the latter case one
 * conversation waits for the end, and a thread asks in another how far it is.
 */
#include "cmd/cmd.h"

#include "base/io.h"
#include "parse/buf.h"
#include "wire/duration.h"
#include "out/exit_code.h"
#include "out/gc_print.h"
#include "client/keep.h"
#include "out/report.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "store/gc/policy.h"
#include "client/store_target.h"
#include "client/target.h"

#include "base/path.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATHS_MAX 64

struct collect {
	const struct args *args;
	struct store_target target;
	struct gc_options opt;
	char *path[PATHS_MAX]; /* owned; normalised */
	struct gc_print print;
	struct gc_report report;
	struct ctl_client ctl, progress; /* of a live one */
	atomic_bool is_over;
};

static volatile sig_atomic_t stop, ask;

static void on_stop(int sig)
{
	(void)sig;
	stop = 1;
}

static void on_ask(int sig)
{
	(void)sig;
	ask = 1;
}

static void catch_signals(void)
{
	struct sigaction end = { .sa_handler = on_stop };
	struct sigaction state = { .sa_handler = on_ask, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGUSR1, &state, NULL);
}

/* The code is of gc, where errno means something else than in a lease or a commit. */
static int fail(const struct collect *c, int err, const char *text)
{
	if (args_has(c->args, "json"))
		gc_print_json(&c->print, &c->report, c->opt.dry_run, err, text);
	report_error(c->args, c->target.path, err, "%s", text);
	switch (-err) {
	case ECANCELED:
		return EXIT_PRECONDITION;
	case EUCLEAN:
		return EXIT_DAMAGE;
	case EREMOTEIO:
		return EXIT_UNKNOWN;
	default:
		return EXIT_FAILED;
	}
}

static int succeed(const struct collect *c)
{
	if (args_has(c->args, "json"))
		gc_print_json(&c->print, &c->report, c->opt.dry_run, 0, NULL);
	else
		gc_print_people(&c->report, c->opt.dry_run);
	if (!c->report.missing)
		return EXIT_OK;
	report_error(c->args, c->target.path, -EUCLEAN, "blobs are missing: run fence fsck");
	return EXIT_DAMAGE;
}

static void offline_progress(void *arg, const struct gc_progress *p)
{
	struct collect *c = arg;

	if (ask)
		gc_print_line(&c->print, gc_stage_name(p->stage), p->done, p->total);
	ask = 0;
	gc_print_progress(&c->print, gc_stage_name(p->stage), p->done, p->total);
}

static bool offline_stop(void *arg)
{
	(void)arg;
	return stop;
}

static int read_policy(struct collect *c)
{
	struct policy policy;
	struct db *db;
	int err = store_reader_get(c->target.s, &db);

	if (err)
		return err;
	err = policy_get(db, &policy);
	store_reader_put(c->target.s, db);
	if (!err)
		c->opt.keep = policy.keep;
	return err;
}

static int run_offline(struct collect *c)
{
	struct gc_env env = { .arg = c, .progress = offline_progress, .should_stop = offline_stop };
	struct errmsg msg = { "" };
	int err = keep_is_given(c->args) ? 0 : read_policy(c);

	catch_signals();
	if (!err)
		err = gc_run_offline(c->target.s, &env, &c->opt, &c->report, &msg);
	gc_print_fini(&c->print);
	if (err)
		return fail(c, err, err == -EINTR ? "stopped" : *msg.s ? msg.s : strerror(-err));
	return succeed(c);
}

static void add_request(struct collect *c, struct line *req)
{
	auto_buf struct buf paths = { 0 };
	char seconds[32];

	line_begin(req, "gc");
	snprintf(seconds, sizeof(seconds), "%lldms", (long long)(c->opt.grace / 1000000));
	line_field(req, "grace", c->opt.grace ? seconds : "0");
	keep_add(req, c->args);
	for (size_t i = 0; i < c->opt.n_paths; i++)
		buf_printf(&paths, "%s%s", i ? "//" : "", c->path[i]);
	line_field(req, "path", paths.s);
	snprintf(seconds, sizeof(seconds), "%lld", (long long)(c->opt.forget_fences / 1000000000));
	line_field(req, "forget_fences", c->opt.forget_fences ? seconds : NULL);
	line_field(req, "dry_run", c->opt.dry_run ? "1" : NULL);
	line_field(req, "after_restore", c->opt.after_restore ? "1" : NULL);
}

/* false: nothing runs, or nobody answers. */
static void look(struct collect *c, bool by_signal)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	const char *stage, *done, *total;

	line_begin(&req, "list");
	line_field(&req, "kind", "gc");
	if (ctl_client_call(&c->progress, &req, &r) < 0 || r.err)
		return;
	stage = reply_get(&r, "stage");
	done = reply_get(&r, "done");
	total = reply_get(&r, "total");
	if (!stage)
		return;
	(by_signal ? gc_print_line : gc_print_progress)(&c->print, stage,
							done ? strtoll(done, NULL, 10) : 0,
							total ? strtoll(total, NULL, 10) : 0);
}

/* SIGUSR1 is blocked in every thread and taken here, so that it interrupts no conversation. */
static void *watch(void *arg)
{
	struct collect *c = arg;
	const struct timespec tick = { .tv_nsec = 100000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!atomic_load(&c->is_over)) {
		bool by_signal = sigtimedwait(&set, NULL, &tick) == SIGUSR1;

		if (!atomic_load(&c->is_over) && (by_signal || c->print.is_terminal))
			look(c, by_signal);
	}
	return NULL;
}

static int ask_daemon(struct collect *c)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	int err;

	add_request(c, &req);
	err = ctl_client_call(&c->ctl, &req, &reply);
	atomic_store(&c->is_over, true);
	gc_print_fini(&c->print);
	if (err)
		return fail(c, err, exit_error_text(err));
	gc_report_from(&reply, &c->report);
	if (reply.err)
		return fail(c, reply.err, *reply.text ? reply.text : strerror(-reply.err));
	return succeed(c);
}

static int run_live(struct collect *c)
{
	pthread_t watcher;
	sigset_t set;
	int code = EXIT_OK;

	if (!c->target.mount) /* no daemon: a tool has it */
		return fail(c, -EBUSY, "the store is in use by another process");
	code = store_target_ctl(c->args, &c->target, &c->ctl);
	if (!code)
		code = store_target_ctl(c->args, &c->target, &c->progress);
	if (code)
		return code;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&watcher, NULL, watch, c) != 0)
		return report_errno(c->args, NULL, -EAGAIN);
	code = ask_daemon(c);
	pthread_join(watcher, NULL);
	return code;
}

static int parse_time(const struct args *a, const char *name, int64_t *out)
{
	const char *s = args_get(a, name);

	if (!s || duration_parse(s, out) == 0 || keep_parse_time(s, out))
		return EXIT_OK;
	return report_usage(a, "--%s %s: not a time such as 90s, 1h or 5y", name, s);
}

/* As the tree names it, or as it is seen through the mount. */
static int add_path(struct collect *c, const char *given)
{
	char path[FENCE_PATH_MAX + 1];
	auto_target struct target t = { 0 };
	struct errmsg ignored;
	int err = given[0] == '/' ? target_find(given, &t, &ignored) :
				    path_normalise(given, path, NULL);

	if (err)
		return report_usage(c->args,
				    "--path %s: not a path in the store, such as reports/daily",
				    given);
	if (c->opt.n_paths == PATHS_MAX)
		return report_usage(c->args, "--path may be given %d times", PATHS_MAX);
	c->path[c->opt.n_paths++] = str_copy(given[0] == '/' ? t.path : path);
	return EXIT_OK;
}

static int parse(struct collect *c)
{
	const struct args *a = c->args;
	const char *path;
	int code = keep_parse(a, &c->opt.keep);

	c->opt.grace = GC_GRACE_DEFAULT;
	c->opt.dry_run = args_has(a, "dry-run");
	c->opt.after_restore = args_has(a, "after-restore");
	if (!code)
		code = parse_time(a, "grace", &c->opt.grace);
	if (!code)
		code = parse_time(a, "forget-fences", &c->opt.forget_fences);
	for (int i = 0; !code && (path = args_get_nth(a, "path", i)); i++)
		code = add_path(c, path);
	c->opt.path = (const char *const *)c->path;
	return code;
}

static int run(const struct args *a)
{
	struct collect c = { .args = a, .ctl = CTL_CLIENT_CLOSED, .progress = CTL_CLIENT_CLOSED };
	int code = parse(&c);

	if (!code)
		code = store_target_open(a, a->rest[0], &c.target);
	gc_print_init(&c.print);
	if (!code)
		code = c.target.is_live ? run_live(&c) : run_offline(&c);
	ctl_client_close(&c.ctl);
	ctl_client_close(&c.progress);
	store_target_close(&c.target);
	for (size_t i = 0; i < c.opt.n_paths; i++)
		free(c.path[i]);
	return code;
}

static const char *const usage[] = {
	"[--dry-run] [--grace TIME] [--keep-last N] STORE|MOUNT",
	NULL,
};
static const struct option_spec options[] = {
	{ "dry-run", 'n', NULL, "say what would be removed, and change nothing" },
	{ "grace", 0, "TIME", "how long a blob must have been unreferenced; default: 1h" },
	KEEP_OPTIONS,
	{ "path", 0, "PATH", "prune history only at and beneath PATH; can be repeated" },
	{ "after-restore", 0, NULL, "go on although the database is older than the blobs" },
	{ "forget-fences", 0, "TIME",
	  "drop fences not used for TIME on paths that are gone: a job stalled for longer can "
	  "publish there again" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 15, 16, 20, 0 };

const struct verb verb_gc = {
	.name = "gc",
	.summary = "Remove what nothing refers to, and versions that have expired",
	.usage = usage,
	.about = "Data of refused writes, and what a crash left, is marked when it is found,\n"
		 "and removed by a run that comes at least a grace period later. With --keep\n"
		 "options (or those of fence policy) old versions are pruned first, name by\n"
		 "name: a version is kept if any of the options keeps it, and a current one\n"
		 "always. The options are those of restic. --keep-last also keeps versions of\n"
		 "removed names; with --keep-within alone they expire.\n"
		 "\n"
		 "If the store is mounted, its daemon does this, at low priority. On SIGUSR1,\n"
		 "fence gc says how far it is. If anything cannot be read, nothing is removed.",
	.examples = "fence gc /mnt/shared\n"
		    "fence gc --dry-run --keep-last 10 --keep-within 30d /srv/store\n"
		    "fence gc --keep-daily 7 --path reports --path logs /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
