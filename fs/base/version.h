/* SPDX-License-Identifier: MIT */
/* The version of fencefs. Layer: base. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* The version of this build, such as "0.1.0". */
const char *version(void);

#endif
