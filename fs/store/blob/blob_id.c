/* SPDX-License-Identifier: MIT */
/*
 * Ids of blobs: 128 random bits, written as lower-case hex. Layer: store.
 */
#include "store/blob/blob.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int blob_id_new(struct blob_id *out)
{
	struct blob_id id;
	ssize_t n;

	/*
	 * Up to 256 bytes come whole once the kernel's generator is seeded; before that, a signal
	 * may interrupt the wait.
	 */
	do {
		n = getrandom(id.b, sizeof(id.b), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof(id.b))
		return -EIO;
	*out = id;
	return 0;
}

struct blob_hex blob_hex(const uint8_t b[16])
{
	static const char digit[] = "0123456789abcdef";
	struct blob_hex hex;

	for (int i = 0; i < 16; i++) {
		hex.s[2 * i] = digit[b[i] >> 4];
		hex.s[2 * i + 1] = digit[b[i] & 15];
	}
	hex.s[32] = '\0';
	return hex;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int blob_hex_parse(const char *s, uint8_t out[16])
{
	uint8_t b[16];

	if (strlen(s) != 32)
		return -EINVAL;
	for (int i = 0; i < 16; i++) {
		int high = digit_value(s[2 * i]);
		int low = digit_value(s[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		b[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(out, b, sizeof(b));
	return 0;
}
