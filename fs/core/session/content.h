/* SPDX-License-Identifier: MIT */
/*
 * An open file: one per open(2). Content of a version never changes; content staged by a session
 * does, until it is sealed. For kernel passthrough: content_fd() is read-only, and that one is
 * registered as backing file also for writers (the kernel reopens it with the user's flags): then
 * fcntl(F_SETLEASE, F_RDLCK) tells at sealing time whether any writable descriptor or shared
 * writable mapping is alive.
 */
#ifndef FENCE_CORE_SESSION_CONTENT_H
#define FENCE_CORE_SESSION_CONTENT_H

#include "core/session/content_done.h"
#include "core/view/node.h"

#include <fcntl.h>
#include <stddef.h>

struct content;
struct view;

/*
 * Open file @id of @v. @flags: the O_ACCMODE bits and O_TRUNC count; @uid is the opener's (an
 * unprivileged open for writing clears suid/sgid). @passthrough: the caller means to register
 * content_fd() with the kernel; then no writable descriptor is kept here. Returns 0 with *out;
 * -ESTALE: the session's first write to an unmodified file: it has been given a node of its own by
 * now, look the name up again (the VFS does so once by itself), or the session is over or overtaken
 * at this path; -EROFS outside the claim, or not a session. Where a large file must be copied
 * first, returns 1 and later calls @done(@arg, err) from another thread (err -ESTALE in that case,
 * as above, or the copy's error). @done is not called otherwise.
 */
int content_open(struct view *v, int64_t id, int flags, uint32_t uid, bool passthrough,
		 content_done_fn done, void *arg, struct content **out);
void content_close(struct content *c);

/* Inline content: *out_len bytes, borrowed until content_close; NULL when the content is a file. */
const void *content_data(const struct content *c, size_t *out_len);
/* Read-only descriptor, borrowed; -1 for inline content. */
int content_fd(const struct content *c);
bool content_is_writable(const struct content *c);
/* What the kernel has cached of it is right. */
bool content_keeps_cache(const struct content *c);

/*
 * The kernel has completed this open (any later request on the handle proves it: FLUSH comes with
 * every close). Until then sealing assumes that a writer exists which F_SETLEASE cannot see yet.
 */
void content_confirm(struct content *c);

/*
 * Daemon-side changes of a staged file (writes without passthrough; truncate, fallocate,
 * copy_file_range always): begin gives a writable descriptor (borrowed until end) and keeps sealing
 * out until end. -EBADF: not open for writing.  -ESTALE: sealed, or the session is over.
 */
int content_write_begin(struct content *c, int *out_fd);
void content_write_end(struct content *c);

#endif
