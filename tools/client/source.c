/* SPDX-License-Identifier: MIT */
/* See source.h. Layer: tools. */
#include "client/source.h"

#include "out/exit_code.h"
#include "out/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP 65536

static mode_t current_umask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return mask;
}

/* Up to one byte more than fits, to know whether it does. */
static int read_held(struct source *s)
{
	while (s->held.len <= SOURCE_HELD_MAX) {
		size_t want = SOURCE_HELD_MAX + 1 - s->held.len;
		ssize_t n;

		if (want > STEP)
			want = STEP;
		n = read(s->fd, buf_room(&s->held, want), want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			s->is_whole = true;
			return 0;
		}
		buf_grown(&s->held, (size_t)n);
	}
	return 0;
}

static int examine(struct source *s)
{
	bool is_stdin = strcmp(s->name, "-") == 0;
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	s->mode = (is_stdin || !S_ISREG(st.st_mode) ? 0666 : st.st_mode & 0777) & ~current_umask();
	/* Standard input may be a file that is partly read; and files in /proc have no size. */
	s->size = S_ISREG(st.st_mode) && !is_stdin && st.st_size > 0 ? st.st_size : -1;
	return s->size > SOURCE_HELD_MAX ? 0 : read_held(s);
}

int source_open(const struct args *a, const char *name, struct source *out)
{
	auto_source struct source s = SOURCE_NONE;
	int r;

	s.name = name;
	if (strcmp(name, "-") == 0)
		s.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		s.fd = open(name, O_RDONLY | O_CLOEXEC);
	r = s.fd < 0 ? -errno : examine(&s);
	if (r == -EISDIR) {
		report_error(a, name, r, "is a directory");
		report_hint("publish a whole directory through a session: fence open --help");
		return EXIT_FAILED;
	}
	if (r < 0) {
		report_error(a, name, r, "%s", strerror(-r));
		return EXIT_FAILED;
	}
	*out = s;
	s = (struct source)SOURCE_NONE;
	return EXIT_OK;
}

const char *source_base(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (strcmp(name, "-") == 0)
		return NULL;
	return slash ? slash + 1 : name;
}

void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	buf_fini(&s->held);
}
