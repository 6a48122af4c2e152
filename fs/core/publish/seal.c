/* SPDX-License-Identifier: MIT */
/*
 * See seal.h. Core layer.
 *
 * Who could still write the file while it is sealed?
 *   - Requests through us: the session is COMMITTING or ENDED before sealing begins, and
 *     content_write_begin() holds the session's lock for as long as it writes, so none is under way
 *     and none starts. Without passthrough, mapped pages are such requests, too, which the kernel
 *     sends when it likes: those of before the commit are asked for first, while writes are still
 *     let in (`flushing`).
 *   - The kernel, for passthrough opens, without asking us. Its writable descriptors and shared
 *     writable mappings count as writers of the staging file's inode; fcntl(F_SETLEASE, F_RDLCK) on
 *     a read-only descriptor fails with EAGAIN while there is one. A new one cannot appear: opening
 *     for writing goes through us.
 *   - An open that we answered but that the kernel has not completed: its writer does not count
 *     yet. Such handles are `unconfirmed`.
 * In the last two cases the content is copied and the copy is sealed: whatever the writer does, it
 * does to a file that nobody publishes. Small content is read into memory, which is a copy as well.
 */
#include "core/publish/seal.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "core/session/session_impl.h"
#include "core/trust/verify.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool kernel_has_writer(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true; /* EAGAIN; or no leases on this file system: then a copy is the safe way */
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

static int seal_inline(int fd, struct sealed *out)
{
	ssize_t n;
	void *data = malloc(BLOB_INLINE_MAX + 1);

	if (!data)
		return -ENOMEM;
	n = io_pread_all(fd, data, BLOB_INLINE_MAX, 0);
	if (n < 0) {
		free(data);
		return (int)n;
	}
	out->size = n;
	out->empty = n == 0;
	if (out->empty) {
		free(data);
		return 0;
	}
	hash_buf(data, (size_t)n, &out->hash);
	out->data = realloc(data, (size_t)n);
	if (!out->data)
		out->data = data;
	return blob_id_new(&out->id);
}

/* Writeback runs while the hash is computed; fsync then waits for what is left of it. */
static int seal_moved(struct core *c, int fd, const struct blob_id *id, struct sealed *out,
		      struct blob_dirs *dirs)
{
	int err;

	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	err = hash_fd(fd, &out->hash, &out->size);
	if (!err)
		err = io_fsync(fd);
	out->id = *id;
	if (!err)
		err = sealed_pin(c, out);
	if (!err)
		err = blob_move_in(c->store, id);
	if (err < 0) {
		sealed_fini(out);
		return err;
	}
	verify_sealed(c, id);
	out->moved = true;
	blob_dirs_add(dirs, id);
	return 0;
}

static int seal_copied(struct core *c, int from, off_t size, struct sealed *out,
		       struct blob_dirs *dirs)
{
	struct blob_id id;
	auto_fd int fd = -1;
	int err = blob_id_new(&id);

	if (!err)
		err = staging_create(c->store, &id, &fd);
	if (err < 0)
		return err;
	err = io_copy(from, fd, size);
	if (!err)
		err = seal_moved(c, fd, &id, out, dirs);
	if (err < 0)
		staging_remove(c->store, &id);
	else
		out->copied = true;
	return err;
}

int seal_file(struct core *c, const struct blob_id *id, bool writers, bool check_lease,
	      struct sealed *out, struct blob_dirs *dirs)
{
	struct sealed sealed = { .node = out->node };
	auto_fd int fd = -1;
	struct stat st;
	int err = staging_open(c->store, id, O_RDONLY, &fd);

	if (err < 0)
		return err;
	if (fstat(fd, &st) < 0)
		return -errno;
	sealed.mtime = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	if (st.st_size <= BLOB_INLINE_MAX)
		err = seal_inline(fd, &sealed);
	else if (writers || (check_lease && kernel_has_writer(fd)))
		err = seal_copied(c, fd, st.st_size, &sealed, dirs);
	else
		err = seal_moved(c, fd, id, &sealed, dirs);
	if (!err)
		*out = sealed;
	return err;
}

/* Staged, or sealed for a commit that a full disk stopped. */
static bool is_to_seal(const struct oname *o)
{
	const struct snode *n = o->node;

	if (!n || n->kind != ENTRY_FILE)
		return false;
	return n->content == SNODE_STAGED || (n->content == SNODE_BLOB && n->fresh);
}

static void prepare(struct sealed *out, struct snode *n)
{
	out->node = n;
	if (n->content != SNODE_BLOB)
		return;
	out->moved = true;
	out->id = n->blob;
	out->hash = n->hash;
	out->size = n->size;
	out->mtime = n->mtime;
}

/*
 * Linked nodes are not freed while the session is not OPEN, so they can be borrowed without its
 * lock.
 */
static int collect(struct session *s, struct sealed_set *set)
{
	struct oname *o;
	size_t n = 0;

	rwlock_read(&s->lock);
	for (o = overlay_name_first(&s->overlay); o; o = overlay_name_next(o))
		n += is_to_seal(o);
	set->v = calloc(n + 1, sizeof(*set->v));
	for (o = overlay_name_first(&s->overlay); o && set->v; o = overlay_name_next(o))
		if (is_to_seal(o))
			prepare(&set->v[set->n++], o->node);
	rwlock_drop(&s->lock);
	return set->v ? 0 : -ENOMEM;
}

static int seal_node(struct core *c, struct session *s, struct sealed *out, struct blob_dirs *dirs)
{
	struct snode *n = out->node;
	struct blob_id id = n->blob;
	bool writers;
	int err;

	if (out->moved) {
		blob_dirs_add(dirs, &out->id);
		return 0;
	}
	rwlock_read(&s->lock);
	writers = n->passthrough && n->unconfirmed > 0;
	rwlock_drop(&s->lock);
	err = seal_file(c, &id, writers, n->passthrough, out, dirs);
	if (err < 0 || !out->moved || out->copied)
		return err;
	err = pins_add(&c->pins, &id); /* for as long as the node has it */
	if (err < 0)
		return err;
	rwlock_write(&s->lock);
	n->content = SNODE_BLOB;
	n->pinned = true;
	n->hash = out->hash;
	n->size = out->size;
	n->mtime = out->mtime;
	n->fresh = true;
	rwlock_drop(&s->lock);
	return 0;
}

/* Only an open file has mappings: the kernel holds it open for them. */
static int collect_written(struct session *s, int64_t **out)
{
	struct oname *o;
	int64_t *ids;
	size_t n = 0;

	rwlock_read(&s->lock);
	for (o = overlay_name_first(&s->overlay); o; o = overlay_name_next(o))
		n += o->node && o->node->writers > 0;
	ids = calloc(n + 1, sizeof(*ids));
	n = 0;
	for (o = overlay_name_first(&s->overlay); o && ids; o = overlay_name_next(o))
		if (o->node && o->node->writers > 0)
			ids[n++] = o->node->id;
	rwlock_drop(&s->lock);
	*out = ids;
	return ids ? 0 : -ENOMEM;
}

/* The ids end with 0, which is nobody's. */
static int flush_mapped(struct core *c, struct session *s)
{
	auto_free int64_t *ids = NULL;
	int err = collect_written(s, &ids);

	for (const int64_t *id = ids; !err && *id; id++)
		c->hooks.flush_file(c->hooks.arg, &s->view, *id);
	rwlock_write(&s->lock);
	s->flushing = false;
	rwlock_drop(&s->lock);
	return err;
}

int seal_session(struct core *c, struct session *s, struct sealed_set *out)
{
	struct sealed_set set = { 0 };
	int err = flush_mapped(c, s);
	size_t n;

	if (!err)
		err = collect(s, &set);
	n = set.n;
	set.n = 0;
	while (!err && set.n < n) {
		err = seal_node(c, s, &set.v[set.n], &set.dirs);
		if (!err)
			set.n++;
	}
	if (!err)
		err = blob_sync_dirs(c->store, &set.dirs);
	*out = set;
	return err;
}

void seal_revert(struct core *c, struct session *s, struct sealed_set *set)
{
	(void)s;
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].copied)
			blob_remove(c->store, &set->v[i].id);
}

void seal_discard(struct core *c, struct sealed_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (!set->v[i].moved || set->v[i].recorded)
			continue;
		blob_remove(c->store, &set->v[i].id);
	}
}

int sealed_pin(struct core *c, struct sealed *s)
{
	int err = s->pins ? 0 : pins_add(&c->pins, &s->id);

	if (!err)
		s->pins = &c->pins;
	return err;
}

void sealed_fini(struct sealed *s)
{
	if (s->pins)
		pins_drop(s->pins, &s->id);
	s->pins = NULL;
	free(s->data);
	s->data = NULL;
}

void sealed_set_fini(struct sealed_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		sealed_fini(&set->v[i]);
	free(set->v);
	*set = (struct sealed_set){ 0 };
}

int sealed_record(struct db *db, const struct sealed *s)
{
	if (s->empty || s->recorded)
		return 0;
	return blob_insert(db, &s->id, s->size, &s->hash, s->data);
}
