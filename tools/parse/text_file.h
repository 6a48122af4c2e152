/* SPDX-License-Identifier: MIT */
/* A file replaced as a whole. Layer: tools. */
#ifndef FENCE_TOOLS_PARSE_TEXT_FILE_H
#define FENCE_TOOLS_PARSE_TEXT_FILE_H

#include <stddef.h>

/*
 * Make @path a file of these bytes, mode 0644: at no moment is there a part of them, and if it
 * fails the old one stays. Nothing is fsynced. -errno.
 */
int text_file_replace(const char *path, const char *bytes, size_t len);

#endif
