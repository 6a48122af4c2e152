/* SPDX-License-Identifier: MIT */
/*
 * The daemon's and the tools' log: stderr, or syslog (which the journal reads) once log_to_syslog()
 * was called; until then also both.
 */
#ifndef FENCE_BASE_LOG_H
#define FENCE_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
void log_to_syslog(const char *ident);
/* A daemon that is about to start: whoever has started it looks at stderr, others into the log. */
void log_to_both(const char *ident);
/* One line; control bytes in the text are escaped, so a hostile name cannot forge a line. */
void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_msg(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_msg(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)	 log_msg(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)	 log_msg(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
