/* SPDX-License-Identifier: MIT */
/* What gc says: while it runs, and at the end. */
#ifndef FENCE_TOOLS_OUT_GC_PRINT_H
#define FENCE_TOOLS_OUT_GC_PRINT_H

#include "wire/reply.h"
#include "store/gc/gc.h"

struct gc_print {
	bool is_terminal; /* stderr: how far it is, on one line */
	bool is_shown;
	int64_t started, shown; /* CLOCK_BOOTTIME, ns */
};

void gc_print_init(struct gc_print *p);
/* How far it is, if it is time to say so again. */
void gc_print_progress(struct gc_print *p, const char *stage, int64_t done, int64_t total);
/* One line, now: SIGUSR1. */
void gc_print_line(struct gc_print *p, const char *stage, int64_t done, int64_t total);
/* Take the progress away again. */
void gc_print_fini(struct gc_print *p);

/* The report of a pass that did not fail, for people. */
void gc_print_people(const struct gc_report *r, bool dry_run);
/* @err: how the pass ended, -errno or 0; @text: why, NULL: it did not fail. */
void gc_print_json(const struct gc_print *p, const struct gc_report *r, bool dry_run, int err,
		   const char *text);
/* The fields of the daemon's reply. */
void gc_report_from(const struct reply *reply, struct gc_report *out);

#endif
