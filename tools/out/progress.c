/* SPDX-License-Identifier: MIT */
/* See progress.h. Layer: tools. */
#include "out/progress.h"

#include "base/io.h"
#include "parse/buf.h"
#include "out/display.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

void progress_init(struct progress *p, const char *name, uint64_t total)
{
	*p = (struct progress){ .name = name, .total = total };
	p->is_terminal = isatty(STDERR_FILENO);
	p->started = io_boot_ns();
}

static void show(struct progress *p, int64_t now)
{
	auto_buf struct buf line = { 0 };
	double seconds = (double)(now - p->started) / (double)SECOND;

	display_name(&line, p->name);
	buf_str(&line, ": ");
	display_size(&line, p->done);
	if (p->total) {
		buf_str(&line, " of ");
		display_size(&line, p->total);
		buf_printf(&line, " (%" PRIu64 "%%)", p->done * 100 / p->total);
	}
	buf_str(&line, ", ");
	display_size(&line, (uint64_t)((double)p->done / seconds));
	buf_str(&line, "/s");
	fprintf(stderr, CLEAR_LINE "%s", line.s);
	fflush(stderr);
}

void progress_add(struct progress *p, uint64_t bytes)
{
	int64_t now;

	p->done += bytes;
	if (!p->is_terminal)
		return;
	now = io_boot_ns();
	if (now - p->started < SECOND || now - p->shown < SECOND / 5)
		return;
	show(p, now);
	p->shown = now;
}

void progress_fini(struct progress *p)
{
	if (p->shown)
		fputs(CLEAR_LINE, stderr);
	p->shown = 0;
}
