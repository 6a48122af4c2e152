/* SPDX-License-Identifier: MIT */
/* A request line, and each of its values by every kind: any user writes them. */
#include "base/path.h"
#include "wire/ctl_line.h"
#include "wire/ctl_value.h"
#include "wire/ctl_verb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void every_kind(const struct ctl_line *l, const char *key)
{
	struct ctl_error error;
	char path[FENCE_PATH_MAX + 1];
	const char *word = "";
	int64_t number;
	uint32_t mode;
	bool flag;

	ctl_token(l, key, &number, &error);
	ctl_count(l, key, INT64_MAX, &number, &error);
	ctl_mode(l, key, &mode, &error);
	ctl_duration(l, key, &number, &error);
	ctl_flag(l, key, &flag, &error);
	ctl_word(l, key, &word, &error);
	/* A path that is taken has a form that does not change any more. */
	if (ctl_path(l, key, path, &flag, &error) == 0 && (path[0] == '\0' || path[0] == '/'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_line line;
	struct ctl_error error = { .err = 0 };
	enum ctl_verb_id verb;

	if (memchr(data, '\n', size))
		return 0;
	if (ctl_line_parse((const char *)data, size, &line, &error) < 0) {
		if (error.err >= 0 || !memchr(error.text, '\0', sizeof(error.text)))
			abort();
		return 0;
	}
	ctl_verb_check(&line, &verb, &error);
	for (int i = 0; i < line.n; i++)
		every_kind(&line, line.kv[i].key);
	ctl_line_fini(&line);
	return 0;
}
