/* SPDX-License-Identifier: MIT */
/* See copy.h. Layer: tools. */
#include "files/copy.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "out/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define STREAM_SIZE (1 << 20)
#define RANGE_SIZE  (1 << 23)

static int failed(struct copy_failure *out, bool reading, int err)
{
	out->reading = reading;
	out->err = err;
	return err;
}

int copy_stream(int from, int to, struct progress *p, struct copy_failure *out)
{
	auto_free char *room = malloc(STREAM_SIZE);

	if (!room)
		return failed(out, true, -ENOMEM);
	for (;;) {
		ssize_t n = read(from, room, STREAM_SIZE);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(out, true, -errno);
		if (n == 0)
			return 0;
		r = io_write_all(to, room, (size_t)n);
		if (r < 0)
			return failed(out, false, r);
		if (p)
			progress_add(p, (uint64_t)n);
	}
}

struct copy_range {
	int from, to;
	off_t at, end;
	bool by_hand; /* the kernel cannot copy between these two */
	char *room;   /* owned; STREAM_SIZE bytes once by_hand */
};

/* Bytes copied, 0 at the end of the source. */
static ssize_t copy_by_hand(struct copy_range *r, size_t want, struct copy_failure *out)
{
	ssize_t n;
	int err;

	if (!r->room && !(r->room = malloc(STREAM_SIZE)))
		return failed(out, true, -ENOMEM);
	n = io_pread_all(r->from, r->room, want < STREAM_SIZE ? want : STREAM_SIZE, r->at);
	if (n < 0)
		return failed(out, true, (int)n);
	err = io_pwrite_all(r->to, r->room, (size_t)n, r->at);
	if (err < 0)
		return failed(out, false, err);
	return n;
}

static ssize_t copy_some(struct copy_range *r, struct copy_failure *out)
{
	size_t want = r->end - r->at < RANGE_SIZE ? (size_t)(r->end - r->at) : RANGE_SIZE;
	off_t in = r->at, to = r->at;
	ssize_t n;

	if (!r->by_hand) {
		do
			n = copy_file_range(r->from, &in, r->to, &to, want, 0);
		while (n < 0 && errno == EINTR);
		if (n > 0)
			return n;
		/*
		 * Whatever it dislikes, reading and writing says it clearly, or works (as with
		 * files in /proc).
		 */
		r->by_hand = true;
	}
	return copy_by_hand(r, want, out);
}

static int copy_range(struct copy_range *r, struct progress *p, struct copy_failure *out)
{
	while (r->at < r->end) {
		ssize_t n = copy_some(r, out);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		r->at += n;
		progress_add(p, (uint64_t)n);
	}
	return 0;
}

/* The next stretch of data from r->at on; false when only a hole is left. */
static bool next_data(struct copy_range *r, off_t size)
{
	off_t data = lseek(r->from, r->at, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO)
		return false;
	if (data < 0)
		data = r->at;
	hole = lseek(r->from, data, SEEK_HOLE);
	r->at = data;
	r->end = hole < 0 || hole > size ? size : hole;
	return data < size;
}

int copy_file(int from, int to, off_t size, struct progress *p, struct copy_failure *out)
{
	struct copy_range r = { .from = from, .to = to };
	int err = 0;

	while (err == 0 && r.at < size && next_data(&r, size)) {
		off_t end = r.end;

		err = copy_range(&r, p, out);
		if (err == 0 && r.at < end)
			size = r.at; /* it shrank meanwhile */
	}
	free(r.room);
	if (err == 0 && ftruncate(to, size) < 0)
		err = failed(out, false, -errno);
	return err;
}
