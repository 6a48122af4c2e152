/* SPDX-License-Identifier: MIT */
/* Standard streams that a program was started without. */
#ifndef FENCE_BASE_STREAMS_H
#define FENCE_BASE_STREAMS_H

#include <stdbool.h>

/*
 * Open /dev/null in the place of each that is closed, before anything else is opened: a file that
 * got such a number would be read, or written into, by who means the stream. Not @usable: to read
 * or to print is an error (-EBADF) as it was, and a program that we start finds them closed.
 */
void streams_fill(bool usable);

#endif
