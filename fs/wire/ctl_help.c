/* SPDX-License-Identifier: MIT */
/* What reading the control file prints, made from the table of verbs. Layer: wire. */
#include "wire/ctl_help.h"

#include "wire/ctl_verb.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 100
#define INDENT	10 /* where the keys begin */

static const char introduction[] =
	"fencefs control file: write requests, one per line, and read one reply to each.\n"
	"\n"
	"  exec 3<>.fence/ctl\n"
	"  echo 'open path=reports token=42 owner=nightly' >&3; read -r reply <&3\n"
	"  # ok session=ID dir=.fence/sessions/ID path=.fence/sessions/ID/reports token=42\n"
	"  # ... write files below that path, then:\n"
	"  echo commit >&3; read -r reply <&3     # ok revision=7 changed=3\n"
	"\n"
	"A request is: verb key=value ...; in a value, a space is %20, % is %25, LF is %0A.\n"
	"A reply is: ok key=value ...  or  err ERRNO key=value ... # why\n"
	"\n";

static const char end[] =
	"\n"
	"Sessions and leases taken here end when this file is closed, unless taken with keep=1.\n";

/* A line that is filled word by word, and broken before the last column. */
struct filled {
	FILE *f;
	int column;
};

static void add_word(struct filled *out, const char *word)
{
	int len = (int)strlen(word);

	if (out->column + 1 + len > COLUMNS) {
		fprintf(out->f, "\n%*s", INDENT, "");
		out->column = INDENT;
	} else if (out->column > INDENT) {
		fputc(' ', out->f);
		out->column++;
	}
	fputs(word, out->f);
	out->column += len;
}

static void add_words(struct filled *out, const char *text)
{
	char word[64];

	while (*text) {
		int len = (int)strcspn(text, " ");

		snprintf(word, sizeof(word), "%.*s", len, text);
		add_word(out, word);
		text += len + (text[len] == ' ');
	}
}

/* "version=N|absent=1|hash=H", or "session=ID | path=P op=KEY"; the key after it. */
static const struct ctl_key *add_choice(struct filled *out, const struct ctl_key *k)
{
	bool is_needed = k->need == CTL_REQUIRED;
	char text[256];
	size_t len = (size_t)snprintf(text, sizeof(text), "%c", is_needed ? '(' : '[');
	const struct ctl_key *first = k;

	for (; k->name && k->choice && len < sizeof(text); k++) {
		const char *between = k == first ? "" : k->choice == k[-1].choice ? " " : " | ";

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%s", between, k->name,
					k->sample);
	}
	if (len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, "%c", is_needed ? ')' : ']');
	add_word(out, text);
	return k;
}

static void add_verb(FILE *f, const struct ctl_verb *v)
{
	struct filled out = { f, INDENT };
	const struct ctl_key *k = v->keys;
	char word[128], text[256];

	fprintf(f, "  %-*s", INDENT - 2, v->name);
	while (k->name) {
		if (k->choice) {
			k = add_choice(&out, k);
			continue;
		}
		snprintf(word, sizeof(word), k->need == CTL_REQUIRED ? "%s=%s" : "[%s=%s]", k->name,
			 k->sample);
		add_word(&out, word);
		k++;
	}
	fprintf(f, "\n%*s", INDENT, "");
	out.column = INDENT;
	snprintf(text, sizeof(text), v->note ? "%s (%s)" : "%s", v->meaning, v->note);
	add_words(&out, text);
	fputc('\n', f);
}

char *ctl_help_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs(introduction, f);
	for (int i = 0; i < CTL_VERBS; i++)
		add_verb(f, &ctl_verbs[i]);
	fputs(end, f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
