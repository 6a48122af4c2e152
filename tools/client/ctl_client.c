/* SPDX-License-Identifier: MIT */
/* See ctl_client.h. Layer: tools. */
#include "client/ctl_client.h"

#include "base/cleanup.h"
#include "out/exit_code.h"
#include "wire/ctl_verb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/*
 * A write of at most this size is one FUSE request (the kernel's smallest maximum is 32 pages and
 * ours may begin within a page). The kernel reports a failure after the first request of a larger
 * write as a short write, and what the daemon took is not known then.
 */
#define PIECE_MAX 65536

static bool is_reading(const struct line *req)
{
	const struct ctl_verb *v = ctl_verb_find(req->s);

	return v && v->reads;
}

/*
 * 0, also when the daemon refused: the reply says why. EINTR means that the daemon has the piece
 * and was still at work when a signal came (a job that is stopped and continued sees that): the
 * reply will say what became of it.
 */
static int send_piece(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0)
			return errno == EINTR ? 0 : -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t piece = len < PIECE_MAX ? len : PIECE_MAX;
		int r = send_piece(fd, bytes, piece);

		if (r < 0)
			return r;
		bytes += piece;
		len -= piece;
	}
	return 0;
}

/* The next line. -ENODATA: the daemon owes none. -EPROTO: it is not a reply. */
static int read_reply(struct ctl_client *c, struct reply *out)
{
	struct buf *b = &c->read;
	char *end;
	size_t len;
	int err;

	while (!b->len || !(end = memchr(b->s, '\n', b->len))) {
		ssize_t n = read(c->fd, buf_room(b, PIECE_MAX), PIECE_MAX);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		buf_grown(b, (size_t)n);
	}
	len = (size_t)(end - b->s);
	err = reply_parse(b->s, len, out);
	b->len -= len + 1;
	memmove(b->s, end + 1, b->len + 1);
	return err;
}

int ctl_client_call_with(struct ctl_client *c, struct line *req, const void *content, size_t len,
			 struct reply *out)
{
	int sent, r;

	line_bytes(req, "\n", 1);
	if (len > 0 && req->len + len <= PIECE_MAX) {
		line_bytes(req, content, len);
		len = 0;
	}
	if (req->failed)
		return -ENOMEM;
	sent = send_all(c->fd, req->s, req->len);
	if (sent == 0)
		sent = send_all(c->fd, content, len);
	r = read_reply(c, out);
	if (r == 0 || r == -EPROTO)
		return r;
	if (r == -ENODATA && sent < 0)
		return sent;
	return is_reading(req) ? r : -EREMOTEIO;
}

int ctl_client_reply(struct ctl_client *c, struct reply *out)
{
	int r = read_reply(c, out);

	return r == 0 || r == -EPROTO ? r : -EREMOTEIO;
}

int ctl_client_call(struct ctl_client *c, struct line *req, struct reply *out)
{
	return ctl_client_call_with(c, req, NULL, 0, out);
}

static int hello(struct ctl_client *c, struct errmsg *err)
{
	auto_line struct line req = { 0 };
	auto_reply struct reply reply = { 0 };
	const char *proto;
	int r;

	line_begin(&req, "hello");
	line_field(&req, "proto", "1");
	r = ctl_client_call(c, &req, &reply);
	if (r < 0)
		return errmsg_set(err, r, "no answer from the mount: %s", exit_error_text(r));
	proto = reply_get(&reply, "proto");
	if (reply.err || !proto || strcmp(proto, "1") != 0)
		return errmsg_set(
			err, -EPROTO,
			"the mount does not speak the protocol of this version of fence (1)");
	return 0;
}

int ctl_client_open(const char *mount, struct ctl_client *out, struct errmsg *err)
{
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	auto_buf struct buf path = { 0 };
	int r;

	buf_printf(&path, "%s/.fence/ctl", strcmp(mount, "/") == 0 ? "" : mount);
	c.fd = open(path.s, O_RDWR | O_CLOEXEC);
	r = c.fd < 0 ? -errno : 0;
	if (r == -ENOENT || r == -ENOTDIR)
		return errmsg_set(err, -EMEDIUMTYPE, "not a fencefs mount");
	if (r == -ENOTCONN)
		return errmsg_set(err, r, "%s", exit_error_text(r));
	if (r < 0)
		return errmsg_set(err, r, ".fence/ctl: %s", strerror(-r));
	r = hello(&c, err);
	if (r < 0)
		return r;
	*out = c;
	c = (struct ctl_client)CTL_CLIENT_CLOSED;
	return 0;
}

void ctl_client_close(struct ctl_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	buf_fini(&c->read);
}
