/* SPDX-License-Identifier: MIT */
/* See verb_help.h. Layer: tools. */
#include "cmd/verb_help.h"

#include "base/version.h"
#include "cmd/verbs.h"
#include "out/exit_code.h"
#include "out/json.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH 79

static const struct option_spec help_option = { "help", 'h', NULL, "this text" };

/* Every verb may end so. */
static bool is_common_exit(int code)
{
	return code <= EXIT_USAGE;
}

static bool has_exit(const struct verb *v, int code)
{
	for (const int *e = v->exits; *e; e++)
		if (*e == code)
			return true;
	return is_common_exit(code);
}

static void print_exits(FILE *to, const struct verb *v)
{
	fputs("\nExit status:\n", to);
	for (const struct exit_row *row = exit_rows; row->meaning; row++)
		if (!v || has_exit(v, row->code))
			fprintf(to, "  %3d  %s\n", row->code, row->meaning);
}

void verb_help_all(FILE *to)
{
	fputs("usage: fence VERB [OPTION]... [ARGUMENT]...\n"
	      "       fence VERB --help\n"
	      "\n"
	      "A shared directory in which a writer that has been overtaken can no longer\n"
	      "overwrite what came after it.\n"
	      "\n"
	      "Verbs:\n",
	      to);
	for (const struct verb *const *v = verbs; *v; v++)
		fprintf(to, "  %-9s  %s\n", (*v)->name, (*v)->summary);
	fputs("\n"
	      "Environment:\n"
	      "  FENCE_TOKEN  the token, if --token is not given\n"
	      "  FENCE_OWNER  who you are, if --owner is not given\n"
	      "  FENCE_DIR    a directory in the mount that is meant, if no path tells\n",
	      to);
	print_exits(to, NULL);
}

static void option_heading(const struct option_spec *o, char *out, size_t room)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(out, room, "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

static int heading_width(const struct verb *v)
{
	size_t width = 0;
	char heading[64];

	for (const struct option_spec *o = v->options; o->name; o++) {
		option_heading(o, heading, sizeof(heading));
		if (strlen(heading) > width)
			width = strlen(heading);
	}
	return (int)width;
}

/*
 * @text, whose line breaks count as spaces, in lines of at most WIDTH columns: the first goes on at
 * column @indent, the others begin there.
 */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + len > WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " \n");
	}
	putchar('\n');
}

static void print_options(const struct verb *v)
{
	int width = heading_width(v);
	char heading[64];

	puts("\nOptions:");
	for (const struct option_spec *o = v->options; o->name; o++) {
		option_heading(o, heading, sizeof(heading));
		printf("  %-*s  ", width, heading);
		print_wrapped(o->help, width + 4);
	}
	option_heading(&help_option, heading, sizeof(heading));
	printf("  %-*s  %s\n", width, heading, help_option.help);
}

static void print_indented(const char *lines)
{
	while (*lines) {
		int len = (int)strcspn(lines, "\n");

		printf("  %.*s\n", len, lines);
		lines += len;
		lines += *lines == '\n';
	}
}

void verb_help(const struct verb *v)
{
	const char *heading = "usage:";

	for (const char *const *u = v->usage; *u; u++) {
		printf("%-6s fence %s %s\n", heading, v->name, *u);
		heading = "";
	}
	printf("\n%s.\n", v->summary);
	if (v->about) {
		putchar('\n');
		print_wrapped(v->about, 0);
	}
	print_options(v);
	if (v->examples) {
		puts("\nExamples:");
		print_indented(v->examples);
	}
	print_exits(stdout, v);
}

static void dump_option(struct json *j, const struct option_spec *o)
{
	char letter[2] = { o->letter, '\0' };

	json_open(j, '{');
	json_key(j, "long");
	json_string(j, o->name);
	json_key(j, "short");
	json_string(j, o->letter ? letter : NULL);
	json_key(j, "arg");
	json_string(j, o->arg);
	json_key(j, "help");
	json_string(j, o->help);
	json_close(j, '}');
}

static void dump_verb(struct json *j, const struct verb *v)
{
	json_open(j, '{');
	json_key(j, "name");
	json_string(j, v->name);
	json_key(j, "summary");
	json_string(j, v->summary);
	json_key(j, "about");
	json_string(j, v->about);
	json_key(j, "examples");
	json_string(j, v->examples);
	json_key(j, "usage");
	json_open(j, '[');
	for (const char *const *u = v->usage; *u; u++)
		json_string(j, *u);
	json_close(j, ']');
	json_key(j, "options");
	json_open(j, '[');
	for (const struct option_spec *o = v->options; o->name; o++)
		dump_option(j, o);
	dump_option(j, &help_option);
	json_close(j, ']');
	json_key(j, "exits");
	json_open(j, '[');
	for (const struct exit_row *row = exit_rows; row->meaning; row++)
		if (has_exit(v, row->code))
			json_number(j, row->code);
	json_close(j, ']');
	json_close(j, '}');
}

void verb_dump(void)
{
	auto_json struct json j = { 0 };

	json_open(&j, '{');
	json_key(&j, "version");
	json_string(&j, version());
	json_key(&j, "verbs");
	json_open(&j, '[');
	for (const struct verb *const *v = verbs; *v; v++) {
		json_line(&j);
		dump_verb(&j, *v);
	}
	json_close(&j, ']');
	json_key(&j, "exit_codes");
	json_open(&j, '[');
	for (const struct exit_row *row = exit_rows; row->meaning; row++) {
		json_line(&j);
		json_open(&j, '{');
		json_key(&j, "code");
		json_number(&j, row->code);
		json_key(&j, "meaning");
		json_string(&j, row->meaning);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_print(&j);
}
