/* SPDX-License-Identifier: MIT */
/* Random identities (RFC 9562, version 4), as text. Layer: base. */
#ifndef FENCE_BASE_UUID_H
#define FENCE_BASE_UUID_H

#define UUID_LEN 36

struct uuid {
	char s[UUID_LEN + 1];
};

/* -EIO: the kernel gives no random bytes. */
int uuid_new(struct uuid *out);

#endif
