/* SPDX-License-Identifier: MIT */
/* The picture as SVG: the same rows and lanes as timeline_text.c. See timeline.h. */
#include "timeline/timeline_draw.h"

#include "out/cell_width.h"
#include "out/display.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_HEIGHT   24
#define COLUMN_WIDTH 26
#define LEFT	     118 /* where the lanes begin */
#define TOP	     84
#define CHAR_WIDTH   7
#define TEXT_COLUMNS 96

static const char *const state_attributes[STATES] = {
	[STATE_NONE] = "",
	[STATE_LEASE] = "stroke=\"#2f6f9f\" stroke-width=\"8\"",
	[STATE_CLAIM] = "stroke=\"#2f6f9f\" stroke-width=\"3\"",
	[STATE_LAPSED] = "stroke=\"#a87c1f\" stroke-width=\"3\" stroke-dasharray=\"5 4\"",
	[STATE_OVERTAKEN] =
		"stroke=\"#a33\" stroke-width=\"3\" stroke-dasharray=\"0 8\" stroke-linecap=\"round\"",
};

struct drawing {
	const struct timeline *t;
	FILE *to;
};

static void put_text(FILE *to, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '&':
			fputs("&amp;", to);
			break;
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		default:
			/* U+FFFE and U+FFFF, which XML does not allow. */
			if (strncmp(s, "\xef\xbf\xbe", 3) == 0 ||
			    strncmp(s, "\xef\xbf\xbf", 3) == 0) {
				fputs("?", to);
				s += 2;
			} else {
				fputc(*s, to);
			}
		}
	}
}

static int lane_x(int column)
{
	return LEFT + COLUMN_WIDTH / 2 + column * COLUMN_WIDTH;
}

static int row_y(size_t row)
{
	return TOP + (int)row * ROW_HEIGHT;
}

static int text_x(const struct drawing *d)
{
	return LEFT + d->t->n_columns * COLUMN_WIDTH + 10;
}

static void draw_words(struct drawing *d, int x, int y, const char *attributes, const char *s)
{
	fprintf(d->to, "<text x=\"%d\" y=\"%d\"%s>", x, y + 4, attributes);
	put_text(d->to, s);
	fputs("</text>\n", d->to);
}

static void draw_state(struct drawing *d, int x, int from, int to, enum timeline_state state)
{
	if (state != STATE_NONE)
		fprintf(d->to, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" %s/>\n", x, from, x,
			to, state_attributes[state]);
}

static void draw_cross(struct drawing *d, int x, int y, const char *color)
{
	fprintf(d->to,
		"<path d=\"M%d %dl12 12m0 -12l-12 12\" stroke=\"%s\" stroke-width=\"3\""
		" stroke-linecap=\"round\"/>\n",
		x - 6, y - 6, color);
}

static void draw_circle(struct drawing *d, int x, int y, int radius, const char *attributes)
{
	fprintf(d->to, "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" %s/>\n", x, y, radius, attributes);
}

static void draw_bar(struct drawing *d, int x, int y, int half, const char *attributes)
{
	fprintf(d->to, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" %s/>\n", x - half, y,
		x + half, y, attributes);
}

static void draw_kind(struct drawing *d, int x, int y, enum timeline_kind kind)
{
	switch (kind) {
	case TIMELINE_COMMIT:
		draw_circle(d, x, y, 6, "fill=\"#2a7d3f\" stroke=\"#fff\" stroke-width=\"1\"");
		break;
	case TIMELINE_ELSEWHERE:
		draw_circle(d, x, y, 5, "fill=\"#fff\" stroke=\"#2a7d3f\" stroke-width=\"2\"");
		break;
	case TIMELINE_REFUSE:
		draw_cross(d, x, y, "#c22");
		break;
	case TIMELINE_GRANT:
		draw_bar(d, x, y, 9, "stroke=\"#2f6f9f\" stroke-width=\"5\"");
		break;
	case TIMELINE_RELEASE:
		draw_bar(d, x, y, 9, "stroke=\"#2f6f9f\" stroke-width=\"2\"");
		break;
	case TIMELINE_CLAIM:
		draw_circle(d, x, y, 4, "fill=\"#fff\" stroke=\"#2f6f9f\" stroke-width=\"2\"");
		break;
	case TIMELINE_EXPIRE:
		fprintf(d->to,
			"<path d=\"M%d %dl7 12h-14z\" fill=\"#fff\" stroke=\"#a87c1f\" stroke-width=\"2\"/>\n",
			x, y - 7);
		break;
	case TIMELINE_LOSE:
		fprintf(d->to,
			"<path d=\"M%d %dl7 7l-7 7l-7 -7z\" fill=\"#a87c1f\" stroke=\"#fff\"/>\n",
			x, y - 7);
		break;
	case TIMELINE_RESET:
		fprintf(d->to,
			"<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"#7a3f9d\"/>\n",
			x - 5, y - 5);
		break;
	case TIMELINE_KINDS:
		break;
	}
}

/* From who is refused to who came after. */
static void draw_link(struct drawing *d, const struct timeline_row *row, int y)
{
	int from = lane_x(row->mark), to = lane_x(row->other);
	int step = from < to ? -1 : 1;

	if (from == to)
		return;
	fprintf(d->to,
		"<path d=\"M%d %dH%dm%d -4l%d 4l%d 4\" stroke=\"#c22\" stroke-width=\"1.5\""
		" fill=\"none\"/>\n",
		from - step * 8, y, to + step * 6, step * 5, -step * 5, step * 5);
}

/* The lines down to the next row. */
static void draw_states(struct drawing *d, size_t i)
{
	for (int c = 0; i + 1 < d->t->n_rows && c < d->t->n_columns; c++)
		draw_state(d, lane_x(c), row_y(i), row_y(i + 1), d->t->rows[i].after[c]);
}

static void draw_row(struct drawing *d, size_t i)
{
	const struct timeline_row *row = &d->t->rows[i];
	const char *faint = " fill=\"#777\"";
	auto_buf struct buf words = { 0 };
	int y = row_y(i);
	char clock[16];

	timeline_clock(row->at, clock);
	if (row->kind == ROW_NOW)
		strcpy(clock, "now");
	if (row->kind == ROW_GAP || row->kind == ROW_DAY) {
		draw_words(d, row->kind == ROW_GAP ? LEFT - 14 : text_x(d), y,
			   row->kind == ROW_GAP ? " fill=\"#777\" text-anchor=\"end\"" : faint,
			   row->text);
		return;
	}
	if (row->kind != ROW_MORE)
		draw_words(d, LEFT - 14, y, " fill=\"#444\" text-anchor=\"end\"", clock);
	cell_cut(&words, row->event ? row->event->text : row->text, TEXT_COLUMNS);
	draw_words(d, text_x(d), y, row->kind == ROW_EVENT ? "" : faint, words.s);
	if (row->event && row->other >= 0)
		draw_link(d, row, y);
	if (row->event)
		draw_kind(d, lane_x(row->mark), y, row->event->kind);
}

static int draw_legend(struct drawing *d, int y, int width)
{
	bool kinds[TIMELINE_KINDS], states[STATES];
	int x = 30;

	timeline_used(d->t, kinds, states);
	for (int i = 0; i < TIMELINE_KINDS + STATES; i++) {
		bool is_kind = i < TIMELINE_KINDS;
		int n = is_kind ? i : i - TIMELINE_KINDS;
		const char *name = is_kind ? timeline_kind_name((enum timeline_kind)n) :
					     timeline_state_name((enum timeline_state)n);
		int wide = 44 + CHAR_WIDTH * (int)strlen(name);

		if (!(is_kind ? kinds[n] : states[n]))
			continue;
		if (x + wide > width) {
			x = 30;
			y += ROW_HEIGHT;
		}
		if (is_kind)
			draw_kind(d, x, y, (enum timeline_kind)n);
		else
			draw_state(d, x, y - 9, y + 9, (enum timeline_state)n);
		draw_words(d, x + 14, y, " fill=\"#444\"", name);
		x += wide;
	}
	return y;
}

static int picture_width(const struct drawing *d)
{
	size_t widest = 60;

	for (size_t i = 0; i < d->t->n_rows; i++) {
		const struct timeline_row *row = &d->t->rows[i];
		size_t width = cell_width(row->event ? row->event->text : row->text);

		if (width > widest)
			widest = width;
	}
	if (widest > TEXT_COLUMNS)
		widest = TEXT_COLUMNS;
	return text_x(d) + (int)widest * CHAR_WIDTH + 24;
}

void timeline_write_svg(const struct timeline *t, FILE *to)
{
	struct drawing d = { t, to };
	auto_buf struct buf name = { 0 };
	auto_buf struct buf title = { 0 };
	int width = picture_width(&d);
	int legend = row_y(t->n_rows) + 16;
	int height = legend + 3 * ROW_HEIGHT;
	char day[64];

	timeline_day(t->n_events ? t->events[0].at : t->now, day, sizeof(day));
	display_name(&name, strcmp(t->path, ".") == 0 ? "the whole mount" : t->path);
	cell_cut(&title, name.s, TEXT_COLUMNS);
	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
		" viewBox=\"0 0 %d %d\" font-family=\"ui-monospace, DejaVu Sans Mono, monospace\""
		" font-size=\"12\" fill=\"#222\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		width, height, width, height);
	draw_words(&d, 20, 28, " font-size=\"16\" font-weight=\"bold\"", title.s);
	draw_words(&d, 20, 50, " fill=\"#777\"", day);
	for (size_t i = 0; i < t->n_rows; i++)
		draw_states(&d, i);
	for (size_t i = 0; i < t->n_rows; i++)
		draw_row(&d, i);
	draw_legend(&d, legend, width);
	fputs("</svg>\n", to);
}
