/* SPDX-License-Identifier: MIT */
/* Configuration files of others that are words on lines of their own, such as /etc/fuse.conf. */
#ifndef FENCE_BASE_CONF_LINE_H
#define FENCE_BASE_CONF_LINE_H

#include <stdbool.h>

/* Whether a line of @path is @word and nothing else. A file that cannot be read has no lines. */
bool conf_has_line(const char *path, const char *word);

#endif
