/* SPDX-License-Identifier: MIT */
/* A reply line and its values: what a client is sent by whatever answers it. */
#include "wire/duration.h"
#include "wire/errname.h"
#include "wire/escape.h"
#include "wire/event_kind.h"
#include "wire/number.h"
#include "wire/reply.h"
#include "wire/seconds.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void every_kind(const char *text)
{
	char *copy = strdup(text);
	int64_t number;
	mode_t mode;

	if (!copy)
		return;
	number_parse(text, &number);
	number_parse_mode(text, &mode);
	duration_parse(text, &number);
	seconds_parse(text, &number);
	errname_parse(text);
	event_kind_parse(text);
	escape_decode(copy);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply r = { .err = 0 };

	if (memchr(data, '\n', size))
		return 0;
	if (reply_parse((const char *)data, size, &r) == 0)
		for (int i = 0; i < r.n; i++)
			every_kind(r.fields[i].value);
	reply_fini(&r);
	return 0;
}
