/* SPDX-License-Identifier: MIT */
/* fence fsck: check a store, mounted or not, for damage. Layer: tools. */
#include "cmd/cmd.h"

#include "out/exit_code.h"
#include "files/fsck_content.h"
#include "out/fsck_print.h"
#include "out/report.h"
#include "parse/size.h"
#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/fsck/fsck_repair.h"
#include "store/store.h"
#include "store/store_accept.h"
#include "store/sqlite/txn.h"
#include "store/layout.h"
#include "client/store_target.h"
#include "client/target.h"

#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct check {
	const struct args *args;
	struct store_target target;
	struct fsck_print print;
	struct fsck *f;		/* owned */
	struct fsck_plan *plan; /* owned; NULL without --repair */
	struct ctl_client ctl;
	int64_t rate;
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static int tick(void *arg)
{
	(void)arg;
	return stop ? -EINTR : 0;
}

static int found(void *arg, const struct fsck_finding *x)
{
	struct check *c = arg;

	fsck_print_finding(&c->print, x);
	return c->plan ? fsck_plan_add(c->plan, x) : 0;
}

static int mark_here(struct check *c, const struct fsck_blob *b, bool is_good)
{
	struct db *db = store_writer(c->target.s);
	int err = txn_begin(db);

	if (err)
		return err;
	err = is_good ? damaged_unmark(db, &b->id) : damaged_mark(db, &b->id, io_now_ns());
	if (err) {
		txn_rollback(db);
		return err;
	}
	return txn_commit(db);
}

static int mark_there(struct check *c, const struct fsck_blob *b, bool is_good)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	int err;

	if (c->ctl.fd < 0 && store_target_ctl(c->args, &c->target, &c->ctl))
		return 0; /* it has said so; the finding stands all the same */
	line_begin(&req, "damaged");
	line_field(&req, "blob", blob_hex(b->id.b).s);
	line_field(&req, "good", is_good ? "1" : NULL);
	err = ctl_client_call(&c->ctl, &req, &reply);
	if (err)
		return err;
	if (reply.err)
		report_refusal(c->args, c->target.path, &reply);
	return 0;
}

/* From now on reading it gives EIO, or no longer. */
static int judged(void *arg, const struct fsck_blob *b, bool is_good)
{
	struct check *c = arg;

	return c->target.is_live ? mark_there(c, b, is_good) : mark_here(c, b, is_good);
}

static int read_content(struct check *c)
{
	struct fsck_content content = {
		.s = c->target.s,
		.f = c->f,
		.rate = c->rate,
		.resume = args_get(c->args, "resume"),
		.stop = &stop,
		.judged = judged,
		.arg = c,
	};

	return fsck_content_run(&content);
}

static int look(struct check *c)
{
	bool data = args_has(c->args, "data");
	struct fsck_options opt = {
		.is_live = c->target.is_live,
		.is_thorough = data,
		.fn = found,
		.arg = c,
		.tick = tick,
	};
	int err = fsck_open(c->target.s, &opt, &c->f);

	if (!err)
		err = fsck_structure(c->f);
	if (!err && data)
		err = read_content(c);
	return err;
}

static int say_error(struct check *c, int err)
{
	const char *resume = args_get(c->args, "resume");

	if (err == -EINTR && resume && args_has(c->args, "data"))
		report_hint("interrupted; the same command continues where it stopped");
	else if (err == -EINTR)
		report_hint("interrupted");
	else if (resume && (err == -EXDEV || err == -EINVAL))
		report_error(c->args, resume, err, "%s",
			     err == -EXDEV ? "it belongs to a check of another store" :
					     "it is not a file of fence fsck --resume");
	else
		report_error(c->args, c->target.path, err, "the check could not be finished: %s",
			     strerror(-err));
	return EXIT_FAILED;
}

static bool has_agreed(const struct check *c)
{
	char answer[16];

	if (args_has(c->args, "yes"))
		return true;
	if (!isatty(STDIN_FILENO) || c->print.as_json) {
		report_hint("nothing was changed; rerun with --repair --yes to apply");
		return false;
	}
	fprintf(stderr, "fence: apply all this? [y/N] ");
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* What a repair would do was told with each finding. */
static int repair(struct check *c)
{
	struct fsck_plan *plan = c->plan;
	struct errmsg err = { "" };
	int r = -EUCLEAN;

	if (fsck_plan_size(plan) == 0 && !fsck_plan_is_hopeless(plan))
		return EXIT_DAMAGE;
	if (!fsck_plan_is_hopeless(plan) && !has_agreed(c))
		return EXIT_DAMAGE;
	r = fsck_repair(c->target.s, plan, &err);
	if (r) {
		report_error(c->args, c->target.path, r, "%s", err.s);
		return r == -EUCLEAN ? EXIT_DAMAGE : EXIT_FAILED;
	}
	report_hint("repaired %zu; what was changed is recorded in %s/%s", fsck_plan_size(plan),
		    c->target.path, LAYOUT_LOST_FOUND);
	return EXIT_OK;
}

/* What is left to find after a repair. */
static int look_again(struct check *c)
{
	struct check again = { .args = c->args, .print.as_json = false };
	struct fsck_options opt = { .fn = found, .arg = &again, .tick = tick };
	int err = fsck_open(c->target.s, &opt, &again.f), code = EXIT_FAILED;

	again.print.is_silent = c->print.as_json;
	if (!err)
		err = fsck_structure(again.f);
	if (err)
		code = say_error(c, err);
	else
		code = fsck_totals(again.f)->damage ? EXIT_DAMAGE : EXIT_OK;
	fsck_close(again.f);
	return code;
}

static int run_check(struct check *c)
{
	int err, code;

	fsck_print_begin(&c->print, c->target.path, c->target.is_live);
	err = look(c);
	if (err && !c->f)
		return say_error(c, err);
	fsck_print_totals(&c->print, fsck_totals(c->f), !err && args_has(c->args, "data"));
	code = err ? say_error(c, err) : fsck_totals(c->f)->damage ? EXIT_DAMAGE : EXIT_OK;
	if (code == EXIT_DAMAGE && c->plan)
		code = repair(c);
	if (code == EXIT_OK && c->plan && fsck_totals(c->f)->damage)
		code = look_again(c);
	fsck_print_end(&c->print, code);
	return code;
}

/* Before the store is opened, which damaged pages can prevent. The check comes after it. */
static int accept_pages(const struct args *a)
{
	const char *path = a->rest[0];
	auto_target struct target mount = { 0 };
	struct store_accepted done;
	struct errmsg err = { "" };
	int res;

	if (target_find(path, &mount, &err) == 0) {
		report_error(
			a, path, -EBUSY,
			"--accept-pages needs the store to itself: unmount it first, and name the store");
		return EXIT_FAILED;
	}
	res = store_accept_pages(path, &done, &err);
	if (res) {
		report_error(a, path, res, "%s", *err.s ? err.s : strerror(-res));
		return res == -EBUSY ? EXIT_FAILED : exit_code_of(res);
	}
	if (!done.pages)
		report_hint("every page of meta.db matches its checksum: nothing to accept");
	else
		report_hint(
			"%" PRId64
			" pages of meta.db were accepted as they are; the database as it was is "
			"%s/%s/%s",
			done.pages, path, LAYOUT_LOST_FOUND, done.copy);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	struct check c = { .args = a, .ctl = CTL_CLIENT_CLOSED };
	const char *rate = args_get(a, "rate");
	int code;

	if (rate && !size_parse(rate, &c.rate))
		return report_usage(a, "--rate %s: not a size such as 50M", rate);
	if (args_has(a, "yes") && !args_has(a, "repair"))
		return report_usage(a, "--yes is for --repair");
	if ((rate || args_has(a, "resume")) && !args_has(a, "data"))
		return report_usage(a, "--rate and --resume are for --data");
	code = args_has(a, "accept-pages") ? accept_pages(a) : EXIT_OK;
	if (!code)
		code = store_target_open(a, a->rest[0], &c.target);
	if (code)
		return code;
	catch_signals();
	c.print.as_json = args_has(a, "json");
	c.print.with_plan = args_has(a, "repair");
	if (args_has(a, "repair"))
		c.plan = fsck_plan_new();
	if (c.plan && c.target.is_live) {
		report_error(a, c.target.path, -EBUSY,
			     "a repair needs the store to itself: unmount it first");
		code = EXIT_FAILED;
	} else {
		code = run_check(&c);
	}
	fsck_plan_free(c.plan);
	fsck_close(c.f);
	ctl_client_close(&c.ctl);
	store_target_close(&c.target);
	return code;
}

static const char *const usage[] = { "[--data [--rate BYTES] [--resume FILE]] [--json] STORE|MOUNT",
				     NULL };
static const struct option_spec options[] = {
	{ "data", 0, NULL, "also read all blobs and compare them with their hashes" },
	{ "rate", 0, "BYTES", "read at most this much per second, such as 50M" },
	{ "resume", 0, "FILE", "record in FILE how far --data has come, and continue from there" },
	{ "repair", 0, NULL, "move aside what is wrong, in a store that is not mounted" },
	{ "yes", 'y', NULL, "do not ask before repairing" },
	{ "accept-pages", 0, NULL,
	  "first accept the pages of meta.db as they are, although they do not match their "
	  "checksums: because another program has written them, or there is no backup" },
	OPTION_JSON,
	OPTION_END,
};
static const int exits[] = { 10, 20, 0 };

const struct verb verb_fsck = {
	.name = "fsck",
	.summary = "Check a store, mounted or not, for damage",
	.usage = usage,
	.about = "Checks the database and that all blobs are there; with --data, also the blobs\n"
		 "themselves. Each finding says what was found, which version of which path it\n"
		 "belongs to, what it means, and what to do about it. Notes are not damage.\n"
		 "Opening a file whose blob --data found damaged gives EIO from then on, until\n"
		 "a later --data finds it good again; open files stay readable. A mounted store\n"
		 "also marks what it finds damaged after a program has read all of a file.\n"
		 "\n"
		 "--repair says for each finding what it would do, and asks. Nothing is\n"
		 "deleted: damaged blobs go to STORE/lost+found, versions that collide with\n"
		 "others or could not be reached go to lost+found in the tree, and\n"
		 "STORE/lost+found/repair-TIME has each row as it was.\n"
		 "\n"
		 "Each page of meta.db has a checksum, which other programs do not write: a\n"
		 "copy made by sqlite3's .backup, or a VACUUM, looks damaged. --accept-pages\n"
		 "gives such pages new checksums; the database as it was goes to\n"
		 "STORE/lost+found.",
	.examples =
		"fence fsck /srv/store\nfence fsck --data --rate 50M --resume /var/tmp/check /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
