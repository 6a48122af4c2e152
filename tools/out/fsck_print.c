/* SPDX-License-Identifier: MIT */
/* See fsck_print.h. Layer: tools. */
#include "out/fsck_print.h"

#include "out/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What there is so far goes out; the JSON goes on. */
static void flush(struct json *j)
{
	if (j->out.len)
		fwrite(j->out.s, 1, j->out.len, stdout);
	buf_clear(&j->out);
}

void fsck_print_begin(struct fsck_print *p, const char *store, bool is_live)
{
	if (!p->as_json)
		return;
	json_open(&p->json, '{');
	json_key(&p->json, "store");
	json_string(&p->json, store);
	json_key(&p->json, "live");
	json_bool(&p->json, is_live);
	json_key(&p->json, "findings");
	json_open(&p->json, '[');
	flush(&p->json);
}

static void add_subject(struct json *j, const struct fsck_finding *x)
{
	if (x->path[0]) {
		json_key(j, "path");
		json_string(j, x->path);
	}
	if (x->version > 0) {
		json_key(j, "version");
		json_number(j, x->version);
		json_key(j, "current");
		json_bool(j, x->is_current);
	}
	if (x->others) {
		json_key(j, "others");
		json_number(j, x->others);
	}
	if (x->has_blob) {
		json_key(j, "blob");
		json_string(j, blob_hex(x->blob.b).s);
	}
}

static void print_json(struct json *j, const struct fsck_finding *x)
{
	json_line(j);
	json_open(j, '{');
	json_key(j, "kind");
	json_string(j, x->is_damage ? "damage" : "note");
	json_key(j, "rule");
	json_string(j, fsck_rule_name(x->rule));
	add_subject(j, x);
	json_key(j, "what");
	json_string(j, x->what);
	json_key(j, "consequence");
	json_string(j, x->consequence);
	json_key(j, "remedy");
	json_string(j, x->remedy);
	if (x->action) {
		json_key(j, "repair");
		json_string(j, fsck_action_text(x->action));
	}
	json_close(j, '}');
	flush(j);
}

static void add_path(struct buf *out, const struct fsck_finding *x)
{
	if (!x->path[0])
		return;
	display_name(out, x->path);
	if (x->version > 0)
		buf_printf(out, "@%" PRId64, x->version);
	if (x->is_current)
		buf_str(out, " (current)");
	if (x->others)
		buf_printf(out, " and %" PRId64 " more version%s", x->others,
			   x->others == 1 ? "" : "s");
	buf_str(out, ": ");
}

void fsck_print_finding(struct fsck_print *p, const struct fsck_finding *x)
{
	auto_buf struct buf line = { 0 };

	if (p->is_silent)
		return;
	if (p->as_json) {
		print_json(&p->json, x);
		return;
	}
	buf_printf(&line, "%s [%s] ", x->is_damage ? "damage" : "note", fsck_rule_name(x->rule));
	add_path(&line, x);
	display_name(&line, x->what);
	buf_str(&line, "\n    consequence: ");
	buf_str(&line, x->consequence);
	buf_str(&line, "\n    remedy: ");
	buf_str(&line, x->remedy);
	if (p->with_plan && x->action) {
		buf_str(&line, "\n    repair: ");
		buf_str(&line, fsck_action_text(x->action));
	}
	puts(line.s);
	fflush(stdout);
}

static void add_number(struct json *j, const char *key, int64_t n)
{
	json_key(j, key);
	json_number(j, n);
}

static void totals_json(struct json *j, const struct fsck_totals *t, bool with_data)
{
	json_line(j);
	json_close(j, ']');
	add_number(j, "damage", t->damage);
	add_number(j, "notes", t->notes);
	add_number(j, "entries", t->entries);
	add_number(j, "directories", t->dirs + 1);
	add_number(j, "blobs", t->blobs);
	add_number(j, "orphans", t->orphans);
	add_number(j, "orphan_bytes", t->orphan_bytes);
	add_number(j, "staged", t->staged);
	json_key(j, "data");
	json_bool(j, with_data);
	flush(j);
}

void fsck_print_totals(struct fsck_print *p, const struct fsck_totals *t, bool with_data)
{
	if (p->as_json) {
		p->json.comma = false;
		totals_json(&p->json, t, with_data);
		return;
	}
	printf("%" PRId64 " versions, %" PRId64 " directories, %" PRId64 " blobs checked%s: ",
	       t->entries, t->dirs + 1, t->blobs, with_data ? " and all blobs read" : "");
	if (t->damage)
		printf("%" PRId64 " damaged\n", t->damage);
	else
		puts("no damage");
}

void fsck_print_end(struct fsck_print *p, int code)
{
	if (!p->as_json)
		return;
	add_number(&p->json, "exit", code);
	json_close(&p->json, '}');
	json_print(&p->json);
	json_fini(&p->json);
}
