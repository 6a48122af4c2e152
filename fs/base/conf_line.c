/* SPDX-License-Identifier: MIT */
/* See conf_line.h. Layer: base. */
#include "base/conf_line.h"

#include <stdio.h>
#include <string.h>

bool conf_has_line(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[512], first[512], more[2];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%511s %1s", first, more) == 1 && strcmp(first, word) == 0;
	fclose(f);
	return found;
}
