/* SPDX-License-Identifier: MIT */
/* fence watch: reads .fence/events until it is interrupted. */
#include "cmd/cmd.h"

#include "base/cleanup.h"
#include "client/client.h"
#include "out/display.h"
#include "out/event_text.h"
#include "out/exit_code.h"
#include "out/json_object.h"
#include "wire/number.h"
#include "out/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE	 65536
#define NAME_MAX_COLUMNS 40

struct watch {
	const struct args *args;
	const char *path; /* in the tree; NULL: all */
	bool json;
};

/* The signal flag: what has been read is printed to its end, a read is given up. */
static volatile sig_atomic_t stopped;
static volatile sig_atomic_t waiting;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
	if (waiting)
		_exit(EXIT_OK);
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = stop };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static bool concerns(const struct watch *w, const char *path)
{
	return !w->path || !path || path_is_within(path, w->path) || path_is_within(w->path, path);
}

static void print_time(struct buf *out, int64_t at)
{
	time_t seconds = (time_t)(at / 1000000000);
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	buf_printf(out, "%s.%03d", text, (int)(at % 1000000000 / 1000000));
}

static void print_people(const struct reply *r)
{
	const char *event = reply_get(r, "event");
	const char *path = reply_get(r, "path");
	auto_buf struct buf line = { 0 };

	print_time(&line, event_time(r));
	buf_printf(&line, "  %-7s  ", event);
	display_name(&line, path && strcmp(path, ".") != 0 ? path : "(the whole mount)");
	buf_str(&line, "  ");
	event_text(&line, r, NAME_MAX_COLUMNS);
	puts(line.s);
}

static void print_missed(const struct reply *r)
{
	const char *from = reply_get(r, "from_revision");

	printf("-- some events were missed: they are no longer kept; continuing from revision %s "
	       "--\n",
	       from ? from : "?");
}

/* Something that is not understood is shown as it is. */
static void print_line(const struct watch *w, const char *line)
{
	auto_reply struct reply r = { 0 };
	const char *event = json_object_parse(line, &r) == 0 ? reply_get(&r, "event") : NULL;

	if (event && !concerns(w, reply_get(&r, "path")))
		return;
	if (w->json || !event)
		puts(line);
	else if (strcmp(event, "missed") == 0)
		print_missed(&r);
	else
		print_people(&r);
}

static void print_lines(const struct watch *w, char *s)
{
	for (char *end; (end = strchr(s, '\n')); s = end + 1) {
		*end = '\0';
		print_line(w, s);
	}
}

static int ended(const struct watch *w, const char *mount, int err)
{
	if (err && err != -ENOTCONN && err != -ECONNABORTED && err != -ENODEV)
		return report_error(w->args, mount, err, "%s", strerror(-err));
	return report_error(w->args, mount, -ENOTCONN, "unmounted: no more events");
}

static int follow(const struct watch *w, const char *mount, int fd)
{
	auto_buf struct buf room = { 0 };

	while (!stopped) {
		ssize_t n;
		int err;

		buf_clear(&room);
		buf_room(&room, READ_SIZE);
		waiting = 1;
		n = stopped ? 0 : read(fd, room.s, READ_SIZE);
		err = n < 0 ? -errno : 0;
		waiting = 0;
		if (stopped || err == -EINTR)
			continue;
		if (n <= 0)
			return ended(w, mount, err);
		buf_grown(&room, (size_t)n);
		print_lines(w, room.s);
		if (fflush(stdout) != 0)
			return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int open_events(const struct args *a, const char *mount, int *out_fd)
{
	const char *since = args_get(a, "since");
	auto_buf struct buf path = { 0 };
	auto_buf struct buf line = { 0 };
	auto_fd int fd = -1;

	buf_printf(&path, "%s/.fence/events", strcmp(mount, "/") == 0 ? "" : mount);
	fd = open(path.s, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return report_error(a, mount, -errno, ".fence/events: %s", strerror(errno));
	if (since) {
		buf_printf(&line, "since=%s\n", since);
		if (write(fd, line.s, line.len) < 0)
			return report_error(a, mount, -errno, "--since: %s", strerror(errno));
	}
	*out_fd = take_fd(&fd);
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	const char *path = a->n ? a->rest[0] : NULL;
	const char *since = args_get(a, "since");
	struct watch w = { .args = a, .json = args_has(a, "json") };
	auto_fd int fd = -1;
	int code;

	if (since && !number_is_token(since))
		return report_usage(
			a, "\"%s\" is not a revision; fence at prints the revision of a time",
			since);
	code = client_open(a, path, &t, &c);
	if (code == EXIT_OK)
		code = open_events(a, t.mount, &fd);
	if (code != EXIT_OK)
		return code;
	ctl_client_close(&c);
	w.path = path && strcmp(t.path, ".") != 0 ? t.path : NULL;
	catch_signals();
	return follow(&w, t.mount, fd);
}

static const char *const usage[] = { "[-m DIR] [--since REV] [--json] [PATH]", NULL };
static const struct option_spec options[] = {
	{ "since", 's', "REV", "start with what happened after revision REV; 0: all that is kept" },
	OPTION_MOUNT,
	{ "json", 0, NULL, "print each event as a line of JSON; tokens are strings" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_watch = {
	.name = "watch",
	.summary = "Print what happens as it happens",
	.usage = usage,
	.about = "Prints one line for each commit, refusal and claim, and for each grant, loss,\n"
		 "expiry and release of a lease; with PATH, only those at it, beneath it or on\n"
		 "a directory above it. It ends when it is interrupted (with 0) or the file\n"
		 "system is unmounted. A slow reader holds up nobody: events that are no longer\n"
		 "kept when their turn comes are reported as missed.",
	.examples =
		"fence watch /mnt/shared/reports\n"
		"fence watch --since $(fence at --time \"1h ago\" /mnt/shared) --json /mnt/shared",
	.options = options,
	.exits = exits,
	.max_args = 1,
	.run = run,
};
