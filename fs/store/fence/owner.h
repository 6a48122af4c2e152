/* SPDX-License-Identifier: MIT */
/* How long the name of an owner may be. Layer: store, room fence. */
#ifndef FENCE_STORE_FENCE_OWNER_H
#define FENCE_STORE_FENCE_OWNER_H

#define OWNER_MAX 255 /* bytes */

#endif
