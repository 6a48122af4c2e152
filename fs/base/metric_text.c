/* SPDX-License-Identifier: MIT */
/* See metric_text.h. Layer: base. */
#include "base/metric_text.h"

#include "base/histogram.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1000000000

static bool make_room(struct metric_text *t, size_t more)
{
	size_t room = t->room ? t->room : 16384;
	char *grown;

	while (room - t->len < more)
		room *= 2;
	if (room == t->room)
		return true;
	grown = realloc(t->s, room);
	if (!grown) {
		t->failed = true;
		return false;
	}
	t->s = grown;
	t->room = room;
	return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct metric_text *t, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	if (t->failed)
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0 && make_room(t, (size_t)n + 1)) {
		vsnprintf(t->s + t->len, (size_t)n + 1, fmt, again);
		t->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

static void add_escaped(struct metric_text *t, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			add(t, "\\n");
		else
			add(t, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
}

/* @le: one more label, as histograms have it; NULL: none. */
static void add_name(struct metric_text *t, const struct metric *m, const char *suffix,
		     const struct metric_labels *labels, const char *le)
{
	const char *sep = "{";

	add(t, "%s%s", m->name, suffix);
	for (size_t i = 0; i < sizeof(labels->pair) / sizeof(labels->pair[0]); i += 2) {
		if (!labels->pair[i])
			break;
		add(t, "%s%s=\"", sep, labels->pair[i]);
		add_escaped(t, labels->pair[i + 1]);
		add(t, "\"");
		sep = ",";
	}
	if (le)
		add(t, "%sle=\"%s\"", sep, le);
	add(t, "%s ", le || labels->pair[0] ? "}" : "");
}

static void add_seconds(struct metric_text *t, uint64_t ns)
{
	add(t, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void metric_begin(struct metric_text *t, const struct metric *m)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };

	add(t, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, types[m->type]);
}

void metric_int(struct metric_text *t, const struct metric *m, const struct metric_labels *labels,
		int64_t value)
{
	add_name(t, m, "", labels, NULL);
	add(t, "%" PRId64 "\n", value);
}

void metric_seconds(struct metric_text *t, const struct metric *m,
		    const struct metric_labels *labels, int64_t ns)
{
	add_name(t, m, "", labels, NULL);
	add_seconds(t, ns > 0 ? (uint64_t)ns : 0);
}

void metric_histogram(struct metric_text *t, const struct metric *m,
		      const struct metric_labels *labels, const struct histogram *h)
{
	struct histogram_values v;

	histogram_read(h, &v);
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		char le[32] = "+Inf";

		if (i < HISTOGRAM_BOUNDS)
			snprintf(le, sizeof(le), "%g", (double)histogram_bounds[i] / NS_PER_S);
		add_name(t, m, "_bucket", labels, le);
		add(t, "%" PRIu64 "\n", v.up_to[i]);
	}
	add_name(t, m, "_sum", labels, NULL);
	add_seconds(t, v.sum);
	add_name(t, m, "_count", labels, NULL);
	add(t, "%" PRIu64 "\n", v.up_to[HISTOGRAM_BOUNDS]);
}

void metric_family(struct metric_text *t, const struct metric *m, int64_t value)
{
	metric_begin(t, m);
	metric_int(t, m, METRIC_PLAIN, value);
}

void metric_family_of(struct metric_text *t, const struct metric *m, const char *label,
		      const char *const *names, const metric_counter *counters, int n)
{
	metric_begin(t, m);
	for (int i = 0; i < n; i++)
		metric_int(t, m, METRIC_LABEL(label, names[i]), metric_get(&counters[i]));
}

void metric_text_fini(struct metric_text *t)
{
	free(t->s);
	*t = (struct metric_text){ 0 };
}
