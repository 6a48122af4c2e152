/* SPDX-License-Identifier: MIT */
/* errno <-> its symbolic name ("ESTALE"), as the control protocol writes it. Layer: wire. */
#ifndef FENCE_WIRE_ERRNAME_H
#define FENCE_WIRE_ERRNAME_H

/* @err positive or negative. Never NULL; an unknown number gives "EIO". */
const char *errname(int err);
/* Positive errno for @name, 0 if unknown. */
int errname_parse(const char *name);

#endif
