/* SPDX-License-Identifier: MIT */
/*
 * The log: one line a message, in one write, to stderr or syslog. Layer: base.
 */
#include "base/log.h"
#include "base/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

static atomic_int level_limit = LOG_LEVEL_INFO;
static atomic_bool use_syslog, use_stderr = true;

static const char *const level_name[] = { "error", "warning", "info", "debug" };
static const int level_priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level)
{
	atomic_store(&level_limit, (int)level);
}

void log_to_syslog(const char *ident)
{
	log_to_both(ident);
	atomic_store(&use_stderr, false);
}

void log_to_both(const char *ident)
{
	openlog(ident, LOG_PID, LOG_DAEMON);
	atomic_store(&use_syslog, true);
}

/* Control bytes become \xHH. Returns the length written to @out, at most @room. */
static size_t escape(const char *in, char *out, size_t room)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 0;

	for (; *in; in++) {
		unsigned char c = (unsigned char)*in;
		bool control = c < 0x20 || c == 0x7f;

		if (n + (control ? 4 : 1) > room)
			break;
		if (!control) {
			out[n++] = *in;
			continue;
		}
		out[n++] = '\\';
		out[n++] = 'x';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	return n;
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];
	int saved = errno;
	int prefix;
	size_t len;
	va_list ap;

	if ((int)level > atomic_load(&level_limit))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	prefix =
		snprintf(line, 64, "%.32s: %s: ", program_invocation_short_name, level_name[level]);
	len = (size_t)prefix + escape(text, line + prefix, sizeof(line) - (size_t)prefix - 2);
	line[len] = '\0';
	if (atomic_load(&use_syslog))
		syslog(level_priority[level], "%s", line + prefix);
	if (atomic_load(&use_stderr)) {
		line[len++] = '\n';
		(void)io_write_all(STDERR_FILENO, line, len); /* nowhere left to report it */
	}
	errno = saved;
}
