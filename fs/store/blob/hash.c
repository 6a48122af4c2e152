/* SPDX-License-Identifier: MIT */
/*
 * XXH3-128 of content, in its canonical (big-endian) form. Layer: store.
 */
#include "store/blob/hash.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

#define READ_SIZE ((size_t)1 << 20)

static struct blob_hash canonical(XXH128_hash_t h)
{
	XXH128_canonical_t c;
	struct blob_hash hash;

	XXH128_canonicalFromHash(&c, h);
	memcpy(hash.b, c.digest, sizeof(hash.b));
	return hash;
}

static void cleanup_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

int hash_fd(int fd, struct blob_hash *out, int64_t *out_size)
{
	__attribute__((cleanup(cleanup_state))) XXH3_state_t *state = XXH3_createState();
	auto_free char *buf = malloc(READ_SIZE);
	int64_t size = 0;

	if (!state || !buf)
		return -ENOMEM;
	XXH3_128bits_reset(state);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (;;) {
		ssize_t n = io_pread_all(fd, buf, READ_SIZE, size);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		XXH3_128bits_update(state, buf, (size_t)n);
		size += n;
	}
	*out = canonical(XXH3_128bits_digest(state));
	*out_size = size;
	return 0;
}

void hash_buf(const void *buf, size_t len, struct blob_hash *out)
{
	*out = canonical(XXH3_128bits(buf, len));
}

/* A state is XXH3's own, whose alignment malloc() would not give. */
static XXH3_state_t *inner(struct hash_state *h)
{
	return (XXH3_state_t *)(void *)h;
}

struct hash_state *hash_begin(void)
{
	XXH3_state_t *state = XXH3_createState();

	if (state)
		XXH3_128bits_reset(state);
	return (struct hash_state *)(void *)state;
}

void hash_add(struct hash_state *h, const void *buf, size_t len)
{
	XXH3_128bits_update(inner(h), buf, len);
}

void hash_end(struct hash_state *h, struct blob_hash *out)
{
	*out = canonical(XXH3_128bits_digest(inner(h)));
}

void hash_free(struct hash_state *h)
{
	XXH3_freeState(inner(h));
}
