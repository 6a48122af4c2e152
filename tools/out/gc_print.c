/* SPDX-License-Identifier: MIT */
/* See gc_print.h. Layer: tools. */
#include "out/gc_print.h"

#include "wire/errname.h"
#include "base/io.h"
#include "out/display.h"
#include "out/json.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

void gc_print_init(struct gc_print *p)
{
	*p = (struct gc_print){ .is_terminal = isatty(STDERR_FILENO), .started = io_boot_ns() };
}

static void print_state(const struct gc_print *p, const char *stage, int64_t done, int64_t total)
{
	fprintf(stderr, "gc: %s", stage);
	if (total > 0)
		fprintf(stderr, ", %" PRId64 " of %" PRId64 " (%" PRId64 "%%)", done, total,
			done < total ? done * 100 / total : INT64_C(100));
	else if (done > 0)
		fprintf(stderr, ", %" PRId64, done);
	fprintf(stderr, ", %" PRId64 " s", (io_boot_ns() - p->started) / SECOND);
}

/* [##########          ] */
static void print_bar(int64_t done, int64_t total)
{
	char bar[21];
	int64_t full = total > 0 ? (done < total ? done : total) * 20 / total : 0;

	memset(bar, ' ', 20);
	memset(bar, '#', (size_t)full);
	bar[20] = '\0';
	fprintf(stderr, CLEAR_LINE "[%s] ", bar);
}

void gc_print_progress(struct gc_print *p, const char *stage, int64_t done, int64_t total)
{
	int64_t now = io_boot_ns();

	if (!p->is_terminal || now - p->started < SECOND / 2 || now - p->shown < SECOND / 5)
		return;
	print_bar(done, total);
	print_state(p, stage, done, total);
	fflush(stderr);
	p->shown = now;
	p->is_shown = true;
}

void gc_print_line(struct gc_print *p, const char *stage, int64_t done, int64_t total)
{
	gc_print_fini(p);
	print_state(p, stage, done, total);
	fputc('\n', stderr);
	fflush(stderr);
}

void gc_print_fini(struct gc_print *p)
{
	if (p->is_shown)
		fputs(CLEAR_LINE, stderr);
	p->is_shown = false;
}

static void add_count(struct buf *out, const char *what, int64_t n, int64_t bytes)
{
	buf_printf(out, "%s: %" PRId64 " (", what, n);
	display_size(out, (uint64_t)bytes);
	buf_str(out, ")\n");
}

static const char *const kinds[GARBAGE_KINDS] = {
	[GARBAGE_REFUSED] = "of refused writes",
	[GARBAGE_CRASHED] = "never published",
	[GARBAGE_PRUNED] = "of pruned versions",
};

void gc_print_people(const struct gc_report *r, bool dry_run)
{
	auto_buf struct buf out = { 0 };
	const char *removed = dry_run ? "would remove, " : "removed, ";
	char what[64];

	for (int k = 0; k < GARBAGE_KINDS; k++) {
		snprintf(what, sizeof(what), "%s%s", removed, kinds[k]);
		if (r->removed[k].n)
			add_count(&out, what, r->removed[k].n, r->removed[k].bytes);
	}
	snprintf(what, sizeof(what), "%sin staging", removed);
	if (r->staging.n)
		add_count(&out, what, r->staging.n, r->staging.bytes);
	if (r->versions.n)
		buf_printf(&out, "%s: %" PRId64 "\n",
			   dry_run ? "versions that would be pruned" : "versions pruned",
			   r->versions.n);
	if (r->fences)
		buf_printf(&out, "%s: %" PRId64 "\n",
			   dry_run ? "fences that would be forgotten" : "fences forgotten",
			   r->fences);
	if (r->waiting.n)
		add_count(&out, "unreferenced, waiting for the grace period to end", r->waiting.n,
			  r->waiting.bytes);
	if (r->pages)
		buf_printf(&out, "pages of the database given back: %" PRId64 "\n", r->pages);
	if (r->foreign) {
		buf_printf(&out, "not ours, left alone: %" PRId64 ", as blobs/", r->foreign);
		display_name(&out, r->foreign_name);
		buf_char(&out, '\n');
	}
	if (!out.len)
		buf_str(&out, "nothing to remove\n");
	fputs(out.s, stdout);
}

static void json_count(struct json *j, const char *key, const struct gc_count *n)
{
	json_key(j, key);
	json_open(j, '{');
	json_key(j, "count");
	json_number(j, n->n);
	json_key(j, "bytes");
	json_number(j, n->bytes);
	json_close(j, '}');
}

static void json_int(struct json *j, const char *key, int64_t n)
{
	json_key(j, key);
	json_number(j, n);
}

static void json_error(struct json *j, int err, const char *text)
{
	if (!text)
		return;
	json_key(j, "error");
	json_string(j, errname(err));
	json_key(j, "message");
	json_string(j, text);
}

void gc_print_json(const struct gc_print *p, const struct gc_report *r, bool dry_run, int err,
		   const char *text)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	json_error(&j, err, text);
	json_key(&j, "dry_run");
	json_bool(&j, dry_run);
	json_key(&j, "removed");
	json_open(&j, '{');
	for (int k = 0; k < GARBAGE_KINDS; k++)
		json_count(&j, garbage_kind_name((enum garbage_kind)k), &r->removed[k]);
	json_count(&j, "staging", &r->staging);
	json_close(&j, '}');
	json_count(&j, "waiting", &r->waiting);
	json_int(&j, "versions_pruned", r->versions.n);
	json_int(&j, "fences_forgotten", r->fences);
	json_int(&j, "pages_returned", r->pages);
	json_int(&j, "entries", r->entries);
	json_int(&j, "blobs", r->blobs);
	json_int(&j, "pinned", r->pinned);
	json_int(&j, "missing", r->missing);
	json_int(&j, "foreign", r->foreign);
	json_key(&j, "foreign_name");
	json_string(&j, r->foreign ? r->foreign_name : NULL);
	json_key(&j, "restored");
	json_bool(&j, r->is_restored);
	json_int(&j, "milliseconds", (io_boot_ns() - p->started) / 1000000);
	json_close(&j, '}');
	json_print(&j);
}

static int64_t number(const struct reply *r, const char *name, const char *suffix)
{
	char key[48];
	const char *s;

	snprintf(key, sizeof(key), "%s%s", name, suffix);
	s = reply_get(r, key);
	return s ? strtoll(s, NULL, 10) : 0;
}

static struct gc_count count(const struct reply *r, const char *name)
{
	return (struct gc_count){ number(r, name, ""), number(r, name, "_bytes") };
}

void gc_report_from(const struct reply *reply, struct gc_report *out)
{
	const char *name = reply_get(reply, "foreign_name");

	*out = (struct gc_report){
		.staging = count(reply, "staging"),
		.waiting = count(reply, "waiting"),
		.versions.n = number(reply, "versions", ""),
		.fences = number(reply, "fences", ""),
		.pages = number(reply, "pages", ""),
		.entries = number(reply, "entries", ""),
		.blobs = number(reply, "blobs", ""),
		.pinned = number(reply, "pinned", ""),
		.missing = number(reply, "missing", ""),
		.foreign = number(reply, "foreign", ""),
		.is_restored = number(reply, "restored", "") != 0,
	};
	for (int k = 0; k < GARBAGE_KINDS; k++)
		out->removed[k] = count(reply, garbage_kind_name((enum garbage_kind)k));
	snprintf(out->foreign_name, sizeof(out->foreign_name), "%s", name ? name : "");
}
