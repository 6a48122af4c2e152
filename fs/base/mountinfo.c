/* SPDX-License-Identifier: MIT */
/*
 * 36 35 98:0 /root /point options [optional...] - type source super-options
 *
 * Layer: base.
 */
#include "base/mountinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

static bool is_octal(char c, char most)
{
	return c >= '0' && c <= most;
}

/* The kernel writes space, tab, newline and backslash as three octal digits. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && is_octal(s[1], '3') && is_octal(s[2], '7') &&
		    is_octal(s[3], '7')) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

bool mountinfo_parse(char *line, struct mountinfo *out)
{
	char *head[6], *tail[3] = { NULL, NULL, NULL };
	unsigned int major, minor;
	char *rest = line;
	char *word;

	for (int i = 0; i < 6; i++)
		if (!(head[i] = strsep(&rest, " ")))
			return false;
	do
		word = strsep(&rest, " ");
	while (word && strcmp(word, "-") != 0);
	/* An empty source leaves two spaces; strsep() gives it as an empty word. */
	for (int i = 0; i < 3; i++)
		tail[i] = strsep(&rest, " ");
	if (!tail[0] || !tail[1] || sscanf(head[2], "%u:%u", &major, &minor) != 2)
		return false;
	unescape(head[3]);
	unescape(head[4]);
	unescape(tail[1]);
	*out = (struct mountinfo){
		.id = strtoull(head[0], NULL, 10),
		.dev = makedev(major, minor),
		.root = head[3],
		.point = head[4],
		.type = tail[0],
		.source = tail[1],
		.super = tail[2] ? tail[2] : tail[1] + strlen(tail[1]),
	};
	return true;
}
