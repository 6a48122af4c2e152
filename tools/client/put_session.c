/* SPDX-License-Identifier: MIT */
/* See put_session.h. Layer: tools. */
#include "client/put_session.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "client/client.h"
#include "files/copy.h"
#include "out/exit_code.h"
#include "wire/number.h"
#include "out/progress.h"
#include "out/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* --mode for what is there already, too; new files have got theirs when they were made. */
static int apply_mode(const struct client_work *w, int fd)
{
	const char *text = args_get(w->args, "mode");
	mode_t mode;

	if (!text || number_parse_mode(text, &mode) < 0)
		return 0;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int write_content(const struct source *s, int to, struct copy_failure *failure)
{
	auto_progress struct progress p = { 0 };
	int r;

	progress_init(&p, s->name, s->size > 0 ? (uint64_t)s->size : 0);
	if (s->size > SOURCE_HELD_MAX)
		return copy_file(s->fd, to, s->size, &p, failure);
	r = io_write_all(to, buf_text(&s->held), s->held.len);
	if (r < 0) {
		*failure = (struct copy_failure){ .err = r };
		return r;
	}
	progress_add(&p, s->held.len);
	return s->is_whole ? 0 : copy_stream(s->fd, to, &p, failure);
}

/* @s as @path in the view. 0, or the exit code; the session has ended then. */
static int write_file(struct client_work *w, const struct source *s, const char *path)
{
	auto_fd int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, s->mode);
	struct copy_failure failure = { 0 };
	int r;

	if (to < 0)
		return work_failed(w, path, -errno);
	r = apply_mode(w, to);
	if (r < 0)
		return work_failed(w, path, r);
	if (write_content(s, to, &failure) < 0)
		return work_failed(w, failure.reading ? s->name : path, failure.err);
	/* Some failures are told only now. */
	return close(take_fd(&to)) < 0 ? work_failed(w, path, -errno) : EXIT_OK;
}

/* --if-version and kin as a precondition of the commit. */
static int expect(struct client_work *w)
{
	static const char *const names[] = { "if-version", "if-absent", "if-hash", NULL };
	auto_line struct line req = { 0 };
	auto_reply struct reply r = { 0 };
	bool any = false;

	for (const char *const *name = names; *name; name++)
		any |= args_has(w->args, *name);
	if (!any)
		return EXIT_OK;
	line_begin(&req, "expect");
	line_field(&req, "session", w->session);
	line_field(&req, "path", w->target.path);
	client_add_options(&req, w->args, names);
	return client_call(w->args, w->name, &w->ctl, &req, &r);
}

int put_large(struct client_work *w, const struct source *s, struct reply *out)
{
	auto_buf struct buf path = { 0 };
	int code = work_open(w);

	if (code == EXIT_OK)
		code = expect(w);
	if (code)
		return code;
	work_path(w, &path);
	code = write_file(w, s, path.s);
	return code ? code : work_commit(w, out);
}

static int write_named(struct client_work *w, const char *name, const char *dir)
{
	auto_source struct source s = SOURCE_NONE;
	auto_buf struct buf path = { 0 };
	int code = source_open(w->args, name, &s);

	if (code) {
		work_abort(w);
		return code;
	}
	buf_printf(&path, "%s/%s", dir, source_base(name));
	return write_file(w, &s, path.s);
}

int put_many(struct client_work *w, char *const *names, int n, struct reply *out)
{
	auto_buf struct buf dir = { 0 };
	int code = work_open(w);

	if (code)
		return code;
	work_path(w, &dir);
	if (mkdir(dir.s, 0777) < 0 && errno != EEXIST && errno != EROFS)
		return work_failed(w, dir.s, -errno);
	for (int i = 0; i < n && code == EXIT_OK; i++)
		code = write_named(w, names[i], dir.s);
	return code ? code : work_commit(w, out);
}
