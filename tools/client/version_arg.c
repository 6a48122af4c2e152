/* SPDX-License-Identifier: MIT */
/* See version_arg.h. Layer: tools. */
#include "client/version_arg.h"

#include "out/exit_code.h"
#include "client/list.h"
#include "out/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS_MAX 18

/* "N" or "rN" up to the end of @s: what it is, else VERSION_LIVE. */
static enum version_kind kind_of(const char *s, size_t len)
{
	enum version_kind kind = VERSION_NUMBER;

	if (len && *s == 'r') {
		kind = VERSION_REVISION;
		s++;
		len--;
	}
	if (len == 0 || len > DIGITS_MAX || strspn(s, "0123456789") < len)
		return VERSION_LIVE;
	/* Versions count from 1, revisions from 0. */
	return *s == '0' && (len > 1 || kind == VERSION_NUMBER) ? VERSION_LIVE : kind;
}

/* @len bytes of @s end in '@' and a number. */
static enum version_kind ending(const char *s, size_t len, size_t *out_at)
{
	const char *at = memrchr(s, '@', len);

	if (!at || at == s)
		return VERSION_LIVE;
	*out_at = (size_t)(at - s);
	return kind_of(at + 1, len - *out_at - 1);
}

void version_arg_parse(const char *given, struct version_arg *out)
{
	struct version_arg v = { .given = given, .number = "" };
	size_t len = strlen(given), inner = len, at = 0;

	v.kind = ending(given, len, &at);
	if (v.kind != VERSION_LIVE) {
		buf_add(&v.path, given, at);
		v.number = given + at + 1 + (v.kind == VERSION_REVISION);
		*out = v;
		return;
	}
	while (inner > 0 && given[inner - 1] == '@')
		inner--;
	if (inner < len && ending(given, inner, &at) != VERSION_LIVE)
		len--;
	buf_add(&v.path, given, len);
	*out = v;
}

void version_arg_fini(struct version_arg *v)
{
	buf_fini(&v->path);
}

void version_place_fini(struct version_place *p)
{
	buf_fini(&p->name);
}

struct search {
	const char *number;
	char revision[32];
	bool is_dir;
};

static void match(void *arg, const struct reply *r)
{
	struct search *s = arg;
	const char *version = reply_get(r, "version");
	const char *revision = reply_get(r, "revision");
	const char *kind = reply_get(r, "kind");

	if (!version || !revision || !kind || strcmp(version, s->number) != 0)
		return;
	s->is_dir = strcmp(kind, "dir") == 0;
	snprintf(s->revision, sizeof(s->revision), "%s", revision);
}

static void set_place(struct version_place *p, const char *top, const char *a, const char *b)
{
	buf_clear(&p->name);
	buf_str(&p->name, top);
	buf_str(&p->name, a);
	if (strcmp(b, ".") != 0) {
		buf_char(&p->name, '/');
		buf_str(&p->name, b);
	}
}

static int look(const struct target *t, struct version_place *p)
{
	auto_buf struct buf path = { 0 };
	struct stat st;

	buf_printf(&path, "%s/%s", strcmp(t->mount, "/") == 0 ? "" : t->mount, p->name.s);
	if (lstat(path.s, &st) < 0)
		return -errno;
	p->is_dir = S_ISDIR(st.st_mode);
	return 0;
}

static int missing(const struct args *a, const struct version_arg *v, int err)
{
	struct stat st;
	const char *what = v->kind == VERSION_REVISION ? "revision" : "version";
	int code;

	if (err != -ENOENT && err != -ENOTDIR)
		return report_error(a, v->given, err, "%s", exit_error_text(err));
	if (v->kind == VERSION_LIVE)
		code = report_error(a, v->given, -ENOENT, "%s", exit_error_text(-ENOENT));
	else if (v->kind == VERSION_REVISION)
		code = report_error(a, v->given, -ENOENT, "not in the tree of revision %s",
				    v->number);
	else
		code = report_error(a, v->given, -ENOENT, "it has no version %s", v->number);
	if (v->kind != VERSION_LIVE && lstat(v->given, &st) == 0)
		report_hint("to name the file itself, and not a %s: %s@", what, v->given);
	return code;
}

/* A version that .fence/versions does not show: a directory, or none at all. */
static int find_directory(const struct args *a, const struct version_arg *v, const struct target *t,
			  struct ctl_client *c, struct version_place *p)
{
	struct list_query q = {
		.args = a, .ctl = c, .target = t, .kind = "version", .by_path = true
	};
	struct search s = { .number = v->number };
	int code = list_each(&q, match, &s);

	if (code)
		return code;
	if (!s.is_dir)
		return missing(a, v, -ENOENT);
	set_place(p, ".fence/at/", s.revision, t->path);
	return look(t, p) < 0 ? missing(a, v, -ENOENT) : 0;
}

int version_arg_find(const struct args *a, const struct version_arg *v, const struct target *t,
		     struct ctl_client *c, struct version_place *out)
{
	auto_version_place struct version_place p = { 0 };
	int r, code = 0;

	if (v->kind == VERSION_NUMBER) {
		set_place(&p, ".fence/versions/", t->path, v->number);
	} else if (v->kind == VERSION_REVISION) {
		set_place(&p, ".fence/at/", v->number, t->path);
	} else {
		if (t->session[0])
			buf_printf(&p.name, ".fence/sessions/%s/", t->session);
		buf_str(&p.name, t->path);
	}
	r = look(t, &p);
	/* In .fence/versions a directory is a path, not a version. */
	if (v->kind == VERSION_NUMBER && (r == -ENOENT || (r == 0 && p.is_dir)))
		code = find_directory(a, v, t, c, &p);
	else if (r < 0)
		code = missing(a, v, r);
	if (code)
		return code;
	*out = p;
	p = (struct version_place){ 0 };
	return 0;
}
