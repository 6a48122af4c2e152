/* SPDX-License-Identifier: MIT */
/* The picture as text. See timeline.h. */
#include "timeline/timeline_draw.h"

#include "out/cell_width.h"
#include "out/display.h"

#include <stdio.h>
#include <string.h>

#define TIME_WIDTH 14 /* "11:02:03.120" and a margin */
#define TEXT_MIN   20

struct symbols {
	const char *kinds[TIMELINE_KINDS];
	const char *states[STATES];
	const char *line, *cross, *into_left, *into_right; /* from who is refused to who refuses */
	const char *gap;
};

static const struct symbols utf8_symbols = {
	.kinds = { [TIMELINE_COMMIT] = "●",
		   [TIMELINE_ELSEWHERE] = "○",
		   [TIMELINE_REFUSE] = "✗",
		   [TIMELINE_CLAIM] = "┌",
		   [TIMELINE_GRANT] = "┏",
		   [TIMELINE_RELEASE] = "┗",
		   [TIMELINE_EXPIRE] = "!",
		   [TIMELINE_LOSE] = "»",
		   [TIMELINE_RESET] = "↺" },
	.states = { " ", "┃", "│", "┆", "·" },
	.line = "─",
	.cross = "┼",
	.into_left = "├",
	.into_right = "┤",
	.gap = "⋮",
};

static const struct symbols ascii_symbols = {
	.kinds = { [TIMELINE_COMMIT] = "*",
		   [TIMELINE_ELSEWHERE] = "o",
		   [TIMELINE_REFUSE] = "x",
		   [TIMELINE_CLAIM] = "(",
		   [TIMELINE_GRANT] = "[",
		   [TIMELINE_RELEASE] = "]",
		   [TIMELINE_EXPIRE] = "!",
		   [TIMELINE_LOSE] = ">",
		   [TIMELINE_RESET] = "R" },
	.states = { " ", "|", ":", ",", "." },
	.line = "-",
	.cross = "+",
	.into_left = "|",
	.into_right = "|",
	.gap = "~",
};

/* Colours only repeat what the symbols say. */
static const char *const kind_colors[TIMELINE_KINDS] = {
	[TIMELINE_COMMIT] = "\033[1;32m", [TIMELINE_ELSEWHERE] = "\033[32m",
	[TIMELINE_REFUSE] = "\033[1;31m", [TIMELINE_CLAIM] = "\033[36m",
	[TIMELINE_GRANT] = "\033[1;36m",  [TIMELINE_RELEASE] = "\033[36m",
	[TIMELINE_EXPIRE] = "\033[1;33m", [TIMELINE_LOSE] = "\033[1;33m",
	[TIMELINE_RESET] = "\033[1;35m",
};
static const char *const state_colors[STATES] = {
	"", "\033[36m", "\033[36m", "\033[33m", "\033[31m",
};

struct painter {
	const struct timeline *t;
	const struct timeline_style *style;
	const struct symbols *symbols;
	struct buf line; /* owned */
};

static void paint(struct painter *p, const char *color, const char *text)
{
	bool on = p->style->color && color && *color;

	buf_printf(&p->line, "%s%s%s", on ? color : "", text, on ? "\033[0m" : "");
}

/* No spaces at the end of a line. */
static void print_line(struct painter *p)
{
	while (p->line.len && p->line.s[p->line.len - 1] == ' ')
		p->line.s[--p->line.len] = '\0';
	puts(buf_text(&p->line));
	buf_clear(&p->line);
}

/* Whether the line from who is refused to who refuses runs over the gap right of column @c. */
static bool is_linked(const struct timeline_row *row, int c)
{
	int low = row->mark < row->other ? row->mark : row->other;
	int high = row->mark < row->other ? row->other : row->mark;

	return row->mark >= 0 && row->other >= 0 && c >= low && c < high;
}

static void paint_cell(struct painter *p, const struct timeline_row *row, int c)
{
	const struct symbols *s = p->symbols;
	const char *red = kind_colors[TIMELINE_REFUSE];

	if (c == row->mark)
		paint(p, kind_colors[row->event->kind], s->kinds[row->event->kind]);
	else if (c == row->other)
		paint(p, red, row->mark < c ? s->into_right : s->into_left);
	else if (is_linked(row, c))
		paint(p, red, row->after[c] == STATE_NONE ? s->line : s->cross);
	else
		paint(p, state_colors[row->after[c]], s->states[row->after[c]]);
	if (is_linked(row, c))
		paint(p, red, s->line);
	else
		buf_char(&p->line, ' ');
}

/* The lanes of @row; below the event itself only what goes on. */
static void paint_lanes(struct painter *p, const struct timeline_row *row, bool is_first)
{
	struct timeline_row below = *row;

	below.mark = -1;
	below.other = -1;
	for (int c = 0; c < p->t->n_columns; c++)
		paint_cell(p, is_first ? row : &below, c);
	buf_char(&p->line, ' ');
}

static size_t text_width(const struct painter *p)
{
	int width = p->style->width - TIME_WIDTH - 2 * p->t->n_columns - 1;

	return width < TEXT_MIN ? TEXT_MIN : (size_t)width;
}

/* ASCII terminals get names as they are, but none of our own signs. */
static void plain(const struct painter *p, struct buf *text)
{
	char *dots;

	while (p->style->ascii && text->s && (dots = strstr(text->s, "…")))
		memset(dots, '.', strlen("…"));
}

static void print_row(struct painter *p, const struct timeline_row *row, const char *time)
{
	auto_buf struct buf words = { 0 };
	const char *text;
	size_t columns = text_width(p);
	bool is_first = true;

	buf_str(&words, row->kind == ROW_EVENT ? row->event->text : row->text);
	plain(p, &words);
	text = buf_text(&words);
	do {
		size_t indent = is_first ? 0 : 2;
		size_t len = cell_line(text, columns - indent);

		buf_printf(&p->line, "%-*s", TIME_WIDTH, is_first ? time : "");
		paint_lanes(p, row, is_first);
		buf_printf(&p->line, "%*s%.*s", (int)indent, "", (int)len, text);
		print_line(p);
		text += len;
		text += strspn(text, " ");
		is_first = false;
	} while (*text);
}

/* "    28 s ⋮" with the lanes, and no words beside them. */
static void print_gap(struct painter *p, const struct timeline_row *row)
{
	buf_printf(&p->line, "%*s", TIME_WIDTH - 4 - (int)cell_width(row->text), "");
	buf_printf(&p->line, "%s %s  ", row->text, p->symbols->gap);
	paint_lanes(p, row, true);
	print_line(p);
}

static void print_one(struct painter *p, const struct timeline_row *row)
{
	char clock[16];

	timeline_clock(row->at, clock);
	switch (row->kind) {
	case ROW_GAP:
		print_gap(p, row);
		break;
	case ROW_NOW:
		clock[8] = '\0'; /* "now" has no milliseconds */
		memmove(clock + 4, clock, 9);
		memcpy(clock, "now ", 4);
		print_row(p, row, clock);
		break;
	case ROW_MORE:
		print_row(p, row, "");
		break;
	case ROW_DAY:
		print_row(p, row, "");
		break;
	case ROW_EVENT:
		print_row(p, row, clock);
		break;
	}
}

/* The path on the left, the day on the right. */
static void print_heading(struct painter *p)
{
	const struct timeline *t = p->t;
	auto_buf struct buf name = { 0 };
	char day[64];
	int room;

	timeline_day(t->n_events ? t->events[0].at : t->now, day, sizeof(day));
	room = p->style->width - (int)strlen(day) - 2;
	display_name(&name, strcmp(t->path, ".") == 0 ? "the whole mount" : t->path);
	cell_cut(&p->line, name.s, room > 10 ? (size_t)room : 10);
	plain(p, &p->line);
	buf_printf(&p->line, "%*s%s", room + 2 - (int)cell_width(p->line.s), "", day);
	print_line(p);
	if (t->left_out)
		printf("(%zu earlier %s not shown%s)\n", t->left_out,
		       t->left_out == 1 ? "event is" : "events are",
		       t->since || t->since_revision >= 0 ? "" : "; --since 0 shows all");
	putchar('\n');
}

/* In black: a colour's bytes would count as columns. */
static void add_legend(struct painter *p, const char *symbol, const char *name)
{
	size_t width = 3 + 2 + strlen(name);

	if (p->line.len && cell_width(p->line.s) + width > (size_t)p->style->width)
		print_line(p);
	buf_printf(&p->line, "%s%s %s", p->line.len ? "   " : "", symbol, name);
}

static void print_legend(struct painter *p)
{
	bool kinds[TIMELINE_KINDS], states[STATES];

	timeline_used(p->t, kinds, states);
	putchar('\n');
	for (int i = 0; i < TIMELINE_KINDS; i++)
		if (kinds[i])
			add_legend(p, p->symbols->kinds[i],
				   timeline_kind_name((enum timeline_kind)i));
	for (int i = 0; i < STATES; i++)
		if (states[i])
			add_legend(p, p->symbols->states[i],
				   timeline_state_name((enum timeline_state)i));
	print_line(p);
}

void timeline_print(const struct timeline *t, const struct timeline_style *style)
{
	struct painter p = { .t = t,
			     .style = style,
			     .symbols = style->ascii ? &ascii_symbols : &utf8_symbols };

	print_heading(&p);
	for (size_t i = 0; i < t->n_rows; i++)
		print_one(&p, &t->rows[i]);
	print_legend(&p);
	buf_fini(&p.line);
}
