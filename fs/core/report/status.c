/* SPDX-License-Identifier: MIT */
/*
 * .fence/status: a screen for people. See metrics.h. Core layer.
 *
 * It goes to a terminal: control characters of names are not let through, and no line has more than
 * 79 columns.
 */
#include "core/service/core_impl.h"
#include "core/report/gauges.h"

#include "base/version.h"
#include "core/access/permission.h"
#include "store/tree/revision.h"
#include "store/tree/reject.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WIDTH	     79
#define TITLE_WIDTH  12
#define REFUSALS     3
#define LOOK_BACK    1000 /* refusals, for some that the caller may see */
#define LINE_MAX_LEN 1024
#define NS_PER_S     1000000000

/* Continuation bytes of UTF-8 take no column of their own. */
static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of @s that fit, of which none is a control character afterwards. */
static size_t clean(char *s)
{
	size_t columns = 0;
	char *at = s;

	for (; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c < 0x20 || c == 0x7f)
			*at = '?';
		if (c == 0xc2 && (unsigned char)at[1] >= 0x80 && (unsigned char)at[1] < 0xa0)
			at[0] = at[1] = '?';
		if (!is_continuation(*at) && ++columns > WIDTH)
			break;
	}
	return (size_t)(at - s);
}

__attribute__((format(printf, 3, 4))) static void line(FILE *f, const char *title, const char *fmt,
						       ...)
{
	char text[LINE_MAX_LEN];
	int used = snprintf(text, sizeof(text), "%-*s", TITLE_WIDTH, title);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, sizeof(text) - (size_t)used, fmt, ap);
	va_end(ap);
	fwrite(text, 1, clean(text), f);
	fputc('\n', f);
}

struct stamp {
	char s[32];
};

static struct stamp stamp_of(int64_t ns)
{
	time_t seconds = ns / NS_PER_S;
	struct stamp out;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) ||
	    !strftime(out.s, sizeof(out.s), "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(out.s, sizeof(out.s), "%" PRId64 " s", ns / NS_PER_S);
	return out;
}

/* 999 B, 1.2 KiB, 34 MiB */
static struct stamp size_of(int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	struct stamp out;
	int unit = 0;

	while (value >= 1000 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(out.s, sizeof(out.s), "%.*f %s", unit && value < 10 ? 1 : 0, value, units[unit]);
	return out;
}

static void write_identity(struct core *c, FILE *f)
{
	line(f, "store", "%s", store_path(c->store));
	line(f, "", "%s", store_uuid(c->store));
	line(f, "mount", "%s", c->opt.mountpoint);
	line(f, "serving", "since %s, fencefs %s, pid %d", stamp_of(c->metrics.started).s,
	     version(), (int)getpid());
	line(f, "content", "%s",
	     strstr(atomic_load(&c->features), "passthrough") ?
		     "read and written by the kernel (passthrough)" :
		     "read and written through the daemon (no passthrough)");
}

/* As in .fence/events: who may walk to a path may know what happened there. */
static bool may_know(struct db *db, int64_t rev, const struct caller *who, const char *path)
{
	struct permission_target t;
	int err = who->uid ? permission_walk(db, rev, who, path, &t) : 0;

	return !err || err == -ENOTDIR;
}

static void write_revision(struct db *db, const struct gauges *g, const struct caller *who, FILE *f)
{
	struct revision *r = malloc(sizeof(*r));

	if (!r || g->revision == 0 || revision_get(db, g->revision, r) < 0) {
		line(f, "revision", "%" PRId64, g->revision);
	} else {
		line(f, "revision", "%" PRId64 ", %s, %" PRId64 " change%s", g->revision,
		     stamp_of(r->at).s, r->changed, r->changed == 1 ? "" : "s");
		if (may_know(db, g->revision, who, r->path))
			line(f, "", "by %s (token %" PRId64 ") on %s", r->owner, r->token, r->path);
	}
	free(r);
}

static int64_t commits(const struct metrics *m, enum commit_ending from, enum commit_ending to)
{
	int64_t n = 0;

	for (int v = 0; v < COMMIT_VERBS; v++)
		for (int e = (int)from; e <= (int)to; e++)
			n += metric_get(&m->commits[v][e]);
	return n;
}

static void write_work(struct core *c, const struct gauges *g, FILE *f)
{
	const struct metrics *m = &c->metrics;

	line(f, "commits", "%" PRId64 " done, %" PRId64 " refused, %" PRId64 " failed",
	     commits(m, COMMIT_COMMITTED, COMMIT_REPLAYED),
	     commits(m, COMMIT_STALE, COMMIT_REFUSED), commits(m, COMMIT_NO_SPACE, COMMIT_FAILED));
	line(f, "sessions", "%" PRId64 " open", g->sessions);
	line(f, "leases", "%" PRId64 " held, %" PRId64 " waiting", g->leases, g->waiting);
}

static void write_refusal(const struct reject *r, bool is_first, FILE *f)
{
	line(f, is_first ? "refused" : "", "%s %s by %s: %s", stamp_of(r->at).s, r->stage, r->owner,
	     r->path);
	if (r->highest >= 0)
		line(f, "", "  %s: token %" PRId64 ", and %s has %" PRId64, r->why, r->token,
		     *r->held_by ? r->held_by : "nobody", r->highest);
	else
		line(f, "", "  %s: token %" PRId64, r->why, r->token);
}

/* The refused and root see a refusal, as in list kind=reject. */
static void write_refusals(struct db *db, const struct caller *who, FILE *f)
{
	struct reject *r = malloc(sizeof(*r));
	int64_t before = INT64_MAX;
	int n = 0;

	for (int i = 0; r && i < LOOK_BACK && n < REFUSALS; i++) {
		if (reject_before(db, before, r) < 0)
			break;
		before = r->id;
		if (strcmp(r->stage, "reset") == 0 || (who->uid && who->uid != r->uid))
			continue;
		write_refusal(r, n == 0, f);
		n++;
	}
	free(r);
	if (!n)
		line(f, "refused", "nothing%s", who->uid ? " of yours" : "");
}

static void write_part(const char *title, const char *of, const struct usage_part *p, FILE *f)
{
	line(f, title, "%-8s %10s in %" PRId64, of, size_of(p->bytes).s, p->n);
}

static void write_space(const struct gauges *g, FILE *f)
{
	const struct usage *u = &g->space.usage;
	int64_t free = (int64_t)(g->fs.f_bavail * g->fs.f_frsize);
	int64_t size = (int64_t)(g->fs.f_blocks * g->fs.f_frsize);

	if (g->has_space) {
		write_part("space", "live", &u->live, f);
		write_part("", "history", &u->history, f);
		write_part("", "orphans", &u->orphans, f);
		write_part("", "staging", &u->staging, f);
	} else {
		line(f, "space", "still being counted");
	}
	line(f, "", "database %10s and %s of WAL", size_of(g->database_bytes).s,
	     size_of(g->wal_bytes).s);
	line(f, "", "free     %10s of %s", size_of(free).s, size_of(size).s);
	if (g->quota)
		line(f, "", "quota    %10s of %s used", size_of(g->quota_used).s,
		     size_of(g->quota).s);
}

static void write_health(const struct gauges *g, FILE *f)
{
	const char *title = "health";

	for (int i = 0; i < PROBLEMS; i++) {
		const struct problem_kind *kind = &problem_kinds[i];

		if (!g->has_problem[i])
			continue;
		line(f, title, "%s %s", kind->is_critical ? "CRITICAL" : "WARNING ", kind->name);
		line(f, "", "         %s", kind->advice);
		title = "";
	}
	if (*title)
		line(f, title, "ok");
}

static void write_all(struct core *c, struct db *db, const struct gauges *g,
		      const struct caller *who, FILE *f)
{
	write_identity(c, f);
	write_revision(db, g, who, f);
	write_work(c, g, f);
	write_refusals(db, who, f);
	write_space(g, f);
	write_health(g, f);
}

int status_text(struct core *c, const struct caller *who, char **out, size_t *out_len)
{
	char *text = NULL;
	struct gauges g;
	size_t len = 0;
	struct db *db;
	int64_t rev;
	FILE *f;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = gauges_read(c, db, &g);
	f = err < 0 ? NULL : open_memstream(&text, &len);
	if (f)
		write_all(c, db, &g, who, f);
	core_read_end(c, db);
	if (err < 0)
		return err;
	if (!f || fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	*out = text;
	*out_len = len;
	return 0;
}
