/* SPDX-License-Identifier: MIT */
/* See report.h. Layer: tools. */
#include "out/report.h"

#include "base/cleanup.h"
#include "parse/buf.h"
#include "out/display.h"
#include "out/exit_code.h"
#include "out/field.h"
#include "out/refusal_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One write(2) a line, so that the lines of several processes do not mix. */
static void say(const char *verb, const char *name, const char *text)
{
	auto_buf struct buf line = { 0 };

	buf_str(&line, "fence: ");
	if (verb)
		buf_str(&line, verb);
	if (name) {
		buf_char(&line, ' ');
		display_name(&line, name);
	}
	if (verb || name)
		buf_str(&line, ": ");
	display_name(&line, text);
	buf_char(&line, '\n');
	fflush(stdout);
	fputs(line.s, stderr);
}

static char *formatted(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
static char *formatted(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? str_copy("out of memory") : text;
}

int report_usage(const struct args *a, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = formatted(fmt, ap);
	va_end(ap);
	say(a->verb->name, NULL, text);
	fprintf(stderr, "usage: fence %s %s\n", a->verb->name, a->verb->usage[0]);
	for (const char *const *u = a->verb->usage + 1; *u; u++)
		fprintf(stderr, "       fence %s %s\n", a->verb->name, *u);
	return EXIT_USAGE;
}

int report_error(const struct args *a, const char *name, int err, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = formatted(fmt, ap);
	va_end(ap);
	say(a->verb->name, name, text);
	return exit_code_of(err);
}

int report_errno(const struct args *a, const char *name, int err)
{
	say(a->verb->name, name, exit_error_text(err));
	return exit_code_of(err);
}

void report_hint(const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = formatted(fmt, ap);
	va_end(ap);
	say(NULL, NULL, text);
}

int report_refusal(const struct args *a, const char *name, const struct reply *reply)
{
	auto_buf struct buf text = { 0 };
	const char *hint = refusal_hint(a->verb->name, reply);

	refusal_text(&text, name, reply);
	say(a->verb->name, name, text.s);
	if (hint)
		say(NULL, NULL, hint);
	if (args_knows(a, "json") && args_has(a, "json"))
		field_print_refusal(reply);
	return exit_code_of(reply->err);
}

int report_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno != EPIPE)
		fprintf(stderr, "fence: cannot write the output: %s\n", strerror(errno));
	return code ? code : EXIT_FAILED;
}
